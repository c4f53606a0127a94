import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Kafka's own changes of partitions. One line in, one line out. In: 11 fields of the state before
 * (as in the answer), ISR, replicas, adding, removing and recovery that are wanted, live brokers,
 * min.insync.replicas, election, brokers that shut down uncleanly, whether there are eligible leader
 * replicas. Out: replicas;isr;elr;last known leader;leader;recovering;adding;removing;directories;
 * leader epoch;partition epoch. A directory is the number of its broker, or 0.
 */
public class ChangeOracle {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(answer(line.split(";", -1)));
        }
    }

    static String answer(String[] fields) {
        PartitionRegistration before = new PartitionRegistration.Builder()
            .setReplicas(numbers(fields[0])).setIsr(numbers(fields[1])).setElr(numbers(fields[2]))
            .setLastKnownElr(numbers(fields[3])).setLeader(Integer.parseInt(fields[4]))
            .setLeaderRecoveryState(recovery(fields[5])).setAddingReplicas(numbers(fields[6]))
            .setRemovingReplicas(numbers(fields[7]))
            .setDirectories(list(fields[8]).stream().map(ChangeOracle::directory).toArray(Uuid[]::new))
            .setLeaderEpoch(Integer.parseInt(fields[9])).setPartitionEpoch(Integer.parseInt(fields[10]))
            .build();
        Set<Integer> live = Set.copyOf(list(fields[16]));
        PartitionChangeBuilder builder = new PartitionChangeBuilder(before, new Uuid(1, 1), 0, live::contains,
            MetadataVersion.latestProduction(), Integer.parseInt(fields[17]), fields[20].equals("1"));
        builder.setTargetIsr(list(fields[11])).setTargetReplicas(list(fields[12]))
            .setTargetAdding(list(fields[13])).setTargetRemoving(list(fields[14]))
            .setTargetLeaderRecoveryState(recovery(fields[15]))
            .setElection(PartitionChangeBuilder.Election.valueOf(fields[18]))
            .setUncleanShutdownReplicas(list(fields[19])).setDefaultDirProvider(ChangeOracle::directory);
        PartitionRegistration after = builder.build()
            .map(change -> before.merge((PartitionChangeRecord) change.message())).orElse(before);
        return String.join(";", text(after.replicas), text(after.isr), text(after.elr), text(after.lastKnownElr),
            "" + after.leader, after.leaderRecoveryState == LeaderRecoveryState.RECOVERING ? "1" : "0",
            text(after.addingReplicas), text(after.removingReplicas),
            text(Arrays.stream(after.directories).mapToInt(each -> (int) each.getLeastSignificantBits()).toArray()),
            "" + after.leaderEpoch, "" + after.partitionEpoch);
    }

    static Uuid directory(int broker) {
        return broker == 0 ? Uuid.ZERO_UUID : new Uuid(0, broker);
    }

    static LeaderRecoveryState recovery(String field) {
        return field.equals("1") ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED;
    }

    static List<Integer> list(String field) {
        return Arrays.stream(numbers(field)).boxed().collect(Collectors.toList());
    }

    static int[] numbers(String field) {
        return field.isEmpty() ? new int[0] : Arrays.stream(field.split(",")).mapToInt(Integer::parseInt).toArray();
    }

    static String text(int[] numbers) {
        return Arrays.stream(numbers).mapToObj(Integer::toString).collect(Collectors.joining(","));
    }
}
