"""A fetch session reads only what may have changed, and nobody can tell."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from reference_impl.core.events import Request
from reference_impl.core.partitions.fetch_sessions import FetchContext, Wanted, WantedKey
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.partitions.purgatory import Purgatory
from reference_impl.core.rules import Rules
from reference_impl.core.tests.test_acls import ALICE, controlled, create, delete, entry, wanted
from reference_impl.core.tests.transactional import begun, open_transaction
from reference_impl.core.tests.world import World, end_of, values_in
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

PARTITIONS, CLIENTS, PRODUCER = 5, 3, 9
READ_COMMITTED = 1


class ReadsAll(FetchContext):
    """A fetch that reads every partition of its session, whatever has changed."""

    def to_read(self, purgatory: Purgatory, denied: set[WantedKey]) -> list[Wanted]:
        if self.session is not None:
            self.session.pending = dict(self.session.wanted)
        return super().to_read(purgatory, denied)


def read_all_of_each_session(world: World) -> None:
    """Let every fetch of a world read all partitions of its session."""
    sessions = world.node.broker.fetch_sessions
    remembering = sessions.context

    def context(request: Request, *rest: Any) -> FetchContext:
        found = remembering(request, *rest)
        return ReadsAll(found.wanted, found.session, found.epoch, found.creates)

    vars(sessions)["context"] = context


class Reader:
    """A client with one session and one request at a time, in a world of its own."""

    def __init__(self, world: World, client: int, topic: str = "t") -> None:
        self.world, self.client, self.topic = world, client, topic
        self.id = self.epoch = 0
        self.waits_for: int | None = None
        self.rows: list[Struct] = []

    def send(self, offsets: dict[int, int], forget: tuple[int, ...] = (), **other: Any) -> None:
        of = request_definition(ApiKey.FETCH)
        rows = [
            of.struct(
                "FetchPartition", partition=index, fetch_offset=offset, partition_max_bytes=300
            )
            for index, offset in offsets.items()
        ]
        forgotten = [of.struct("ForgottenTopic", topic=self.topic, partitions=list(forget))]
        defaults = {"session_id": self.id, "session_epoch": self.epoch, "min_bytes": 1}
        body = of.new(
            topics=[of.struct("FetchTopic", topic=self.topic, partitions=rows)] if rows else [],
            forgotten_topics_data=forgotten if forget else [],
            **{**defaults, **other},
        )
        self.waits_for = self.world.send(ApiKey.FETCH, 12, body, client=self.client)
        self.look()

    def look(self) -> None:
        """Take the answer if it has come."""
        if self.waits_for is None or (answer := self.world.answer_to(self.waits_for)) is None:
            return
        self.waits_for = None
        self.rows = [row for topic in answer.responses for row in topic.partitions]
        if answer.error_code:
            self.id = self.epoch = 0
        else:
            self.id, self.epoch = answer.session_id, self.epoch + 1 if answer.session_id else 0

    def fetch(self, offsets: dict[int, int], **other: Any) -> list[int]:
        """Fetch and return the partitions of the answer."""
        self.send(offsets, **other)
        return [row.partition_index for row in self.rows]


def act(world: World, readers: list[Reader], random: Random) -> None:
    """Do one thing of many, and let the clients look."""
    index = random.randrange(PARTITIONS)
    match random.randrange(16):
        case 0 | 1 | 2 | 3:
            world.call(
                ApiKey.PRODUCE,
                8,
                PRODUCER,
                **vars_of(world.produce_body("t", world.batch("x" * random.randrange(80)), index)),
            )
        case 4:
            delete_records(world, index)
        case 5 if random.random() < 0.2:
            world.call(ApiKey.DELETE_TOPICS, 3, PRODUCER, topic_names=["t"], timeout_ms=1000)
        case 5 if random.random() < 0.9:
            make_topic(world)
        case 6:
            world.wait(random.choice([1, 50, 500, 5_000]))
        case 7 if random.random() < 0.3:
            world.wait(400_000)  # retention has its turn
        case _:
            ask(random.choice(readers), random)
    for reader in readers:
        reader.look()


def ask(reader: Reader, random: Random) -> None:
    """Let a client fetch something, if it does not wait."""
    if reader.waits_for is not None:
        return
    if random.random() < 0.05:
        reader.id = reader.epoch = 0
    offsets = {
        index: after(reader.world, index, row)
        for index, row in ((row.partition_index, row) for row in reader.rows)
        if random.random() < 0.9
    }
    if reader.epoch == 0 or random.random() < 0.1:
        indexes = random.sample(range(PARTITIONS), 3)
        offsets |= {index: after(reader.world, index, None) for index in indexes}
    reader.send(
        offsets,
        forget=(random.randrange(PARTITIONS),) if random.random() < 0.1 else (),
        max_wait_ms=random.choice([0, 0, 300, 3_000]),
        min_bytes=random.choice([1, 1, 200]),
        max_bytes=random.choice([1 << 20, 1 << 20, 100, 250]),
        isolation_level=random.choice([0] * 9 + [1]),
    )


def after(world: World, index: int, row: Struct | None) -> int:
    """Return the offset after the records of an answer, or the log start."""
    if row is not None and row.records:
        return end_of(row.records)
    partition = world.node.broker.replicas.get("t", index)
    return 0 if partition is None else partition.log.log_start_offset


def delete_records(world: World, index: int) -> None:
    """Delete everything in a partition, if it is there."""
    of = request_definition(ApiKey.DELETE_RECORDS)
    row = of.struct("DeleteRecordsPartition", partition_index=index, offset=-1)
    topic = of.struct("DeleteRecordsTopic", name="t", partitions=[row])
    world.call(ApiKey.DELETE_RECORDS, 1, PRODUCER, topics=[topic], timeout_ms=1000)


def vars_of(body: Struct) -> dict[str, Any]:
    return {"acks": body.acks, "timeout_ms": body.timeout_ms, "topic_data": body.topic_data}


def make_topic(world: World) -> None:
    """Create the topic unless it is there."""
    if "t" not in world.node.broker.image.topics:
        world.create_topic("t", PARTITIONS, retention_ms="200000")


@pytest.mark.parametrize("seed", range(12))
def test_reading_only_what_has_changed_answers_the_same_as_reading_all(seed: int) -> None:
    traces = []
    for reads_all in (False, True):
        world = World({"max.incremental.fetch.session.cache.slots": "3"}, seed=seed)
        if reads_all:
            read_all_of_each_session(world)
        make_topic(world)
        random = Random(seed)
        readers = [Reader(world, client) for client in range(1, CLIENTS + 1)]
        for _ in range(400):
            act(world, readers, random)
        traces.append(world.trace)
    assert traces[0] == traces[1]


class CountsReads(Rules):
    """The rules of Kafka, and the number of partitions read."""

    def __init__(self) -> None:
        self.reads = 0

    def fetch_offset(self, partition: Partition, params: Struct, connection: int) -> int:
        self.reads += 1
        return super().fetch_offset(partition, params, connection)


def test_a_session_of_many_partitions_reads_only_the_one_that_has_changed() -> None:
    world = World(rules=CountsReads)
    world.create_topic("t", 100)
    rules = world.node.broker.rules
    assert isinstance(rules, CountsReads)
    reader = Reader(world, 1)
    reader.fetch(dict.fromkeys(range(100), 0))
    reader.fetch({})
    rules.reads = 0
    reader.send({}, max_wait_ms=500)
    assert reader.waits_for is not None
    assert rules.reads == 0
    world.produce("t", "a", partition=70)
    reader.look()
    assert [row.partition_index for row in reader.rows] == [70]
    assert rules.reads == 1


def test_a_session_sees_a_transaction_when_it_is_decided() -> None:
    producer = begun()
    open_transaction(producer, "a")
    reader = Reader(producer.world, 7)
    committed: dict[str, Any] = {"isolation_level": READ_COMMITTED}
    reader.fetch({0: 0, 1: 0}, **committed)
    assert reader.fetch({}, **committed) == []
    reader.send({}, max_wait_ms=10_000, **committed)
    assert reader.waits_for is not None
    producer.end(commit=True)
    producer.world.settle()
    reader.look()
    assert [values_in(row.records) for row in reader.rows] == [["a"]]


def test_nothing_watches_for_a_session_that_is_gone() -> None:
    world = World()
    world.create_topic("t", 3)
    purgatory = world.node.broker.purgatory
    reader = Reader(world, 1)
    reader.fetch({0: 0, 1: 0})
    reader.fetch({})
    world.produce("t", "a", partition=1)
    reader.fetch({2: 0}, forget=(0, 1))
    for index in (0, 1):
        world.produce("t", "a", partition=index)
    reader.fetch({})
    assert list(purgatory.watched()) == [("t", 2)]
    reader.fetch({}, session_epoch=-1)
    assert not list(purgatory.watched())


def test_a_fetch_that_waits_outlives_its_session() -> None:
    world = World()
    world.create_topic("t", 2)
    reader, other = Reader(world, 1), Reader(world, 2)
    reader.fetch({0: 0, 1: 0})
    reader.send({}, max_wait_ms=500)
    other.id, other.epoch = reader.id, 0
    other.fetch({0: 0})  # a full request ends the session it names
    world.produce("t", "a", partition=1)
    reader.look()
    assert [values_in(row.records) for row in reader.rows] == [["a"]]


def test_the_partition_that_had_data_comes_last_the_next_time() -> None:
    world = World()
    world.create_topic("t", 3)
    reader = Reader(world, 1)
    reader.fetch(dict.fromkeys(range(3), 0))
    for index in (2, 1, 0):
        world.produce("t", "a" * 100, partition=index)
    served = []
    for _ in range(3):
        reader.fetch({}, max_bytes=100)
        served.append([row.partition_index for row in reader.rows if row.records])
    assert served == [[0], [1], [2]]


def at_the_end() -> tuple[World, Reader]:
    """Return a reader of two partitions, one of them with data, that has read all there is."""
    world = World()
    world.create_topic("t", 2, retention_ms="200000")
    for _ in range(5):
        world.produce("t", "a" * 100)
    reader = Reader(world, 1)
    reader.fetch({0: 5, 1: 0})
    assert reader.fetch({}) == []
    return world, reader


def test_a_session_is_told_of_deleted_records() -> None:
    world, reader = at_the_end()
    delete_records(world, 0)
    assert reader.fetch({}) == [0]
    assert [row.log_start_offset for row in reader.rows] == [5]
    assert reader.fetch({}) == []


def test_a_session_is_told_of_what_retention_deleted() -> None:
    world, reader = at_the_end()
    world.wait(400_000)
    assert reader.fetch({}) == [0]
    assert reader.rows[0].log_start_offset > 0


def test_a_waiting_session_is_told_of_a_deleted_topic() -> None:
    world, reader = at_the_end()
    reader.send({}, max_wait_ms=500)
    assert reader.waits_for is not None
    world.call(ApiKey.DELETE_TOPICS, 3, PRODUCER, topic_names=["t"], timeout_ms=1000)
    reader.look()
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [row.error_code for row in reader.rows] == [unknown, unknown]
    assert reader.fetch({}) == [0, 1], "errors are told each time"


def test_a_session_reads_again_what_the_client_goes_back_to() -> None:
    _, reader = at_the_end()
    assert reader.fetch({0: 3}) == [0]
    assert reader.fetch({0: 5}) == []


def test_a_session_reads_again_at_another_isolation_level() -> None:
    producer = begun()
    open_transaction(producer, "a")
    reader = Reader(producer.world, 7)
    reader.fetch({0: 0, 1: 0}, isolation_level=READ_COMMITTED)
    assert reader.fetch({}, isolation_level=READ_COMMITTED) == []
    assert reader.fetch({}, isolation_level=0) == [0]


def test_a_new_high_watermark_is_told_when_the_wait_is_over() -> None:
    world, reader = at_the_end()
    world.produce("t", "a")
    reader.send({0: 6}, max_wait_ms=500)
    assert reader.waits_for is not None
    world.wait(500)
    reader.look()
    assert [(row.partition_index, row.high_watermark) for row in reader.rows] == [(0, 6)]


def test_an_older_request_of_the_session_hides_nothing_from_a_newer_one() -> None:
    producer = begun()
    open_transaction(producer, "a")
    older, newer = Reader(producer.world, 7), Reader(producer.world, 8)
    older.fetch({0: 0, 1: 0}, isolation_level=READ_COMMITTED)
    older.send({}, isolation_level=READ_COMMITTED, max_wait_ms=10_000)
    newer.id, newer.epoch = older.id, older.epoch + 1
    newer.send({}, min_bytes=10_000, max_wait_ms=10_000)
    producer.world.produce("t", "b", partition=1)
    older.look()
    assert older.rows and newer.waits_for is not None
    producer.world.wait(10_000)
    newer.look()
    assert [values_in(row.records) for row in newer.rows] == [["a"], ["b"]]


def test_a_session_is_told_of_a_permission_that_is_gone() -> None:
    world = controlled()
    world.create_topic("orders", 2)  # by the admin
    create(world, entry())
    reader = Reader(world, ALICE, topic="orders")
    reader.fetch({0: 0, 1: 0})
    assert reader.fetch({}) == []
    delete(world, wanted())
    assert reader.fetch({}) == [0, 1]
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert [row.error_code for row in reader.rows] == [denied, denied]
    create(world, entry())
    assert reader.fetch({}) == [0, 1]
    assert not any(row.error_code for row in reader.rows)
