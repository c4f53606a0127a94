import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.apache.kafka.tools.DumpLogSegments;

/**
 * What Kafka's DumpLogSegments says of every file of a data directory, by one JVM.
 *
 * <p>Argument: the data directory. The decoder is chosen by the name of the topic, as a person would.
 */
public class DumpOracle {
    public static void main(String[] args) throws Exception {
        try (Stream<Path> found = Files.walk(Path.of(args[0]))) {
            for (Path file : found.filter(DumpOracle::isDumped).sorted().toList()) {
                DumpLogSegments.main(
                    new String[] {"--deep-iteration", decoder(file), "--files", file.toString()});
            }
        }
    }

    private static boolean isDumped(Path file) {
        return file.toString().matches(".*\\.(log|index|timeindex|txnindex|snapshot|checkpoint)");
    }

    private static String decoder(Path file) {
        String directory = file.getParent().getFileName().toString();
        if (directory.startsWith("__consumer_offsets")) return "--offsets-decoder";
        if (directory.startsWith("__transaction_state")) return "--transaction-log-decoder";
        if (directory.startsWith("__cluster_metadata")) return "--cluster-metadata-decoder";
        return "--print-data-log";
    }
}
