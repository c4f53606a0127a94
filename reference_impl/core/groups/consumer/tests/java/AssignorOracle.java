import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Kafka's own server-side assignors. One line in, one line out:
 * {@code assignor;partitions of topic 1,of topic 2,..;member;member;..}, a member being
 * {@code id/instance id or -/topics/topic:partition,..}. The answer is {@code id=topic:partition,..;..}.
 */
public class AssignorOracle {
    static final Map<String, ConsumerGroupPartitionAssignor> ASSIGNORS =
        Map.of("range", new RangeAssignor(), "uniform", new UniformAssignor());

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(answer(line.split(";", -1)));
        }
    }

    static String answer(String[] fields) {
        String[] counts = fields[1].split(",");
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new TreeMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Set<Set<Uuid>> subscriptions = new java.util.HashSet<>();
        for (int index = 2; index < fields.length; index++) {
            String[] member = fields[index].split("/", -1);
            Set<Uuid> topics = new TreeSet<>();
            for (String topic : items(member[2])) {
                topics.add(topic(topic));
            }
            subscriptions.add(topics);
            Map<Uuid, Set<Integer>> current = new TreeMap<>();
            for (String partition : items(member[3])) {
                String[] parts = partition.split(":");
                current.computeIfAbsent(topic(parts[0]), key -> new TreeSet<>())
                    .add(Integer.valueOf(parts[1]));
                owners.computeIfAbsent(topic(parts[0]), key -> new HashMap<>())
                    .put(Integer.valueOf(parts[1]), member[0]);
            }
            Optional<String> instance = member[1].equals("-") ? Optional.empty() : Optional.of(member[1]);
            members.put(member[0], new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), instance, topics, new Assignment(current)));
        }
        SubscriptionType type = subscriptions.size() > 1
            ? SubscriptionType.HETEROGENEOUS : SubscriptionType.HOMOGENEOUS;
        SubscribedTopicDescriber describer = new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topicId) {
                return Integer.parseInt(counts[(int) topicId.getLeastSignificantBits() - 1]);
            }

            @Override
            public Set<String> racksForPartition(Uuid topicId, int partition) {
                return Set.of();
            }
        };
        GroupAssignment assigned = ASSIGNORS.get(fields[0])
            .assign(new GroupSpecImpl(members, type, owners), describer);
        List<String> answers = new ArrayList<>();
        for (String member : members.keySet()) {
            List<String> partitions = new ArrayList<>();
            if (assigned.members().containsKey(member)) {
                new TreeMap<>(assigned.members().get(member).partitions()).forEach((topic, indexes) ->
                    new TreeSet<>(indexes).forEach(index ->
                        partitions.add(topic.getLeastSignificantBits() + ":" + index)));
            }
            answers.add(member + "=" + String.join(",", partitions));
        }
        return String.join(";", answers);
    }

    static Uuid topic(String number) {
        return new Uuid(0, Long.parseLong(number));
    }

    static List<String> items(String text) {
        return text.isEmpty() ? List.of() : List.of(text.split(","));
    }
}
