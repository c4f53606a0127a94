"""A replicated partition under a seeded hostile schedule, and the promise of acks=all, checked
after every step.

The watcher sees the replicas from outside: what their logs hold below their high watermarks. It
asks no rule of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from reference_impl.core.log.results import OffsetOutOfRange
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.core.storage import StorageError
from reference_impl.core.tests.replicated_cluster import TOPIC, ReplicatedCluster, bytes_of
from reference_impl.wire import ErrorCode, RecordBatch, read_header

STEPS, CALM_MS = 40, 25_000


class Broken(AssertionError):
    """A promise of replication is broken."""


@dataclass
class Watcher:
    """The batches that some replica has taken for committed."""

    committed: dict[int, bytes] = field(default_factory=dict)
    """Base offset -> batch."""
    checked: dict[int, int] = field(default_factory=dict)
    """Node -> the high watermark up to which its log was compared."""

    def look(self, node: int, partition: Partition) -> None:
        """Compare what a replica has newly taken for committed. Raise Broken."""
        log = partition.log
        since = self.checked.get(node, 0)
        if log.high_watermark <= since:
            return
        for data in log.batches(since):
            batch = bytes(data)
            header = read_header(batch)
            if header.last_offset >= log.high_watermark:
                break
            if self.committed.setdefault(header.base_offset, batch) != batch:
                raise Broken(f"node {node} commits another batch at offset {header.base_offset}")
        self.checked[node] = log.high_watermark


class Attack:
    """Three nodes, one partition, and what may happen to them."""

    def __init__(self, seed: int, rules: type[Rules] = Rules) -> None:
        self.random = Random(seed)
        self.cluster = ReplicatedCluster(seed=seed, rules=rules)
        self.cluster.create(min_insync_replicas="2")
        self.watcher = Watcher()
        self.cluster.watch = self.look
        self.sent: dict[int, str] = {}
        """Node -> the value that it has not answered for yet."""
        self.acknowledged: dict[str, int] = {}
        """Value -> its offset."""
        self.faults = (
            self.kill,
            self.boot,
            self.isolate,
            self.cut,
            self.slow,
            self.heal,
            self.rest,
        )

    def look(self, node: int) -> None:
        """Check what a node holds, after its step."""
        broker = self.cluster.nodes[node].broker
        partition = next((each for each in broker.replicas if each.topic == TOPIC), None)
        if partition is not None:
            self.watcher.look(node, partition)

    def run(self) -> None:
        """Let things happen, then let all nodes live and talk. Raise Broken."""
        try:
            for number in range(STEPS):
                self.random.choice(self.faults)()
                for node in list(self.cluster.nodes):
                    self.write(node, f"{number}-{node}")
                self.cluster.run(self.random.choice((5, 20, 100, 400, 1_500, 4_000)))
                self.hear()
            self.settle()
        except (StorageError, OffsetOutOfRange) as error:
            raise Broken(f"a node stops: {error}") from error

    def settle(self) -> None:
        """End all faults, and require that everything acknowledged is everywhere. Raise Broken."""
        self.heal()
        self.boot()
        self.cluster.run(CALM_MS)
        self.hear()
        leader = self.cluster.leader()
        if leader < 0:
            raise Broken("there is no leader long after the last fault")
        self.write(leader, "last")
        self.cluster.run(2_000)
        self.hear()
        if "last" not in self.acknowledged:
            raise Broken(f"a write is not acknowledged: {self.cluster.partition(leader).state}")
        replicas = [self.cluster.partition(node) for node in self.cluster.nodes]
        if len({bytes_of(replica) for replica in replicas}) > 1:
            raise Broken("the replicas are not equal byte for byte")
        values = values_by_offset(self.cluster.partition(leader))
        for value, offset in self.acknowledged.items():
            if values.get(offset) != value:
                raise Broken(f"{value} was acknowledged at offset {offset}, and is not there")

    # --- the client -----------------------------------------------------------------------------

    def write(self, node: int, value: str) -> None:
        """Send one value to a node with acks=all, unless it has not answered the one before."""
        if node not in self.sent and node in self.cluster.nodes:
            self.sent[node] = value
            self.cluster.produce(node, value)

    def hear(self) -> None:
        """Note what was acknowledged."""
        for node, answers in self.cluster.answers.items():
            for body in answers:
                row = body.responses[0].partition_responses[0]
                value = self.sent.pop(node)
                if row.error_code == ErrorCode.NONE:
                    self.acknowledged[value] = row.base_offset
            answers.clear()

    # --- faults ---------------------------------------------------------------------------------

    def kill(self) -> None:
        """Kill a node, often the leader, unless one is dead already."""
        if len(self.cluster.nodes) < len(self.cluster.disks):
            return
        node = self.random.choice(list(self.cluster.nodes))
        if self.random.random() < 0.5 and self.cluster.leader() in self.cluster.nodes:
            node = self.cluster.leader()
        self.hear()
        self.cluster.kill(node)
        self.sent.pop(node, None)
        self.watcher.checked.pop(node, None)

    def boot(self) -> None:
        """Start every dead node again."""
        for node in self.cluster.disks.keys() - self.cluster.nodes.keys():
            self.cluster.boot(node)

    def isolate(self) -> None:
        """Cut a node off from all others."""
        node = self.random.choice(list(self.cluster.disks))
        for other in self.cluster.disks.keys() - {node}:
            self.cluster.silent |= {(node, other), (other, node)}

    def cut(self) -> None:
        """Cut one direction between two nodes, or the copying of one broker."""
        source, target = self.random.sample(list(self.cluster.disks), 2)
        if self.random.random() < 0.5:
            self.cluster.silent.add((source, target))
        else:
            self.cluster.blocked.add(source)

    def slow(self) -> None:
        """Delay messages by chance."""
        for source in self.cluster.disks:
            for target in self.cluster.disks:
                self.cluster.delays_ms[source, target] = self.random.choice((0, 0, 5, 100, 700))

    def heal(self) -> None:
        """Let all messages through."""
        self.cluster.silent.clear()
        self.cluster.blocked.clear()
        self.cluster.delays_ms.clear()

    def rest(self) -> None:
        """Let nothing happen but the passing of time."""


def values_by_offset(partition: Partition) -> dict[int, str]:
    """Return each value of a replica by its offset."""
    found = {}
    for data in partition.log.batches():
        batch = RecordBatch.decode(bytes(data))[0]
        base = read_header(bytes(data)).base_offset
        for place, record in enumerate(batch.records):
            found[base + place] = (record.value or b"").decode()
    return found
