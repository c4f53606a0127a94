import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.tools.DumpLogSegments;

/**
 * What Apache Kafka's own classes make of a partition's directory.
 *
 * <p>Arguments: the directory to read, an empty directory to write, index.interval.bytes. Appends the batches of every
 * `.log` file to a LogSegment of the same name in the second directory, closes it as a roll does,
 * then prints what DumpLogSegments says of each file of the first directory.
 */
public class LogOracle {
    public static void main(String[] args) throws Exception {
        Path read = Path.of(args[0]);
        File write = new File(args[1]);
        LogConfig config = new LogConfig(Map.of("index.interval.bytes", args[2]));
        for (Path log : files(read, ".log")) {
            long base = Long.parseLong(log.getFileName().toString().replace(".log", ""));
            LogSegment segment = LogSegment.open(write, base, config, Time.SYSTEM, 0, false);
            ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(log));
            for (MutableRecordBatch batch : MemoryRecords.readableRecords(bytes).batches()) {
                ByteBuffer one = ByteBuffer.allocate(batch.sizeInBytes());
                batch.writeTo(one);
                one.flip();
                segment.append(batch.lastOffset(), MemoryRecords.readableRecords(one));
            }
            segment.onBecomeInactiveSegment();
            segment.close();
        }
        for (String suffix : List.of(".log", ".index", ".timeindex", ".txnindex", ".snapshot")) {
            for (Path file : files(read, suffix)) {
                DumpLogSegments.main(new String[] {"--deep-iteration", "--files", file.toString()});
            }
        }
    }

    private static List<Path> files(Path directory, String suffix) throws Exception {
        try (Stream<Path> found = Files.list(directory)) {
            return found.filter(path -> path.toString().endsWith(suffix))
                .sorted(Comparator.comparing(Path::toString))
                .collect(Collectors.toList());
        }
    }
}
