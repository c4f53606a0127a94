import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Kafka Streams with exactly_once_v2: sums the numbers of `numbers` by their last digit into `sums`.
 *
 * The records have no key, so Streams groups them through a repartition topic and keeps the sums in a
 * store with a changelog. Arguments: bootstrap, state directory. Runs until it is killed.
 */
public class Sums {
    public static void main(String[] args) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream("numbers", Consumed.with(Serdes.String(), Serdes.String()))
            .map((key, number) -> org.apache.kafka.streams.KeyValue.pair(
                String.valueOf(Long.parseLong(number) % 10), Long.parseLong(number)))
            .groupByKey(Grouped.with(Serdes.String(), Serdes.Long()))
            .reduce(Long::sum)
            .toStream()
            .mapValues(String::valueOf)
            .to("sums", Produced.with(Serdes.String(), Serdes.String()));
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "sums");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, args[1]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, -1);
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        settings.put(StreamsConfig.consumerPrefix("session.timeout.ms"), 20000);
        settings.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), 20000);
        // Small polls: a kill then strikes between many transactions.
        settings.put(StreamsConfig.consumerPrefix("max.poll.records"), 20);
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.start();
        new CountDownLatch(1).await();
    }
}
