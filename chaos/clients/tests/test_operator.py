"""Test operations on topics and on committed offsets, against a real broker process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from chaos.clients import payload
from chaos.clients.confluent.client import ConfluentFactory
from chaos.clients.wire.admin import Admin
from chaos.clients.wire.operator import Operator, WithOperator, with_operator
from chaos.clients.wire.wire_link import WireCluster, check, insist
from chaos.means.real_world import REAL_WORLD, run
from chaos.targets import parse_target
from chaos.values.operations import (
    CommitPosition,
    DeletePositions,
    DeleteRecords,
    FetchPositions,
    Grow,
    Membership,
    ReadLatest,
    Recreate,
)
from chaos.values.protocols import (
    Client,
    ClientSettings,
    Cluster,
    Completion,
    Outcome,
    ReadAll,
    Send,
    TopicSpec,
)
from reference_impl.wire import ApiKey

NONCE = payload.nonce_of("test")
TOPIC = TopicSpec("of-the-operator", 1)
NAME = TOPIC.name


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = parse_target("reference").start(tmp_path_factory.mktemp("cluster"))
    try:
        admin = Admin(REAL_WORLD, started.bootstrap)
        run(admin.create_topics([TOPIC], 1, timeout_s=120.0))
        admin.close()
        run(coordinated(started.bootstrap))
        yield started
    finally:
        started.stop()


async def coordinated(bootstrap: str) -> None:
    """Wait until groups have a coordinator: the first request for one only creates its topic, and
    whichever test came first would meet that."""
    wire = WireCluster(REAL_WORLD, bootstrap)

    async def found() -> None:
        check((await wire.ask_any(ApiKey.FIND_COORDINATOR, key="g")).error_code, "FindCoordinator")

    await insist(REAL_WORLD, found, REAL_WORLD.monotonic() + 120.0)
    wire.close()


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    made = with_operator(ConfluentFactory)(REAL_WORLD, NONCE)(
        cluster.bootstrap, 0, ClientSettings()
    )
    assert isinstance(made, WithOperator)
    yield made
    run(made.close())


def test_a_topic_made_anew_has_another_id_and_nothing_of_the_old(client: Client) -> None:
    assert run(client.perform(Send(NAME, 0, (1, 2)))).outcome is Outcome.OK
    first, second = run(client.perform(Recreate(TOPIC))), run(client.perform(Recreate(TOPIC)))
    assert first.outcome is second.outcome is Outcome.OK
    assert first.columns["topic_id"] != second.columns["topic_id"]
    assert run(client.perform(Send(NAME, 0, (3,)))).records[0].offset == 0


def test_a_topic_that_is_not_there_is_made(client: Client) -> None:
    assert run(client.perform(Recreate(TopicSpec("new", 2)))).columns["topic_id"]


def test_a_topic_that_a_producer_makes_first_gets_all_its_partitions(
    client: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, delete = TopicSpec("made-first", 2), Operator._delete
    assert run(client.perform(Recreate(topic))).outcome is Outcome.OK
    admin = Admin(REAL_WORLD, cluster.bootstrap)

    async def delete_and_send(operator: Operator, topic_id: str) -> None:
        await delete(operator, topic_id)
        await admin.create_topics([replace(topic, partitions=1)], 1, timeout_s=30.0)

    monkeypatch.setattr(Operator, "_delete", delete_and_send)
    assert run(client.perform(Recreate(topic))).outcome is Outcome.OK
    assert run(admin.why_not_well([topic], 1)) is None
    admin.close()


def test_a_topic_grows_and_a_second_request_changes_nothing(
    client: Client, cluster: Cluster
) -> None:
    topic = TopicSpec("growing", 3, at_first=1)
    admin = Admin(REAL_WORLD, cluster.bootstrap)
    run(admin.create_topics([topic], 1, timeout_s=30.0))
    assert run(admin.why_not_well([replace(topic, at_first=None)], 1)) == "growing-1 has no leader"
    for _ in range(2):
        assert run(client.perform(Grow(topic))).outcome is Outcome.OK
        assert run(admin.why_not_well([replace(topic, at_first=None)], 1)) is None
    admin.close()


def test_what_lies_below_an_offset_is_deleted_and_no_more(client: Client) -> None:
    run(client.perform(Recreate(TOPIC)))
    run(client.perform(Send(NAME, 0, (1, 2, 3, 4))))
    deleted = run(client.perform(DeleteRecords(NAME, 0, 3)))
    assert (deleted.outcome, deleted.columns["log_start"]) == (Outcome.OK, 3)
    below = deleted.columns["asked"], deleted.columns["asked_offset"]
    assert below == ("refused", 2)
    whole = run(client.perform(ReadAll(((NAME, 0),))))
    assert [record.value for record in whole.records if record.offset is not None] == [4]
    everything = run(client.perform(DeleteRecords(NAME, 0, None)))
    assert everything.columns["log_start"] == 4


def test_more_than_there_is_cannot_be_deleted(client: Client) -> None:
    run(client.perform(Recreate(TOPIC)))
    refused = run(client.perform(DeleteRecords(NAME, 0, 99)))
    assert (refused.outcome, refused.error) == (Outcome.FAIL, "OFFSET_OUT_OF_RANGE")


def test_a_group_finds_what_was_committed_and_nothing_where_nothing_was(client: Client) -> None:
    run(client.perform(Recreate(TopicSpec("positions", 2))))
    for offset in (7, 5):
        assert (
            run(client.perform(CommitPosition("g", "positions", 0, offset))).outcome is Outcome.OK
        )
    found = run(client.perform(FetchPositions("g", "positions", (0, 1))))
    assert [(record.partition, record.offset) for record in found.records] == [(0, 5), (1, None)]


def test_positions_of_two_topics_are_committed_and_asked_for_at_once(client: Client) -> None:
    for name in ("positions", "others"):
        run(client.perform(Recreate(TopicSpec(name, 1))))
    commit = CommitPosition("two", "positions", 0, 7, beside=(("others", 0, 8),))
    done = run(client.perform(commit))
    assert [(each.topic, each.outcome) for each in done.records] == [
        ("positions", Outcome.OK),
        ("others", Outcome.OK),
    ]
    found = run(client.perform(FetchPositions("two", "others", (0,), ("positions",)))).records
    assert {record.topic: record.offset for record in found} == {"positions": 7, "others": 8}
    assert {record.extra["detail"] for record in found} == {
        record.extra["detail"] for record in done.records
    }


def test_one_position_of_a_request_may_fail_alone(client: Client) -> None:
    run(client.perform(Recreate(TopicSpec("positions", 1))))
    done = run(client.perform(CommitPosition("k", "positions", 0, 7, beside=(("missing", 0, 8),))))
    assert done.outcome is Outcome.INFO
    assert [each.outcome for each in done.records] == [Outcome.OK, Outcome.INFO]


@pytest.mark.parametrize("whole_group", [False, True])
def test_deleted_positions_are_gone_and_the_others_stay(client: Client, whole_group: bool) -> None:
    run(client.perform(Recreate(TopicSpec("positions", 2))))
    group = f"deleted-{whole_group}"
    for partition in (0, 1):
        run(client.perform(CommitPosition(group, "positions", partition, 7)))
    places = (("positions", 0), ("positions", 1))[: 2 if whole_group else 1]
    deleted = run(client.perform(DeletePositions(group, places, whole_group)))
    assert (deleted.outcome, len(deleted.records)) == (Outcome.OK, len(places))
    found = run(client.perform(FetchPositions(group, "positions", (0, 1)))).records
    assert [record.offset for record in found] == [None, None if whole_group else 7]


@pytest.mark.parametrize("whole_group", [False, True])
def test_a_group_that_is_not_there_cannot_be_deleted(client: Client, whole_group: bool) -> None:
    refused = run(client.perform(DeletePositions("strangers", (("positions", 0),), whole_group)))
    assert (refused.outcome, refused.error) == (Outcome.FAIL, "GROUP_ID_NOT_FOUND")


def test_who_is_no_member_is_refused_before_anything_is_written(client: Client) -> None:
    run(client.perform(Recreate(TopicSpec("positions", 1))))
    run(client.perform(CommitPosition("h", "positions", 0, 5)))
    for member in (Membership("nobody", 1), Membership("nobody", 1, "instance")):
        refused = run(client.perform(CommitPosition("h", "positions", 0, 7, member)))
        assert (refused.outcome, refused.error) == (Outcome.FAIL, "UNKNOWN_MEMBER_ID")
    (found,) = run(client.perform(FetchPositions("h", "positions", (0,)))).records
    assert found.offset == 5


def test_the_latest_record_is_the_last_that_was_acknowledged(client: Client) -> None:
    run(client.perform(Recreate(TOPIC)))
    assert run(client.perform(ReadLatest(NAME, 0))) == Completion(Outcome.OK)
    run(client.perform(Send(NAME, 0, (1, 2))))
    (record,) = run(client.perform(ReadLatest(NAME, 0))).records
    assert (record.value, record.offset) == (2, 1)


def test_without_a_broker_a_deletion_is_unknown_and_a_question_has_failed() -> None:
    operator = Operator(REAL_WORLD, "127.0.0.1:1", NONCE)
    assert run(operator.perform(DeleteRecords("t", 0, 1))).outcome is Outcome.INFO
    assert run(operator.perform(FetchPositions("g", "t", (0,)))).outcome is Outcome.FAIL
    assert (
        run(operator.perform(CommitPosition("g", "t", 0, 1))).outcome is Outcome.FAIL
    )  # never sent
    assert run(operator.perform(DeletePositions("g", (("t", 0),)))).outcome is Outcome.FAIL
    run(operator.close())
