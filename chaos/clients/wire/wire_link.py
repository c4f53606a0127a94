"""A cluster over our own codec: its metadata, its leaders, and one connection to each broker.

It is used for everything that client libraries hide: batch headers, control records, topic ids,
leaders. Source: MetadataRequest.json.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from chaos.means.connection import Connection, WireError, connected
from chaos.world import Address, World
from reference_impl.access import Endpoint, access_of
from reference_impl.wire import ERRORS, ApiKey, Struct, request_definition

T = TypeVar("T")
RETRY_S = 0.2
EARLIEST, LATEST = -2, -1  # ListOffsetsRequest.json, field Timestamp
CONSUMER, FUTURE_REPLICA = -1, -3  # FetchRequest.CONSUMER_REPLICA_ID, FUTURE_LOCAL_REPLICA_ID
READ_UNCOMMITTED, READ_COMMITTED = 0, 1  # ListOffsetsRequest.json, field IsolationLevel


def parse_bootstrap(bootstrap: str) -> list[Address]:
    """Parse host:port[,host:port …] into addresses. Each address gets the access settings
    registered for the whole text. Raise WireError if a part is not host:port."""
    access = access_of(bootstrap)
    addresses: list[Address] = []
    for part in bootstrap.split(","):
        host, _, port = part.strip().rpartition(":")
        if not host or not port.isdigit():
            raise WireError(f"{part!r} is not host:port; name brokers as host:port[,host:port …]")
        addresses.append(Endpoint(host.strip("[]"), int(port), access))
    return addresses


def fetch_fields(
    topic: str,
    wanted: Iterable[tuple[int, int, int]],
    max_bytes: int,
    reader: int = CONSUMER,
    wait_ms: int = 100,
) -> dict[str, Any]:
    """Return the fields of a Fetch of partitions of one topic. wanted: (partition, leader epoch,
    offset) of each. max_bytes: of the answer, and of each partition. reader: the replica id to
    name, CONSUMER or FUTURE_REPLICA."""
    struct = request_definition(ApiKey.FETCH).struct
    partitions = [
        struct(
            "FetchPartition",
            partition=partition,
            current_leader_epoch=epoch,
            fetch_offset=offset,
            partition_max_bytes=max_bytes,
        )
        for partition, epoch, offset in wanted
    ]
    return {
        "replica_id": reader,
        "max_wait_ms": wait_ms,
        "min_bytes": 1,
        "max_bytes": max_bytes,
        "topics": [struct("FetchTopic", topic=topic, partitions=partitions)],
    }


@dataclass(frozen=True)
class PartitionState:
    """One partition as Metadata describes it; leader -1 means none."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
    """The replicas whose broker is gone, or whose disk has failed."""

    @property
    def followers(self) -> tuple[int, ...]:
        """The ids of the replicas that do not lead."""
        return tuple(replica for replica in self.replicas if replica != self.leader)


@dataclass(frozen=True)
class View:
    """The contents of a Metadata answer: living brokers, topic ids, partitions."""

    brokers: dict[int, Address]
    topic_ids: dict[str, str]
    partitions: dict[tuple[str, int], PartitionState]

    def state(self, topic: str, partition: int) -> PartitionState:
        """Return the state of one partition. Raise WireError if no living broker leads it."""
        state = self.partitions.get((topic, partition))
        if state is None or state.leader not in self.brokers:
            raise WireError(f"{topic}-{partition} has no leader")
        return state


class Leader(NamedTuple):
    """The address of a partition's leader, or of a follower to ask in its place, the leader epoch
    to name in requests to it, and the number of the leader's node (None for a follower)."""

    address: Address
    epoch: int
    node: int | None = None


