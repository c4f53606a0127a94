// Reads one record batch per line (hex) with Kafka's classes; answers with what it holds, as text,
// and with a batch of the same records which Kafka's builder made. Or: why it is refused.

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;

public class Records {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(
            new BufferedOutputStream(System.out), false, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            try {
                out.println(answer(ByteBuffer.wrap(HEX.parseHex(line))));
            } catch (Throwable error) {
                out.println("error: " + String.valueOf(error).replace('\n', ' '));
            }
        }
        out.flush();
    }

    private static String answer(ByteBuffer bytes) {
        MutableRecordBatch batch = MemoryRecords.readableRecords(bytes).batches().iterator().next();
        batch.ensureValid();
        StringBuilder text = new StringBuilder(String.join(" ",
            "" + batch.baseOffset(), "" + batch.lastOffset(), "" + batch.partitionLeaderEpoch(),
            "" + batch.producerId(), "" + batch.producerEpoch(), "" + batch.baseSequence(),
            "" + batch.lastSequence(), "" + batch.maxTimestamp(), batch.timestampType().name,
            batch.compressionType().name, "" + batch.isTransactional(), "" + batch.isControlBatch()));
        MemoryRecordsBuilder builder = MemoryRecords.builder(
            ByteBuffer.allocate(4096), batch.magic(),
            Compression.of(batch.compressionType()).build(), batch.timestampType(),
            batch.baseOffset(), batch.maxTimestamp(), batch.producerId(), batch.producerEpoch(),
            batch.baseSequence(), batch.isTransactional(), batch.isControlBatch(),
            batch.partitionLeaderEpoch());
        for (Record record : batch) {
            record.ensureValid();
            text.append(" | ").append(record.offset()).append(' ').append(record.timestamp());
            text.append(' ').append(hex(record.key())).append(' ').append(hex(record.value()));
            for (Header header : record.headers()) {
                byte[] key = header.key().getBytes(StandardCharsets.UTF_8);
                text.append(' ').append(HEX.formatHex(key)).append('=');
                text.append(header.value() == null ? "null" : HEX.formatHex(header.value()));
            }
            if (batch.isControlBatch()) {
                builder.appendEndTxnMarker(
                    record.timestamp(), EndTransactionMarker.deserialize(record));
            } else {
                builder.appendWithOffset(record.offset(), record);
            }
        }
        ByteBuffer rebuilt = builder.build().buffer();
        byte[] copy = new byte[rebuilt.remaining()];
        rebuilt.get(copy);
        return text + "\t" + HEX.formatHex(copy);
    }

    private static String hex(ByteBuffer value) {
        if (value == null) {
            return "null";
        }
        byte[] copy = new byte[value.remaining()];
        value.duplicate().get(copy);
        return HEX.formatHex(copy);
    }
}
