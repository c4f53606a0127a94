"""Three nodes with a topic of three replicas, and a client that writes to its leader."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_impl.core.effects import Respond
from reference_impl.core.partitions.fetch_sessions import replica_of
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.core.tests.cluster import Cluster, Handle
from reference_impl.links.effects import Ask, Lane
from reference_impl.wire import ApiKey, Record, RecordBatch, Struct, request_definition

PRODUCE, CREATE = request_definition(ApiKey.PRODUCE), request_definition(ApiKey.CREATE_TOPICS)
FAST = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
    "replica.fetch.wait.max.ms": "200",
    "replica.fetch.backoff.ms": "100",
    "replica.socket.timeout.ms": "1000",
}
TOPIC = "t"


class ReplicatedCluster(Cluster):
    """Three nodes, each a broker and a voter, over disks of their own."""

    def __init__(
        self,
        seed: int = 1,
        rules: type[Rules] = Rules,
        configs: Mapping[str, str] | None = None,
        apis: Mapping[int, Handle] | None = None,
    ) -> None:
        configs = {**FAST, **(configs or {})}
        super().__init__(apis, seed, voters=3, rules=rules, configs=configs)
        self.alter: Callable[[Struct], None] = lambda row: None
        """Called with each row of an answer to a follower's fetch; it may change the row."""
        self.blocked: set[int] = set()
        """Brokers whose fetches as followers never arrive, while all else does."""
        self.asked: list[Ask] = []
        """The requests between the nodes, except the quorum's."""
        self.run(3_000)

    def _ask(self, node: int, ask: Ask) -> None:
        if ask.destination.lane in (Lane.DATA, Lane.CONTROLLER):
            self.asked.append(ask)
        is_blocked = node in self.blocked and ask.destination.lane is Lane.DATA
        if not (is_blocked and ask.api_key == ApiKey.FETCH):
            super()._ask(node, ask)

    def _answer(self, node: int, effect: Respond) -> None:
        request = effect.request
        if request.api_key == ApiKey.FETCH and node in self.nodes:
            for row in rows_of(effect.body) if replica_of(request.body) >= 0 else ():
                self.alter(row)
        super()._answer(node, effect)

    def create(self, topic: str = TOPIC, **configs: str) -> None:
        """Make a topic of one partition with three replicas."""
        rows = [
            CREATE.struct("CreatableTopicConfig", name=name.replace("_", "."), value=value)
            for name, value in configs.items()
        ]
        row = CREATE.struct(
            "CreatableTopic", name=topic, num_partitions=1, replication_factor=3, configs=rows
        )
        self.send(1, ApiKey.CREATE_TOPICS, 7, CREATE.new(topics=[row], timeout_ms=5_000))
        self.run(2_000)
        assert self.answers[1].pop().topics[0].error_code == 0

    def partition(self, node: int, topic: str = TOPIC) -> Partition:
        """Return a node's replica."""
        found = self.nodes[node].broker.replicas.get(topic, 0)
        assert found is not None
        return found

    def leader(self, topic: str = TOPIC) -> int:
        """Return the leader, as a living node knows it."""
        images = [node.broker.image for node in self.nodes.values()]
        newest = max(images, key=lambda image: image.end_offset)
        return newest.topics[topic].partitions[0].leader

    def followers(self, topic: str = TOPIC) -> list[int]:
        """Return the living nodes that do not lead."""
        return [node for node in self.nodes if node != self.leader(topic)]

    def produce(self, node: int, *values: str, acks: int = -1, topic: str = TOPIC) -> None:
        """Send a batch to a node; its answer will lie in `answers`."""
        records = [Record(value.encode()) for value in values]
        data = RecordBatch(records, base_timestamp=self.moment()[0]).encode()
        row = PRODUCE.struct("PartitionProduceData", index=0, records=memoryview(bytearray(data)))
        of_topic = PRODUCE.struct("TopicProduceData", name=topic, partition_data=[row])
        body = PRODUCE.new(acks=acks, timeout_ms=10_000, topic_data=[of_topic])
        self.send(node, ApiKey.PRODUCE, 9, body)

    def code(self, node: int) -> int | None:
        """Return the error code of the one Produce that a node has answered, or None."""
        rows = [body.responses[0].partition_responses[0] for body in self.answers[node]]
        self.answers[node].clear()
        return None if not rows else int(rows[0].error_code)


def values_of(partition: Partition) -> list[str]:
    """Return all values in a replica's log."""
    return [
        (record.value or b"").decode()
        for data in partition.log.batches()
        for record in RecordBatch.decode(bytes(data))[0].records
    ]


def bytes_of(partition: Partition) -> bytes:
    """Return the bytes of a replica's log below its high watermark."""
    log = partition.log
    return log.read(log.log_start_offset, 1 << 30, log.high_watermark).records


def rows_of(body: Struct) -> list[Struct]:
    """Return the partitions of a Fetch answer."""
    return [row for topic in body.responses for row in topic.partitions]
