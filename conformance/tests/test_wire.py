"""A case on several brokers finds leaders and coordinators, and waits until every broker knows a
topic."""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import pytest

from conformance import patience
from conformance.case import Deviation
from conformance.cases.admin.test_create_topics import creatable, create
from conformance.clients.members import MIN_SESSION_TIMEOUT_MS, beside, coordinator
from conformance.connection import CLOSED, CLOSED_S, Connection
from conformance.patience import LEAST_AT_ONCE_S, LEAST_AWAITED_S, PATIENCE, RETURN_S_MAX
from conformance.target import restarts
from conformance.target.examination import advertised_versions
from conformance.target.restarts import is_led_again, restarting
from conformance.tests.fake import Answer, FakeKafka, piece, response
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import ErrorCode, Struct

TOPIC = Topic("led-by-others", uuid.uuid4(), 2)
LEADERS = (2, 1)
"""The leader of each partition; the bootstrap broker is 1."""


@dataclass
class Pair:
    """Two brokers with the same metadata, but the second knows the topic only after some
    requests."""

    late: int = 0
    asked: list[int] = field(default_factory=list)
    created: list[Struct] = field(default_factory=list)
    may_create: set[bool] = field(default_factory=set)
    least_replicas: int = 1
    lagging: int = 0
    """The number of replicas of each partition that are not in sync."""
    brokers: list[FakeKafka] = field(default_factory=list)

    def __post_init__(self) -> None:
        for node_id in (1, 2):
            answers: dict[str, Answer] = {
                "Metadata": partial(self.metadata, node_id),
                "FindCoordinator": self.find_coordinator,
                "CreateTopics": self.create,
                "Fetch": self.fetch,
            }
            self.brokers.append(FakeKafka(answers))

    def metadata(self, node_id: int, _version: int, asked: Struct) -> Struct:
        brokers = [
            piece("Metadata", "MetadataResponseBroker", node_id=at, host=host, port=port)
            for at, (host, port) in enumerate((b.address for b in self.brokers), start=1)
        ]
        topics = [self.described(node_id, topic.name) for topic in asked.topics]
        if topics:
            self.may_create.add(asked.allow_auto_topic_creation)
        return response("Metadata", brokers=brokers, topics=topics)

    def described(self, node_id: int, name: str) -> Struct:
        self.asked.append(node_id)
        if node_id == 2 and self.asked.count(2) <= self.late:
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return piece("Metadata", "MetadataResponseTopic", name=name, error_code=unknown)
        partitions = [
            piece(
                "Metadata",
                "MetadataResponsePartition",
                partition_index=index,
                leader_id=leader,
                replica_nodes=[leader, *range(7, 7 + self.lagging)],
                isr_nodes=[leader],
            )
            for index, leader in enumerate(LEADERS)
        ]
        return piece(
            "Metadata", "MetadataResponseTopic", name=name, topic_id=TOPIC.id, partitions=partitions
        )

    def find_coordinator(self, _version: int, asked: Struct) -> Struct:
        """Answer by the number at the end of the key."""
        (key,) = asked.coordinator_keys
        number = int(key.rpartition("-")[2]) % 2
        host, port = self.brokers[number].address
        found = piece("FindCoordinator", "Coordinator", key=key, host=host, port=port)
        return response("FindCoordinator", coordinators=[found])

    def create(self, _version: int, asked: Struct) -> Struct:
        self.created += asked.topics
        made = [
            piece(
                "CreateTopics",
                "CreatableTopicResult",
                name=topic.name,
                error_code=self.refusal(topic),
                num_partitions=2,
                replication_factor=self.least_replicas,
            )
            for topic in asked.topics
        ]
        return response("CreateTopics", topics=made)

    def refusal(self, topic: Struct) -> int:
        """Return POLICY_VIOLATION for a topic with too few replicas, else 0."""
        placed = [len(each.broker_ids) for each in topic.assignments]
        few = min(placed or [topic.replication_factor]) in range(1, self.least_replicas)
        return ErrorCode.POLICY_VIOLATION if few else 0

    def fetch(self, _version: int, asked: Struct) -> Struct:
        (topic,) = asked.topics
        partition = piece("Fetch", "PartitionData", partition_index=topic.partitions[0].partition)
        entry = piece(
            "Fetch", "FetchableTopicResponse", topic_id=topic.topic_id, partitions=[partition]
        )
        return response("Fetch", responses=[entry])


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    for broker in made.brokers:
        broker.stop()


def wire_to(pair: Pair) -> Wire:
    bootstrap = pair.brokers[0].bootstrap
    return Wire(bootstrap, advertised_versions(bootstrap))