class WireCluster:
    """Sends requests to the brokers of one cluster, over one connection to each. The bootstrap
    addresses lead to the others."""

    def __init__(self, world: World, bootstrap: str, timeout_s: float = 5.0) -> None:
        self.world = world
        self.bootstrap = parse_bootstrap(bootstrap)
        self._access = access_of(bootstrap)
        self._timeout_s = timeout_s
        self._connections: dict[Address, Connection] = {}

    async def ask(self, address: Address, api: ApiKey, **fields: Any) -> Struct:
        """Ask one broker and return the response, whose error codes may be set. Raise WireError,
        and close the connection, if no valid answer comes."""
        connection = await self._connection(address)
        try:
            return await connection.ask(api, **fields)
        except WireError:
            self._connections.pop(address, None)
            connection.close()
            raise

    async def _connection(self, address: Address) -> Connection:
        if address not in self._connections:
            endpoint = Endpoint(*address, self._access)
            self._connections[address] = await connected(self.world, endpoint, self._timeout_s)
        return self._connections[address]

    async def serves(self, api: ApiKey) -> bool:
        """Return whether a broker to which we are connected lists this API; a bootstrap broker is
        asked for metadata first, so that there is a connection. Raise WireError if none can be
        reached."""
        await self.view([])  # raises WireError if none can be reached
        return any([await connection.serves(api) for connection in self._connections.values()])

    async def ask_any(self, api: ApiKey, **fields: Any) -> Struct:
        """Ask the bootstrap brokers one after another; return the first answer. Raise the last
        WireError if none answers."""
        last: WireError | None = None
        for address in self.bootstrap:
            try:
                return await self.ask(address, api, **fields)
            except WireError as error:
                last = error
        raise last or WireError("no bootstrap broker is given")

    async def view(self, topics: Sequence[str], address: Address | None = None) -> View:
        """Return the registered brokers and the metadata of these topics, from the broker at
        `address`, or any; leave out a topic with an error, such as an unknown one. Raise WireError
        without an answer."""
        struct = request_definition(ApiKey.METADATA).struct
        fields: dict[str, Any] = {
            "topics": [struct("MetadataRequestTopic", name=name) for name in topics],
            "allow_auto_topic_creation": False,
        }
        if address is None:
            answer = await self.ask_any(ApiKey.METADATA, **fields)
        else:
            answer = await self.ask(address, ApiKey.METADATA, **fields)
        good = [topic for topic in answer.topics if topic.error_code == 0]
        return View(
            {broker.node_id: (broker.host, broker.port) for broker in answer.brokers},
            {t.name: str(t.topic_id) for t in good if getattr(t.topic_id, "int", 0)},
            {(t.name, p.partition_index): _state(p) for t in good for p in t.partitions},
        )

    async def topic_ids(self) -> dict[str, str]:
        """Return the id of every topic by name, "" where the broker gives no topic ids. Leave out a
        topic to which a broker gives no name, against the protocol. Raise WireError if no broker
        answers."""
        answer = await self.ask_any(ApiKey.METADATA, topics=None, allow_auto_topic_creation=False)
        return {
            topic.name: str(topic.topic_id) if getattr(topic.topic_id, "int", 0) else ""
            for topic in answer.topics
            if topic.name is not None
        }

    async def leader(self, topic: str, partition: int) -> Leader:
        """Return the leader of a partition, by new metadata. Raise WireError if it has none."""
        view = await self.view([topic])
        state = view.state(topic, partition)
        return Leader(view.brokers[state.leader], state.leader_epoch, state.leader)

    async def follower(self, leader: Leader, node: int) -> Leader:
        """Return a follower's address, paired with the leader's epoch for the requests to it. Raise
        WireError if no such broker is registered."""
        brokers = (await self.view([])).brokers
        if node not in brokers:
            raise WireError(f"node {node} is not registered")
        return Leader(brokers[node], leader.epoch)

    async def offset(
        self,
        leader: Leader,
        topic: str,
        partition: int,
        timestamp: int,
        isolation_level: int = READ_UNCOMMITTED,
    ) -> int:
        """Return an offset by ListOffsets: for EARLIEST the log start; for LATEST the high
        watermark or, under READ_COMMITTED, the last stable offset. The request names the leader's
        epoch, so that only this leader can answer (KIP-320). Raise WireError for no answer or an
        error."""
        struct = request_definition(ApiKey.LIST_OFFSETS).struct
        wanted = struct(
            "ListOffsetsPartition",
            partition_index=partition,
            current_leader_epoch=leader.epoch,
            timestamp=timestamp,
        )
        topics = [struct("ListOffsetsTopic", name=topic, partitions=[wanted])]
        answer = await self.ask(
            leader.address,
            ApiKey.LIST_OFFSETS,
            replica_id=-1,
            isolation_level=isolation_level,
            topics=topics,
        )
        found = answer.topics[0].partitions[0]
        check(found.error_code, f"ListOffsets {topic}-{partition}")
        return int(found.offset)

    async def produce(
        self, topic: str, partition: int, batch: bytes, transactional_id: str | None = None
    ) -> Struct:
        """Send a batch to the leader once, with acks=all. Return its answer about the partition,
        whose error code may be set. Raise WireError if the partition has no leader, or no answer
        comes."""
        struct = request_definition(ApiKey.PRODUCE).struct
        data = struct("PartitionProduceData", index=partition, records=batch)
        answer = await self.ask(
            (await self.leader(topic, partition)).address,
            ApiKey.PRODUCE,
            acks=-1,
            timeout_ms=int(self._timeout_s * 1000),
            topic_data=[struct("TopicProduceData", name=topic, partition_data=[data])],
            transactional_id=transactional_id,
        )
        found: Struct = answer.responses[0].partition_responses[0]
        return found

    async def end_of_epoch(self, leader: Leader, topic: str, partition: int) -> int:
        """Send OffsetForLeaderEpoch for the leader's current epoch. Return the epoch's end offset,
        which is the end of the leader's log, or -1 if the leader names none. Raise WireError for no
        answer or an error."""
        struct = request_definition(ApiKey.OFFSET_FOR_LEADER_EPOCH).struct
        wanted = struct(
            "OffsetForLeaderPartition",
            partition=partition,
            current_leader_epoch=leader.epoch,
            leader_epoch=leader.epoch,
        )
        topics = [struct("OffsetForLeaderTopic", topic=topic, partitions=[wanted])]
        answer = await self.ask(
            leader.address, ApiKey.OFFSET_FOR_LEADER_EPOCH, replica_id=-1, topics=topics
        )
        found = answer.topics[0].partitions[0]
        check(found.error_code, f"OffsetForLeaderEpoch {topic}-{partition}")
        return int(found.end_offset)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()


def _state(partition: Struct) -> PartitionState:
    return PartitionState(
        partition.leader_id,
        partition.leader_epoch,
        tuple(partition.replica_nodes),
        tuple(partition.isr_nodes),
        tuple(getattr(partition, "offline_replicas", None) or ()),
    )


async def insist(
    world: World, action: Callable[[], Awaitable[T]], deadline: float, retry_s: float = RETRY_S
) -> T:
    """Repeat the action until it raises no WireError, and return its result. After the deadline,
    raise its WireError."""
    while True:
        try:
            return await action()
        except WireError:
            if world.monotonic() > deadline:
                raise
        await world.sleep(retry_s)


def kafka_name(code: int) -> str:
    """Return Kafka's name of an error code, as the history writes it."""
    return ERRORS[code].name if code in ERRORS else f"UNKNOWN_CODE_{code}"


def check(code: int, what: str) -> None:
    """Raise WireError if the code is not NONE. what: the request, for the message."""
    if code != 0:
        error = WireError(f"{what}: {kafka_name(code)}")
        error.answered = kafka_name(code)
        raise error
