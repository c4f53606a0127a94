"""Administrators' requests about transactions (KIP-664)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.case import case, expect, expect_that
from conformance.clients.members import NOT_YET, TRANSACTION, beside
from conformance.clients.transactions import Producer
from conformance.target.clock import now_ms
from conformance.target.variants import SHORT_LIVED
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode, Struct


def described(producer: Producer, version: int, name: str | None = None) -> Struct:
    """Return the answer of DescribeTransactions about one transactional id."""
    asked = producer.transactional_id if name is None else name
    answer = producer.connection.call("DescribeTransactions", version, transactional_ids=[asked])
    expect([t.transactional_id for t in answer.transaction_states], [asked], "ids described")
    return answer.transaction_states[0]  # type: ignore[no-any-return]


def ask_to_list(producer: Producer, version: int, **filters: Any) -> Struct:
    """Return the answer of the producer's coordinator to ListTransactions, once it loads
    nothing."""
    return eventually(  # type: ignore[no-any-return]
        lambda: producer.connection.call("ListTransactions", version, **filters),
        lambda answer: answer.error_code not in NOT_YET,
        "ListTransactions is served",
    )


def listed(producer: Producer, version: int, **filters: Any) -> dict[str, str]:
    """Return the state of each transactional id at the producer's coordinator that passes the
    filters."""
    answer = ask_to_list(producer, version, **filters)
    expect(answer.error_code, ErrorCode.NONE, "ListTransactions error")
    return {t.transactional_id: t.transaction_state for t in answer.transaction_states}


@case("TXN-51", "DescribeTransactions", spec="KIP-664, DescribeTransactions", priority="P1")
def test_a_transaction_is_described(wire: Wire, version: int) -> None:
    """DescribeTransactions returns the producer id, epoch, time-out and state; the start time and
    the partitions only while the transaction is open."""
    before_ms = now_ms(wire)
    other, topic = Producer.ready(wire), wire.create_topic(2)
    producer = other.another()  # the first producer id of a new broker may be 0, as the first epoch
    producer.init(timeout_ms=54_321)
    idle = described(producer, version)
    expect(
        (idle.error_code, idle.transaction_state, idle.transaction_timeout_ms),
        (0, "Empty", 54_321),
        "(error, state, time-out) before",
    )
    expect(
        (idle.producer_id, idle.producer_epoch),
        (producer.producer_id, producer.epoch),
        "(producer id, epoch)",
    )
    expect((idle.transaction_start_time_ms, list(idle.topics)), (-1, []), "(start, topics) before")
    producer.add(topic, 0, 1)
    ongoing = described(producer, version)
    expect(ongoing.transaction_state, "Ongoing", "state while it is open")
    found = [(t.topic, sorted(t.partitions)) for t in ongoing.topics]
    expect(found, [(topic.name, [0, 1])], "its partitions")
    started_ms = ongoing.transaction_start_time_ms
    expect_that(
        before_ms - 60_000 <= started_ms <= before_ms + 600_000, "start", "about now", started_ms
    )
    producer.commit()
    ended = eventually(
        lambda: described(producer, version),
        lambda found: found.transaction_state == "CompleteCommit",
        "the transaction is complete",
    )
    expect(list(ended.topics), [], "its partitions afterwards")


@case("TXN-51", "DescribeTransactions", spec="KIP-664, DescribeTransactions", priority="P1")
def test_an_unknown_transactional_id_is_not_found(wire: Wire, version: int) -> None:
    """An id that does not exist gets TRANSACTIONAL_ID_NOT_FOUND (105)."""
    producer = Producer.ready(wire)
    found = described(producer, version, beside(wire, producer.transactional_id, TRANSACTION))
    expect(found.error_code, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, "error")


@case("TXN-52", "ListTransactions", spec="KIP-664, ListTransactions", priority="P1")
def test_transactions_are_listed_by_state_and_producer(wire: Wire, version: int) -> None:
    """ListTransactions without filters lists every transactional id with its state; filters of
    state and producer id leave those that pass both."""
    idle, topic = Producer.ready(wire), wire.create_topic()
    ongoing = idle.another()
    ongoing.add(topic, 0)
    names = {idle.transactional_id: "Empty", ongoing.transactional_id: "Ongoing"}
    everything = listed(idle, version)
    expect({name: everything.get(name) for name in names}, names, "states")
    running = listed(idle, version, state_filters=["Ongoing"])
    expect([name in running for name in names], [False, True], "listed as Ongoing")
    mine = listed(idle, version, producer_id_filters=[idle.producer_id])
    expect(mine, {idle.transactional_id: "Empty"}, "listed by producer id")
    none = listed(idle, version, producer_id_filters=[idle.producer_id], state_filters=["Ongoing"])
    expect(none, {}, "listed by both filters")


@case("TXN-52", "ListTransactions", spec="KIP-664, ListTransactions", priority="P1")
def test_an_unknown_state_is_named(wire: Wire, version: int) -> None:
    """A state that does not exist is given back in unknown_state_filters, and lists nothing."""
    answer = ask_to_list(Producer.ready(wire), version, state_filters=["Bogus"])
    expect(
        (answer.error_code, list(answer.unknown_state_filters)),
        (0, ["Bogus"]),
        "(error, unknown states)",
    )
    expect(list(answer.transaction_states), [], "transactions")
    # No transaction is ever in this state, and yet it is one (class TransactionState).
    told = ask_to_list(Producer.ready(wire), version, state_filters=["PrepareEpochFence"])
    expect(list(told.unknown_state_filters), [], "unknown states with PrepareEpochFence")


@case("TXN-52", "ListTransactions", versions=(1, 2), spec="KIP-994", priority="P1")
def test_transactions_are_listed_by_duration(wire: Wire, version: int) -> None:
    """From v1 on a duration filter leaves the transactions that run longer than that many
    milliseconds; -1 leaves all."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.add(topic, 0)
    name = producer.transactional_id
    expect(name in listed(producer, version, duration_filter=3_600_000), False, "listed beyond 1 h")
    expect(name in listed(producer, version, duration_filter=-1), True, "listed without a limit")
    eventually(
        lambda: name in listed(producer, version, duration_filter=50),
        bool,
        "it is listed as older than 50 ms",
    )