def test_requests_go_to_the_leader_and_create_nothing(pair: Pair) -> None:
    wire, (first, second) = wire_to(pair), pair.brokers
    assert wire.leader(TOPIC, 0).socket.getpeername() == second.address
    assert wire.leader(TOPIC, 1).socket.getpeername() == first.address
    assert wire.leader(TOPIC, 7).socket.getpeername() == first.address  # nobody: any will do
    assert wire.connect_to_leader(TOPIC).socket.getpeername() == second.address
    assert pair.may_create == {False}
    wire.close()


def test_a_topic_is_waited_for_on_every_broker(pair: Pair) -> None:
    pair.late = 3
    wire = wire_to(pair)
    assert wire.create_topic(2, name=TOPIC.name) == TOPIC
    assert pair.asked.count(2) == pair.late + 1
    wire.close()


def test_partitions_are_put_on_one_broker_where_a_case_asks_for_it(pair: Pair) -> None:
    wire = wire_to(pair)
    wire.create_topic(2, name=TOPIC.name, on_one_broker=True)
    (created,) = pair.created
    assert [(a.partition_index, a.broker_ids) for a in created.assignments] == [(0, [1]), (1, [1])]
    assert (created.num_partitions, created.replication_factor) == (-1, -1)
    assert wire.home() == pair.brokers[0].address
    wire.close()


def test_a_cluster_that_demands_more_replicas_gets_them_led_by_the_same_broker(pair: Pair) -> None:
    pair.least_replicas = 2
    wire = wire_to(pair)
    wire.create_topic(2, name=TOPIC.name, on_one_broker=True)
    created = pair.created[-1]
    assert [each.broker_ids for each in created.assignments] == [[1, 2], [1, 2]]
    wire.close()


@pytest.mark.parametrize(("version", "replicas"), [(2, 2), (7, -1)])
def test_a_case_that_creates_topics_asks_for_as_many_replicas_as_are_demanded(
    pair: Pair, version: int, replicas: int
) -> None:
    pair.least_replicas = 2
    wire = wire_to(pair)
    assert create(wire, version, creatable("two", partitions=2))["two"].error_code == ErrorCode.NONE
    assert [topic.replication_factor for topic in pair.created] == [1, replicas]
    wire.close()


