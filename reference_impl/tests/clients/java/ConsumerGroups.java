import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Members with group.protocol=consumer: two by each assignor, and one that subscribes by a pattern. */
public class ConsumerGroups {
    static final String TOPIC = "java-kip-848";
    static final int COUNT = 100;
    static final Duration SHORT = Duration.ofMillis(200);

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic(TOPIC, 4, (short) 1))).all().get();
            produce(bootstrap);
            for (String assignor : List.of("uniform", "range")) {
                try (KafkaConsumer<String, String> one = member(bootstrap, assignor, assignor);
                        KafkaConsumer<String, String> two = member(bootstrap, assignor, assignor)) {
                    one.subscribe(List.of(TOPIC));
                    two.subscribe(List.of(TOPIC));
                    report(admin, assignor, List.of(one, two), 2);
                }
            }
            try (KafkaConsumer<String, String> one = member(bootstrap, "pattern", null)) {
                one.subscribe(new SubscriptionPattern("java-kip-8[0-9]+"));
                report(admin, "pattern", List.of(one), 4);
            }
        }
    }

    static void produce(String bootstrap) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap);
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < COUNT; number++) {
                producer.send(new ProducerRecord<>(TOPIC, "key" + number, "value" + number)).get();
            }
        }
    }

    static KafkaConsumer<String, String> member(String bootstrap, String group, String assignor) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", "java-" + group);
        settings.put("group.protocol", "consumer");
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        if (assignor != null) {
            settings.put("group.remote.assignor", assignor);
        }
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    /** Polls until everything is read and every member has its share. */
    static void report(Admin admin, String group, List<KafkaConsumer<String, String>> members,
            int share) throws Exception {
        Set<String> found = new HashSet<>();
        long deadline = System.nanoTime() + Duration.ofSeconds(180).toNanos();
        boolean shared = false;
        String state = "";
        while (!(found.size() == COUNT && shared && state.equals("stable"))
                && System.nanoTime() < deadline) {
            shared = true;
            for (KafkaConsumer<String, String> member : members) {
                for (ConsumerRecord<String, String> record : member.poll(SHORT)) {
                    found.add(record.value());
                }
                shared &= member.assignment().size() == share;
            }
            if (shared) { // a busy broker may not have the group before
                state = described(admin, group).groupState().toString().toLowerCase();
            }
        }
        for (KafkaConsumer<String, String> member : members) {
            member.commitSync();
        }
        int size = described(admin, group).members().size();
        System.out.println("group " + group + ": " + found.size() + " of " + COUNT + " values, "
            + size + (size == 1 ? " member, " : " members, ") + state);
    }

    static ConsumerGroupDescription described(Admin admin, String group) throws Exception {
        return admin.describeConsumerGroups(List.of("java-" + group)).all().get().get("java-" + group);
    }
}