@case("TXN-52", "ListTransactions", versions=(2, 2), spec="KIP-1152", priority="P1")
def test_transactions_are_listed_by_pattern(wire: Wire, version: int) -> None:
    """From v2 on a pattern must match the whole transactional id; null and the empty pattern match
    all."""
    first = Producer.ready(wire)
    second = first.another()
    name, other = first.transactional_id, second.transactional_id
    for pattern, expected in (
        (name, [True, False]),
        (name[:-1] + ".", [True, other[:-1] == name[:-1]]),
        (name[:-1], [False, False]),
        (".*", [True, True]),
        ("", [True, True]),
        (None, [True, True]),
    ):
        found = listed(first, version, transactional_id_pattern=pattern)
        expect([name in found, other in found], expected, f"listed by {pattern!r}")


@pytest.mark.parametrize("pattern", ["(", "[a", "*"])
@case("TXN-52", "ListTransactions", versions=(2, 2), spec="KIP-1152", priority="P1")
def test_a_broken_pattern_is_refused(wire: Wire, version: int, pattern: str) -> None:
    """A pattern that is no regular expression gets INVALID_REGULAR_EXPRESSION (128)."""
    answer = ask_to_list(Producer.ready(wire), version, transactional_id_pattern=pattern)
    expect(answer.error_code, ErrorCode.INVALID_REGULAR_EXPRESSION, "error")


@case("TXN-51", "DescribeTransactions", spec="KIP-664, DescribeTransactions", priority="P1")
def test_a_producer_that_begins_anew_has_no_transaction(wire: Wire, version: int) -> None:
    """After another InitProducerId, DescribeTransactions returns the start time -1 and no
    partitions: the last transaction is over."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.add(topic)
    producer.send(topic, b"a")
    producer.commit()
    producer.init()
    found = described(producer, version)
    expect((found.transaction_start_time_ms, found.topics), (-1, []), "(start time, topics)")


@case(
    "TXN-54",
    "DescribeTransactions",
    spec="KIP-98, transactional.id.expiration.ms",
    priority="P1",
    config=SHORT_LIVED,
)
def test_the_transactional_id_of_an_open_transaction_is_not_forgotten(
    wire: Wire, version: int
) -> None:
    """A transactional id whose transaction is open is known however long it does nothing, and the
    transaction can be committed. One that is idle since later and has no transaction is forgotten
    meanwhile: DescribeTransactions of it answers TRANSACTIONAL_ID_NOT_FOUND."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.add(topic)
    idle = Producer.ready(wire)
    eventually(
        lambda: described(idle, version).error_code,
        lambda error: error == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        "the idle transactional id is forgotten",
    )
    expect(described(producer, version).transaction_state, "Ongoing", "state of the other")
    producer.send(topic, b"a")
    producer.commit()