def test_a_restart_is_over_when_all_replicas_are_in_sync(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader alone refuses a Produce where min.insync.replicas is 2. A target that was too late
    once is not waited for as long again."""
    wire, epochs = wire_to(pair), [-2, -2]
    assert is_led_again(wire, TOPIC, epochs)
    pair.lagging = 1
    assert not is_led_again(wire, TOPIC, epochs)
    monkeypatch.setattr(restarts, "LED_AGAIN_S", 0.4)
    monkeypatch.setattr(patience, "LEAST_AWAITED_S", 0.1)
    PATIENCE.forget()
    for waited_s in (0.4, 0.1):
        with (
            pytest.raises(Deviation, match=f"expected within {waited_s} s"),
            restarting(wire, TOPIC),
        ):
            pass
    wire.close()
    PATIENCE.forget()


def test_a_restart_is_over_too_when_the_leader_has_kept_its_epoch_for_long(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then a newer epoch may follow: the controller has not noticed yet."""
    wire = wire_to(pair)
    assert not is_led_again(wire, TOPIC, restarts.leader_epochs(wire, TOPIC))
    monkeypatch.setattr(restarts, "KEPT_S", 0.5)
    began = time.monotonic()
    with restarting(wire, TOPIC):
        pass
    assert time.monotonic() - began > 0.5
    wire.close()
    PATIENCE.forget()


def test_after_a_slow_restart_a_state_is_waited_for_as_long() -> None:
    """A busy machine that starts the target for long loads its data for long."""
    attempts = 0

    def attempt() -> int:
        nonlocal attempts
        attempts += 1
        return attempts

    with pytest.raises(Deviation, match=r"within 0\.001 s"):
        eventually(attempt, lambda found: found == 5, "five", 0.001)
    PATIENCE.note_return(60.0)
    try:
        assert eventually(attempt, lambda found: found == 9, "nine", 0.001) == 9
        PATIENCE.note_return(1e9)
        assert PATIENCE.settling_s(20.0) == RETURN_S_MAX
    finally:
        PATIENCE.forget()
    assert PATIENCE.settling_s(20.0) == 20.0


def test_a_state_that_never_came_is_waited_for_more_briefly_until_it_comes() -> None:
    """A target that cannot do a thing would otherwise cost the whole time in every case."""
    never, other = "the group touchstone-00ff-case-7 becomes Empty", "another state"
    PATIENCE.forget()
    try:
        PATIENCE.note_missed(never)
        again = never.replace("00ff-case-7", "00ff-case-8")
        assert PATIENCE.awaited_s(again, 60.0) == 15.0
        assert PATIENCE.awaited_s(other, 60.0) == 60.0
        PATIENCE.note_missed(again)
        assert PATIENCE.awaited_s(again, 60.0) == LEAST_AWAITED_S
        assert PATIENCE.awaited_s(again, 1.0) == 1.0
        PATIENCE.note_return(60.0)
        assert PATIENCE.awaited_s(again, 60.0) == 60.0, "a slow restart is reason to wait"
        PATIENCE.note_return(0.0)
        assert eventually(lambda: 1, bool, again) == 1
        assert PATIENCE.awaited_s(never, 60.0) == 60.0
    finally:
        PATIENCE.forget()


def test_a_state_that_takes_its_time_is_never_awaited_too_briefly() -> None:
    """A correct target that was once late, on a busy machine, must not fail all later cases."""
    state = "the group has 0 members"  # the end of a session
    PATIENCE.forget()
    try:
        for _ in range(9):
            PATIENCE.note_missed(state)
        assert PATIENCE.awaited_s(state, 20.0) > MIN_SESSION_TIMEOUT_MS / 1000 + 3
    finally:
        PATIENCE.forget()


def test_a_case_waits_more_briefly_for_what_it_missed_whatever_others_reach() -> None:
    """As when it runs in the next version of its API."""
    state = "the group has 1 members"
    PATIENCE.forget()
    try:
        PATIENCE.begin("a case")
        PATIENCE.note_missed(state)
        PATIENCE.begin("another case")
        assert PATIENCE.awaited_s(state, 20.0) == LEAST_AWAITED_S
        PATIENCE.note_reached(state)
        assert PATIENCE.awaited_s(state, 20.0) == 20.0
        PATIENCE.begin("a case")
        PATIENCE.note_reached(state)
        waited_s = PATIENCE.awaited_s(state, 20.0)
        assert waited_s == LEAST_AWAITED_S, "its beginning may reach what its end misses"
    finally:
        PATIENCE.forget()


def waited_at_once(state: str) -> float:
    """Return how long a state is awaited that follows from a change by itself."""
    return PATIENCE.awaited_s(state, 20.0, PATIENCE.least_at_once_s())


def test_what_never_comes_at_once_is_awaited_as_briefly_as_the_target_is_fast() -> None:
    """A broker without client metrics cost 10 s in each of eleven runs."""
    state = "the metrics of the subscription are asked for"
    PATIENCE.forget()
    try:
        assert eventually(lambda: 1, bool, "a topic becomes visible", at_once=True) == 1
        assert waited_at_once(state) == 20.0, "the first time it gets the whole time"
        PATIENCE.note_missed(state)
        assert waited_at_once(state) == 5.0
        PATIENCE.note_missed(state)
        assert waited_at_once(state) == LEAST_AT_ONCE_S
        assert PATIENCE.awaited_s(state, 20.0) == LEAST_AWAITED_S, "others may need a session's end"
    finally:
        PATIENCE.forget()


def test_a_slow_target_is_awaited_five_times_what_its_slowest_change_took() -> None:
    state = "cleanup.policy becomes compact"
    PATIENCE.forget()
    try:
        for _ in range(9):
            PATIENCE.note_missed(state)
        PATIENCE.note_at_once(3.0)
        PATIENCE.note_at_once(0.1)
        assert waited_at_once(state) == 15.0
        PATIENCE.note_at_once(9.0)
        assert waited_at_once(state) == 20.0
    finally:
        PATIENCE.forget()
    assert PATIENCE.least_at_once_s() == LEAST_AT_ONCE_S


def test_connections_that_stay_open_are_waited_for_more_briefly_until_one_is_closed() -> None:
    near, far = socket.socketpair()
    PATIENCE.forget()
    try:
        open_to_fake = Connection.__new__(Connection)
        open_to_fake.socket = near
        with near, far:
            assert not open_to_fake.is_closed_by_peer(0.01)
            assert PATIENCE.awaited_s(CLOSED, CLOSED_S) == CLOSED_S, "the case chose that time"
            PATIENCE.note_missed(CLOSED)
            PATIENCE.note_missed(CLOSED)
            began = time.monotonic()
            assert not open_to_fake.is_closed_by_peer()
            assert time.monotonic() - began < CLOSED_S
            far.close()
            assert open_to_fake.is_closed_by_peer()
        assert PATIENCE.awaited_s(CLOSED, CLOSED_S) == CLOSED_S
    finally:
        PATIENCE.forget()


def test_an_awaited_state_that_does_not_come_is_remembered() -> None:
    PATIENCE.forget()
    try:
        with pytest.raises(Deviation, match=r"within 0\.001 s"):
            eventually(lambda: 0, bool, "a miracle", 0.001)
        assert PATIENCE.awaited_s("a miracle", 20.0) == LEAST_AWAITED_S
    finally:
        PATIENCE.forget()


def test_a_group_beside_another_has_the_same_coordinator(pair: Pair) -> None:
    wire = wire_to(pair)
    for group in ("group-1", "group-2"):
        for _ in range(3):
            assert coordinator(wire, beside(wire, group)) == coordinator(wire, group)
    wire.close()
