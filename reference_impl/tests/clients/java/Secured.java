import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Makes a user and a quota, then signs in by SCRAM, by PLAIN over TLS, and again and again. */
public class Secured {
    static final int COUNT = 20;
    static final String MODULES = "org.apache.kafka.common.security.";

    public static void main(String[] arguments) throws Exception {
        String plaintext = arguments[0], sasl = arguments[1], tls = arguments[2];
        String brief = arguments[3], authority = arguments[4];
        administrate(plaintext);

        Map<String, Object> scram = client(sasl, "SASL_PLAINTEXT", "SCRAM-SHA-512", "java", "pencil");
        System.out.println("- SCRAM-SHA-512: " + roundTrip(scram, "java-scram", 0) + " records");

        Map<String, Object> secret = client(tls, "SASL_SSL", "PLAIN", "alice", "alice-secret");
        secret.put("ssl.truststore.type", "PEM");
        secret.put("ssl.truststore.location", authority);
        System.out.println("- PLAIN over TLS: " + roundTrip(secret, "java-tls", 0) + " records");

        Map<String, Object> ends = client(brief, "SASL_PLAINTEXT", "PLAIN", "bob", "bob-secret");
        System.out.println("- sessions that end: " + roundTrip(ends, "java-brief", 150) + " records");

        Map<String, Object> wrong = client(sasl, "SASL_PLAINTEXT", "SCRAM-SHA-512", "java", "pen");
        try (Admin admin = Admin.create(wrong)) {
            admin.describeCluster().nodes().get();
        } catch (ExecutionException error) {
            System.out.println("- wrong password: " + error.getCause().getClass().getSimpleName());
        }
    }

    static void administrate(String plaintext) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", plaintext))) {
            ScramCredentialInfo info = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 8192);
            admin.alterUserScramCredentials(
                List.of(new UserScramCredentialUpsertion("java", info, "pencil"))).all().get();
            admin.describeUserScramCredentials(List.of("java")).all().get().get("java")
                .credentialInfos().forEach(found -> System.out.println(
                    "- user java: " + found.mechanism() + " " + found.iterations()));

            ClientQuotaEntity user = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "java"));
            admin.alterClientQuotas(List.of(new ClientQuotaAlteration(user, List.of(
                new ClientQuotaAlteration.Op("producer_byte_rate", 1e9),
                new ClientQuotaAlteration.Op("consumer_byte_rate", 2e9))))).all().get();
            ClientQuotaFilter filter = ClientQuotaFilter.containsOnly(List.of(
                ClientQuotaFilterComponent.ofEntity(ClientQuotaEntity.USER, "java")));
            Map<String, Double> quotas = admin.describeClientQuotas(filter).entities().get().get(user);
            System.out.println("- quota of java: " + new TreeMap<>(quotas));
        }
    }

    static Map<String, Object> client(
            String bootstrap, String protocol, String mechanism, String user, String password) {
        String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("security.protocol", protocol);
        settings.put("sasl.mechanism", mechanism);
        settings.put("sasl.jaas.config", MODULES + module + " required username=\"" + user
            + "\" password=\"" + password + "\";");
        return settings;
    }

    /** How many records came back; the pause lets sessions end between two of them. */
    static int roundTrip(Map<String, Object> client, String topic, int pauseMs) throws Exception {
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(client, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < COUNT; number++) {
                producer.send(new ProducerRecord<>(topic, "value " + number)).get();
                Thread.sleep(pauseMs);
            }
        }
        Map<String, Object> settings = new HashMap<>(client);
        settings.put("group.id", topic);
        settings.put("auto.offset.reset", "earliest");
        int found = 0;
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            long end = System.currentTimeMillis() + 60_000;
            while (found < COUNT && System.currentTimeMillis() < end) {
                found += consumer.poll(Duration.ofMillis(500)).count();
            }
        }
        return found;
    }
}
