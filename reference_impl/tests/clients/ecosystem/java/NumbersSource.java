package touchstone;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A source for Kafka Connect: the numbers from 0 to `count` - 1, in order, to partition 0 of `topic`. */
public class NumbersSource extends SourceConnector {
    private Map<String, String> settings;

    @Override public void start(Map<String, String> given) { settings = given; }
    @Override public Class<? extends Task> taskClass() { return Numbers.class; }
    @Override public List<Map<String, String>> taskConfigs(int most) { return List.of(settings); }
    @Override public void stop() { }
    @Override public String version() { return "1"; }
    @Override public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> given) {
        return ExactlyOnceSupport.SUPPORTED;
    }
    @Override public ConfigDef config() {
        return new ConfigDef()
            .define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "where to send")
            .define("count", ConfigDef.Type.LONG, ConfigDef.Importance.HIGH, "how many numbers");
    }

    /** Goes on behind the last number whose offset was committed with its record. */
    public static class Numbers extends SourceTask {
        private static final Map<String, String> PARTITION = Map.of("numbers", "0");
        private static final int BATCH = 10;
        private String topic;
        private long count;
        private long next;

        @Override public String version() { return "1"; }
        @Override public void start(Map<String, String> settings) {
            topic = settings.get("topic");
            count = Long.parseLong(settings.get("count"));
            Map<String, Object> last = context.offsetStorageReader().offset(PARTITION);
            next = last == null ? 0 : (Long) last.get("number") + 1;
        }
        @Override public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(50);
            List<SourceRecord> found = new ArrayList<>();
            for (int i = 0; i < BATCH && next < count; i++, next++) {
                found.add(new SourceRecord(PARTITION, Map.of("number", next), topic, 0,
                    Schema.STRING_SCHEMA, String.valueOf(next)));
            }
            return found.isEmpty() ? null : found;
        }
        @Override public void stop() { }
    }
}
