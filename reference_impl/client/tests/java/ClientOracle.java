import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Scanner;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Utils;

/**
 * Answers, one line each: "murmur2 HEX" with the hash; "assign NAME TOPIC=COUNT,... MEMBER|..." with
 * MEMBER=TOPIC:PARTITION,...|... A member is id/instance/hex of its subscription, as it is sent.
 */
public final class ClientOracle {
    public static void main(String[] arguments) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split(" ", -1);
            System.out.println(words[0].equals("murmur2")
                ? String.valueOf(Utils.murmur2(HexFormat.of().parseHex(words[1])))
                : assign(words[1], words[2], words[3]));
        }
    }

    static String assign(String name, String topics, String members) {
        Node node = new Node(1, "localhost", 9092);
        Node[] nodes = {node};
        List<PartitionInfo> partitions = new ArrayList<>();
        for (String topic : topics.split(",")) {
            String[] parts = topic.split("=");
            for (int index = 0; index < Integer.parseInt(parts[1]); index++) {
                partitions.add(new PartitionInfo(parts[0], index, node, nodes, nodes));
            }
        }
        Cluster cluster = new Cluster("c", List.of(node), partitions, java.util.Set.of(), java.util.Set.of());
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (String member : members.split("\\|")) {
            String[] parts = member.split("/", -1);
            Subscription subscription = ConsumerProtocol.deserializeSubscription(
                ByteBuffer.wrap(HexFormat.of().parseHex(parts[2])));
            subscription.setGroupInstanceId(parts[1].isEmpty() ? Optional.empty() : Optional.of(parts[1]));
            subscriptions.put(parts[0], subscription);
        }
        ConsumerPartitionAssignor assignor = switch (name) {
            case "RangeAssignor" -> new RangeAssignor();
            case "RoundRobinAssignor" -> new RoundRobinAssignor();
            case "StickyAssignor" -> new StickyAssignor();
            default -> new CooperativeStickyAssignor();
        };
        Map<String, String> answer = new TreeMap<>();
        assignor.assign(cluster, new GroupSubscription(subscriptions)).groupAssignment().forEach(
            (member, assignment) -> answer.put(member, assignment.partitions().stream()
                .map(each -> each.topic() + ":" + each.partition()).collect(Collectors.joining(","))));
        return answer.entrySet().stream().map(each -> each.getKey() + "=" + each.getValue())
            .collect(Collectors.joining("|"));
    }
}
