import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.InvalidPidMappingException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.auth.SaslExtensionsCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;
import org.apache.kafka.common.security.oauthbearer.internals.secured.BasicOAuthBearerToken;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Apache Kafka's own clients, for a program in another language: a request is a line of JSON on the
 * standard input, and its answer one on the standard output.
 *
 * <p>A request names a number ("id"), which the answer repeats; the "client" it is for; and what to
 * do ("op"). The requests of a client are done one after the other, those of several at once. Bytes
 * travel in base 64. Whatever goes wrong is an answer with "error": Kafka's name of it, or the
 * exception's with an underscore before it. The program ends with its standard input.
 */
public final class KafkaClients {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int CLOSE_MS = 100;
    private static final Duration POSITION_TIMEOUT = Duration.ofSeconds(5);
    private static final Duration LEAVE_TIMEOUT = Duration.ofSeconds(5);

    private final PrintStream answers;
    private final Map<Integer, OneClient> clients = new HashMap<>();

    private KafkaClients(PrintStream answers) {
        this.answers = answers;
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever logs, it must not disturb the answers
        new KafkaClients(answers).serve();
        System.exit(0); // without waiting for clients whose brokers are gone
    }

    private void serve() throws IOException {
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            JsonNode request = JSON.readTree(line);
            int number = request.get("client").asInt();
            OneClient client = clients.computeIfAbsent(number, ignored -> new OneClient());
            if (request.get("op").asText().equals("close")) {
                clients.remove(number);
            }
            client.thread.execute(() -> answer(client, request));
        }
    }

    private void answer(OneClient client, JsonNode request) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            client.perform(request, answer);
        } catch (Throwable thrown) {
            describe(thrown, answer);
        }
        answer.set("id", request.get("id"));
        synchronized (answers) {
            answers.println(answer);
            answers.flush();
        }
    }

    /** Puts the name of an error, what it says, and whether the client can go on after it. */
    private static void describe(Throwable thrown, ObjectNode answer) {
        Throwable cause = thrown;
        while (!(cause instanceof ApiException) && cause.getCause() != null) {
            cause = cause.getCause();
        }
        Errors error = Errors.forException(cause);
        boolean named = error != Errors.UNKNOWN_SERVER_ERROR || cause instanceof ApiException;
        answer.put("error", named ? error.name() : "_" + cause.getClass().getSimpleName());
        answer.put("detail", String.valueOf(cause.getMessage()));
        answer.put("fatal", isFatal(cause));
        answer.put("timed_out", cause instanceof TimeoutException);
    }

    /** KafkaProducer's documentation: after these the producer can only be closed. */
    private static boolean isFatal(Throwable cause) {
        return cause instanceof ProducerFencedException
                || cause instanceof InvalidProducerEpochException
                || cause instanceof OutOfOrderSequenceException
                || cause instanceof InvalidPidMappingException
                || cause instanceof FencedInstanceIdException
                || cause instanceof AuthorizationException
                || cause instanceof UnsupportedVersionException
                || !(cause instanceof KafkaException);
    }

    /** What the group did to a member's assignment while it was polled. */
    private static final class Assignment implements ConsumerRebalanceListener {
        private KafkaConsumer<byte[], byte[]> consumer;
        private ArrayNode changes = JSON.createArrayNode();

        /** A new membership begins, by this consumer. */
        void begin(KafkaConsumer<byte[], byte[]> member) {
            consumer = member;
            changes = JSON.createArrayNode();
        }

        boolean isOfGroup() {
            return consumer != null;
        }

        /** Begins where the group has committed, as the consumer would by itself, and tells where. */
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            Map<TopicPartition, OffsetAndMetadata> committed = null;
            try {
                committed = consumer.committed(Set.copyOf(partitions), POSITION_TIMEOUT);
            } catch (KafkaException unanswered) {
                // The consumer looks it up itself.
            }
            ArrayNode told = note("assigned");
            for (TopicPartition partition : partitions) {
                ArrayNode place = told.addArray().add(partition.topic()).add(partition.partition());
                if (committed == null) {
                    place.addNull();
                } else if (committed.get(partition) == null) {
                    consumer.seekToBeginning(List.of(partition));
                    place.add(-1L);
                } else {
                    consumer.seek(partition, committed.get(partition)); // with its leader epoch
                    place.add(committed.get(partition).offset());
                }
            }
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            ArrayNode told = note("revoked");
            for (TopicPartition partition : partitions) {
                told.addArray().add(partition.topic()).add(partition.partition()).addNull();
            }
        }

        private ArrayNode note(String change) {
            ObjectNode told = changes.addObject().put("change", change);
            identify(told);
            return told.putArray("partitions");
        }

        void identify(ObjectNode answer) {
            ConsumerGroupMetadata metadata = consumer.groupMetadata();
            answer.put("member_id", metadata.memberId());
            answer.put("generation", metadata.generationId());
        }

        /** Once; all of it came before the records that the same poll returned. */
        void tell(ObjectNode answer) {
            answer.set("changes", changes);
            changes = JSON.createArrayNode();
        }
    }

    /** Has a command of the cluster's owner print the token of OAUTHBEARER. */
    public static final class TokenByCommand implements AuthenticateCallbackHandler {
        private static final Duration UNTOLD_LIFETIME = Duration.ofMinutes(5);
        private File folder;
        private final List<String> command = new ArrayList<>();

        @Override
        public void configure(
                Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
            try {
                JsonNode told = JSON.readTree((String) configs.get("touchstone.token.command"));
                told.forEach(word -> command.add(word.asText()));
                folder = new File(command.remove(0));
            } catch (IOException impossible) {
                throw new IllegalStateException(impossible);
            }
        }

        @Override
        public void handle(Callback[] callbacks) throws IOException, UnsupportedCallbackException {
            for (Callback callback : callbacks) {
                if (callback instanceof OAuthBearerTokenCallback wanted) {
                    wanted.token(token());
                } else if (!(callback instanceof SaslExtensionsCallback)) {
                    throw new UnsupportedCallbackException(callback);
                }
            }
        }

        private OAuthBearerToken token() throws IOException {
            Process process = new ProcessBuilder(command).directory(folder).start();
            process.getOutputStream().close();
            String value = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
            String[] parts = value.split("\\.");
            JsonNode claims = JSON.createObjectNode();
            if (parts.length >= 2) {
                claims = JSON.readTree(Base64.getUrlDecoder().decode(parts[1]));
            }
            long now = System.currentTimeMillis();
            long expires = claims.has("exp")
                    ? claims.get("exp").asLong() * 1000
                    : now + UNTOLD_LIFETIME.toMillis();
            return new BasicOAuthBearerToken(
                    value, Set.of(), expires, claims.path("sub").asText("touchstone"), now);
        }

        @Override
        public void close() {}
    }

    /** The producer or the consumer of one process, and the thread on which it works. */
    private static final class OneClient {
        final ExecutorService thread = Executors.newSingleThreadExecutor();
        private KafkaProducer<byte[], byte[]> producer;
        private KafkaConsumer<byte[], byte[]> consumer;
        private final Assignment assignment = new Assignment();

        void perform(JsonNode request, ObjectNode answer) throws Exception {
            switch (request.get("op").asText()) {
                case "producer" ->
                        producer = new KafkaProducer<>(
                                properties(request), new ByteArraySerializer(), new ByteArraySerializer());
                case "consumer" ->
                        consumer = new KafkaConsumer<>(
                                properties(request), new ByteArrayDeserializer(), new ByteArrayDeserializer());
                case "send" -> send(request, answer);
                case "init_transactions" -> producer.initTransactions();
                case "begin" -> producer.beginTransaction();
                case "commit" -> producer.commitTransaction();
                case "abort" -> producer.abortTransaction();
                case "crash_producer" -> producer.close(Duration.ZERO);
                case "assign" -> assign(request);
                case "seek" -> seek(request);
                case "seek_to_time" -> seekToTime(request, answer);
                case "subscribe" -> subscribe(request);
                case "commit_offsets" -> commitOffsets(request, answer);
                case "leave" -> leave(GroupMembershipOperation.DEFAULT, answer);
                case "crash" -> leave(GroupMembershipOperation.REMAIN_IN_GROUP, answer);
                case "poll" -> poll(request, answer);
                case "positions" -> positions(answer);
                case "close" -> close();
                default -> throw new IllegalArgumentException("no such op: " + request.get("op"));
            }
        }

        private static Properties properties(JsonNode request) {
            Properties properties = new Properties();
            for (Map.Entry<String, JsonNode> entry : request.get("config").properties()) {
                properties.put(entry.getKey(), entry.getValue().asText());
            }
            return properties;
        }

        /** Hands over all records, then waits for each. */
        private void send(JsonNode request, ObjectNode answer) throws IOException {
            List<Object> sent = new ArrayList<>();
            JsonNode timestamps = request.get("timestamps");
            for (JsonNode record : request.get("records")) {
                Long timestamp = timestamps.isNull() ? null : timestamps.get(sent.size()).asLong();
                try {
                    sent.add(producer.send(recordOf(request, record, timestamp)));
                } catch (RuntimeException refused) {
                    sent.add(refused);
                }
            }
            ArrayNode settled = answer.putArray("records");
            for (Object each : sent) {
                ObjectNode told = settled.addObject();
                try {
                    if (each instanceof RuntimeException refused) {
                        throw refused;
                    }
                    @SuppressWarnings("unchecked")
                    RecordMetadata metadata = ((Future<RecordMetadata>) each).get();
                    told.put("offset", metadata.hasOffset() ? metadata.offset() : -1L);
                } catch (ExecutionException | InterruptedException | RuntimeException failed) {
                    describe(failed, told);
                }
            }
        }

        private static ProducerRecord<byte[], byte[]> recordOf(
                JsonNode request, JsonNode record, Long timestamp) throws IOException {
            List<Header> headers = new ArrayList<>();
            for (JsonNode header : record.get("headers")) {
                headers.add(new RecordHeader(header.get(0).asText(), bytes(header.get(1))));
            }
            return new ProducerRecord<>(
                    request.get("topic").asText(),
                    request.get("partition").asInt(),
                    timestamp,
                    bytes(record.get("key")),
                    bytes(record.get("value")),
                    headers);
        }

        private static byte[] bytes(JsonNode node) throws IOException {
            return node.isNull() ? null : node.binaryValue();
        }

        /** Takes partitions from these offsets on; an offset of null is the start of the log. */
        private void assign(JsonNode request) {
            Map<TopicPartition, JsonNode> starts = new HashMap<>();
            for (JsonNode each : request.get("partitions")) {
                starts.put(new TopicPartition(each.get(0).asText(), each.get(1).asInt()), each.get(2));
            }
            consumer.assign(starts.keySet());
            starts.forEach((partition, offset) -> {
                if (offset.isNull()) {
                    consumer.seekToBeginning(List.of(partition));
                } else {
                    consumer.seek(partition, offset.asLong());
                }
            });
        }

        private static TopicPartition partitionOf(JsonNode place) {
            return new TopicPartition(place.get(0).asText(), place.get(1).asInt());
        }

        private void seek(JsonNode request) {
            JsonNode place = request.get("partition");
            consumer.seek(partitionOf(place), place.get(2).asLong());
        }

        /** Goes to the first record at or after a time; where there is none, stays. */
        private void seekToTime(JsonNode request, ObjectNode answer) {
            JsonNode place = request.get("partition");
            TopicPartition partition = partitionOf(place);
            OffsetAndTimestamp found =
                    consumer.offsetsForTimes(Map.of(partition, place.get(2).asLong())).get(partition);
            if (found != null) {
                answer.put("offset", found.offset());
                consumer.seek(partition, found.offset());
            }
        }

        private void poll(JsonNode request, ObjectNode answer) {
            Duration timeout = Duration.ofMillis(request.get("timeout_ms").asLong());
            ArrayNode records = answer.putArray("records");
            ConsumerRecords<byte[], byte[]> polled;
            try {
                polled = consumer.poll(timeout);
            } finally {
                assignment.tell(answer); // also where the poll failed behind it
                identify(answer);
            }
            for (ConsumerRecord<byte[], byte[]> record : polled) {
                ObjectNode told = records.addObject();
                told.put("topic", record.topic());
                told.put("partition", record.partition());
                told.put("offset", record.offset());
                told.put("leader_epoch", record.leaderEpoch().orElse(-1));
                told.put("timestamp_ms", record.timestamp());
                told.put("timestamp_type", typeOf(record));
                told.put("key", record.key());
                told.put("value", record.value());
                ArrayNode headers = told.putArray("headers");
                for (Header header : record.headers()) {
                    headers.addArray().add(header.key()).add(header.value());
                }
            }
        }

        private static String typeOf(ConsumerRecord<byte[], byte[]> record) {
            return record.timestampType() == TimestampType.LOG_APPEND_TIME ? "append" : "create";
        }

        private void subscribe(JsonNode request) {
            List<String> topics = new ArrayList<>();
            request.get("topics").forEach(topic -> topics.add(topic.asText()));
            assignment.begin(consumer);
            consumer.subscribe(topics, assignment);
        }

        private static Optional<Integer> epochOf(JsonNode epoch) {
            return epoch.asInt() < 0 ? Optional.empty() : Optional.of(epoch.asInt());
        }

        /** Waits; names the member before and after, since another generation may have come between. */
        private void commitOffsets(JsonNode request, ObjectNode answer) {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (JsonNode each : request.get("offsets")) {
                offsets.put(
                        new TopicPartition(each.get(0).asText(), each.get(1).asInt()),
                        new OffsetAndMetadata(each.get(2).asLong(), epochOf(each.get(3)), ""));
            }
            identify(answer.putObject("before"));
            try {
                consumer.commitSync(offsets, Duration.ofMillis(request.get("timeout_ms").asLong()));
            } finally {
                identify(answer);
            }
        }

        /** Closes the consumer: with a good-bye to the group, or as if it had died. */
        private void leave(GroupMembershipOperation operation, ObjectNode answer) {
            KafkaConsumer<byte[], byte[]> leaving = consumer;
            consumer = null;
            leaving.close(CloseOptions.timeout(LEAVE_TIMEOUT).withGroupMembershipOperation(operation));
        }

        private void identify(ObjectNode answer) {
            if (assignment.isOfGroup()) {
                assignment.identify(answer);
            }
        }

        private void positions(ObjectNode answer) {
            ArrayNode positions = answer.putArray("positions");
            for (TopicPartition partition : consumer.assignment()) {
                positions.addArray()
                        .add(partition.topic())
                        .add(partition.partition())
                        .add(consumer.position(partition, POSITION_TIMEOUT));
            }
        }

        private void close() {
            thread.shutdown();
            if (producer != null) {
                producer.close(Duration.ofMillis(CLOSE_MS));
            }
            if (consumer != null) {
                consumer.close(CloseOptions.timeout(Duration.ofMillis(CLOSE_MS)));
            }
        }
    }
}
