import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.ArrayList;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Produces with each codec, reads back in a group, and asks an admin client for what it is shown. */
public class Smoke {
    static final int COUNT = 50;

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic("java-admin", 3, (short) 1))).all().get();
            int partitions = admin.describeTopics(List.of("java-admin")).allTopicNames().get()
                .get("java-admin").partitions().size();
            ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "java-admin");
            int keys = admin.describeConfigs(List.of(topic)).all().get().get(topic).entries().size();
            System.out.println("admin " + partitions + " partitions, " + keys + " keys, nodes: "
                + admin.describeCluster().nodes().get().size());
        }
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            Set<String> sent = produce(bootstrap, codec);
            System.out.println(codec + " " + consume(bootstrap, codec).equals(sent));
        }
    }

    static Set<String> produce(String bootstrap, String codec) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("compression.type", codec);
        settings.put("linger.ms", "5");
        Set<String> sent = new HashSet<>();
        List<Future<RecordMetadata>> answers = new ArrayList<>();
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < COUNT; number++) {
                String value = (codec + " " + number + " ").repeat(10);
                sent.add(value);
                ProducerRecord<String, String> record =
                    new ProducerRecord<>("java-" + codec, codec + number, value);
                record.headers().add("header", "value".getBytes(StandardCharsets.UTF_8));
                answers.add(producer.send(record));
            }
            for (Future<RecordMetadata> answer : answers) {
                answer.get();
            }
        }
        return sent;
    }

    static Set<String> consume(String bootstrap, String codec) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", "java-" + codec);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        Set<String> found = new HashSet<>();
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("java-" + codec));
            while (found.size() < COUNT && System.nanoTime() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    found.add(record.value());
                }
            }
            consumer.commitSync();
        }
        return found;
    }
}
