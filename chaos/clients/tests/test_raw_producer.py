"""Test the raw producer against a real broker process: which requests succeed, and which the broker
refuses."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

import pytest

from chaos.clients import payload
from chaos.clients.wire.admin import Admin
from chaos.clients.wire.operator import Operator
from chaos.clients.wire.raw import RawClient
from chaos.clients.wire.raw_producer import SEQUENCES, RawProducer
from chaos.means.real_world import REAL_WORLD, run
from chaos.targets import parse_target
from chaos.values.operations import (
    AskEnds,
    CommitAsFormer,
    FetchPositions,
    JoinAsStranger,
    LeaveOpen,
    RawSend,
    RejoinAsFormer,
    SendOffsets,
    SendOldMarker,
    Supersede,
)
from chaos.values.protocols import (
    Abort,
    Begin,
    ClientSettings,
    Cluster,
    Commit,
    Operation,
    Outcome,
    ReadAll,
    Record,
    TopicSpec,
)

NONCE = payload.nonce_of("test")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = parse_target("reference").start(tmp_path_factory.mktemp("cluster"), 1)
    yield started
    started.stop()


@pytest.fixture
def topic(request: pytest.FixtureRequest, cluster: Cluster) -> str:
    name = f"t-{crc32(request.node.name.encode())}"
    admin = Admin(REAL_WORLD, cluster.bootstrap)
    run(admin.create_topics([TopicSpec(name, 2)], 1, timeout_s=120.0))
    admin.close()
    return name


@pytest.fixture
def producer(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[RawProducer]:
    name = str(request.node.name) if "transaction" in request.node.name else None
    settings = ClientSettings(transactional=name is not None, transactional_id=name, raw=True)
    made = RawProducer(REAL_WORLD, cluster.bootstrap, settings, NONCE)
    yield made
    run(made.close())


def log(cluster: Cluster, topic: str, partition: int = 0) -> list[Record]:
    """Return the records of a partition, including control records."""
    client = RawClient(REAL_WORLD, cluster.bootstrap, NONCE)
    read = run(client.perform(ReadAll(((topic, partition),), raw=True)))
    run(client.close())
    assert read.outcome is Outcome.OK
    return [record for record in read.records if record.offset is not None]


def outcomes(producer: RawProducer, *operations: Operation) -> list[str]:
    """Perform operations. Return the outcome of each, with the error of a refused one."""
    ended = [run(producer.perform(operation)) for operation in operations]
    return [completion.error or completion.outcome.value for completion in ended]


def test_what_is_sent_again_is_written_once_and_sequences_wrap(
    cluster: Cluster, topic: str, producer: RawProducer
) -> None:
    first = SEQUENCES - 3
    for at, values in enumerate(((1, 2), (3, 4), (5, 6))):
        again = tuple(range(at + 1))
        send = RawSend(topic, 0, values, again=again, is_repeated=True, first_sequence=first)
        sent = run(producer.perform(send))
        assert [record.offset for record in sent.records] == [2 * at, 2 * at + 1]
    found = log(cluster, topic)
    assert [record.value for record in found] == [1, 2, 3, 4, 5, 6]
    assert [record.extra["sequence"] for record in found] == [first, first + 1, first + 2, 0, 1, 2]


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2), (2, 2)])
def test_a_new_batch_with_old_numbers_is_refused_and_changes_nothing(
    cluster: Cluster, topic: str, producer: RawProducer, sizes: tuple[int, int]
) -> None:
    first = RawSend(topic, 0, tuple(range(sizes[0])))
    old = RawSend(topic, 0, tuple(range(10, 10 + sizes[1])), overlaps=True)
    refused = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert outcomes(producer, first, old) == ["ok", refused]
    last = RawSend(topic, 0, (20,), resends_first=True)
    assert outcomes(producer, last) == ["ok"]
    found = [record.value for record in log(cluster, topic)]
    assert found == [*range(sizes[0]), 20]


def test_a_batch_of_one_behind_another_of_one_can_only_be_the_next(
    cluster: Cluster, topic: str, producer: RawProducer
) -> None:
    sends = [RawSend(topic, 0, (value,), overlaps=True) for value in (1, 2, 3)]
    assert outcomes(producer, *sends) == ["ok"] * 3
    assert [record.value for record in log(cluster, topic)] == [1, 2, 3]


@pytest.mark.parametrize("joins", [True, False])
def test_in_a_transaction_who_was_superseded_is_refused_everywhere(
    cluster: Cluster, topic: str, producer: RawProducer, joins: bool
) -> None:
    began = outcomes(producer, Begin(), RawSend(topic, 0, (1,)), Supersede())
    assert began == ["ok", "ok", "ok"]
    refused = outcomes(
        producer,
        RawSend(topic, 0, (2,), as_former=True, joins=joins),
        RawSend(topic, 1, (3,), as_former=True, joins=joins),
        CommitAsFormer(),
    )
    assert "ok" not in refused
    assert outcomes(producer, Begin(), RawSend(topic, 0, (4,)), Commit()) == ["ok"] * 3
    found = [(record.value, record.extra.get("control")) for record in log(cluster, topic)]
    assert found == [(1, None), (None, "abort"), (4, None), (None, "commit")]
    assert log(cluster, topic, 1) == []


def test_in_a_transaction_a_former_producer_gets_no_epoch_and_its_marker_ends_nothing(
    cluster: Cluster, topic: str, producer: RawProducer
) -> None:
    old = (SendOldMarker(topic, 0), RejoinAsFormer())
    assert outcomes(producer, *old) == ["_STATE", "_STATE"]  # no older producer was fenced
    began = outcomes(producer, Begin(), RawSend(topic, 0, (1,)), Supersede())
    assert [*began, *outcomes(producer, Begin(), RawSend(topic, 0, (2,)))] == ["ok"] * 5
    ended = outcomes(producer, SendOldMarker(topic, 0), Commit(), RejoinAsFormer())
    assert ended == ["INVALID_PRODUCER_EPOCH", "ok", "PRODUCER_FENCED"]
    found = [(record.value, record.extra.get("control")) for record in log(cluster, topic)]
    assert found == [(1, None), (None, "abort"), (2, None), (None, "commit")]


def test_positions_in_a_transaction_hold_once_it_is_committed(
    cluster: Cluster, topic: str, producer: RawProducer
) -> None:
    operator = Operator(REAL_WORLD, cluster.bootstrap, NONCE)
    fetch = FetchPositions("g", topic, (0,))
    for offset, end, then in ((5, Abort(), None), (7, Commit(), 7), (9, Abort(), 7)):
        assert outcomes(producer, Begin(), SendOffsets("g", topic, ((0, offset),))) == ["ok"] * 2
        assert run(operator.perform(fetch)).outcome is Outcome.FAIL  # it is not stable
        assert outcomes(producer, end) == ["ok"]
        assert [record.offset for record in run(operator.perform(fetch)).records] == [then]
    run(operator.close())


def test_each_idempotent_producer_tells_the_id_that_it_got(
    cluster: Cluster, topic: str, producer: RawProducer
) -> None:
    other = RawProducer(REAL_WORLD, cluster.bootstrap, ClientSettings(raw=True), NONCE)
    sent = [run(each.perform(RawSend(topic, 0, (1,)))) for each in (producer, other, producer)]
    run(other.close())
    told = [[(row["f"], row["producer_epoch"]) for row in each.more_rows] for each in sent]
    assert told == [[("init_producer", 0)], [("init_producer", 0)], []]
    assert sent[0].more_rows[0]["producer_id"] != sent[1].more_rows[0]["producer_id"]


def test_what_is_left_open_holds_up_readers_until_its_time_is_over(
    cluster: Cluster, topic: str
) -> None:
    operator = Operator(REAL_WORLD, cluster.bootstrap, NONCE)
    sent_ms = 1_700_000_000_000
    left = run(
        operator.perform(
            LeaveOpen(
                topic, 0, (1,), timestamps=(sent_ms,), transactional_id="open", timeout_ms=100
            )
        )
    )
    assert (left.outcome, left.broken) == (Outcome.OK, False)
    assert [row["transactional_id"] for row in left.more_rows] == ["open"]
    ends = [
        run(operator.perform(AskEnds(topic, 0, looks_up))).columns for looks_up in (False, True)
    ]
    assert [(each["high_watermark"], each["last_stable_offset"]) for each in ends] == [(1, 0)] * 2
    assert [each["node"] for each in ends] == [1, 1]
    # As the history says that it was sent.
    assert log(cluster, topic)[0].extra["timestamp_ms"] == sent_ms
    run(operator.close())


def test_in_a_transaction_nobody_goes_on_with_the_producer_id_of_another(cluster: Cluster) -> None:
    operator = Operator(REAL_WORLD, cluster.bootstrap, NONCE)
    for _ in range(2):
        asked = run(operator.perform(JoinAsStranger("stranger")))
        assert (asked.outcome, asked.error) == (Outcome.FAIL, "PRODUCER_FENCED")
        mine, first, theirs = asked.more_rows
        assert mine["producer_id"] != theirs["producer_id"] == first["producer_id"]
        assert mine["producer_epoch"] < theirs["producer_epoch"]
    run(operator.close())
