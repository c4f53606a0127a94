import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Transactions of the Java clients, which take an epoch for each of them (KIP-890). Prints one line per question. */
public class Transactions {
    static final int COUNT = 20;
    static String bootstrap;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", (Object) bootstrap))) {
            admin.createTopics(List.of(new NewTopic("java-in", 3, (short) 1), new NewTopic("java-out", 3, (short) 1)))
                .all().get();
            Set<String> committed = produce();
            transform(committed.size());
            System.out.println("exactly once " + committed.equals(read("java-out", committed.size())));
            System.out.println("offsets " + admin.listConsumerGroupOffsets("java-transform")
                .partitionsToOffsetAndMetadata().get().size());
            fence(admin);
        }
    }

    static Set<String> produce() {
        Set<String> committed = new TreeSet<>();
        try (KafkaProducer<String, String> producer = producer("java-source")) {
            producer.initTransactions();
            for (int number = 0; number < COUNT; number++) {
                producer.beginTransaction();
                for (int part = 0; part < 4; part++) {
                    producer.send(new ProducerRecord<>("java-in", part % 3, null, number + "-" + part));
                }
                if (number % 3 == 2) {
                    producer.flush();
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                    for (int part = 0; part < 4; part++) {
                        committed.add(number + "-" + part);
                    }
                }
            }
            producer.beginTransaction();
            producer.abortTransaction();
        }
        return committed;
    }

    static void transform(int count) {
        try (KafkaProducer<String, String> producer = producer("java-transform");
                KafkaConsumer<String, String> consumer = consumer("java-transform")) {
            consumer.subscribe(List.of("java-in"));
            producer.initTransactions();
            for (int done = 0, polls = 0; done < count && polls < 300; polls++) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) {
                    continue;
                }
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                producer.beginTransaction();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>("java-out", record.partition(), null, record.value()));
                    offsets.put(new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
                    done++;
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
            }
        }
    }

    static Set<String> read(String topic, int count) {
        Set<String> found = new TreeSet<>();
        int records = 0;
        try (KafkaConsumer<String, String> consumer = consumer("java-read")) {
            consumer.subscribe(List.of(topic));
            for (int polls = 0; records < count && polls < 300; polls++) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    found.add(record.value());
                    records++;
                }
            }
        }
        return records == count ? found : Set.of();
    }

    static void fence(Admin admin) throws Exception {
        try (KafkaProducer<String, String> zombie = producer("java-fenced");
                KafkaProducer<String, String> successor = producer("java-fenced")) {
            zombie.initTransactions();
            zombie.beginTransaction();
            zombie.send(new ProducerRecord<>("java-in", "zombie")).get();
            System.out.println("described " + admin.describeTransactions(List.of("java-fenced"))
                .description("java-fenced").get().state());
            successor.initTransactions();
            try {
                zombie.commitTransaction();
                System.out.println("fenced false");
            } catch (ProducerFencedException expected) {
                System.out.println("fenced true");
            }
        }
    }

    static KafkaProducer<String, String> producer(String transactionalId) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("transactional.id", transactionalId);
        return new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String group) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("group.id", group);
        properties.put("isolation.level", "read_committed");
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        return new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
    }
}
