"""Records that stay too long, beside faults that keep a broker from deleting them."""

from __future__ import annotations

import json

import pytest

from linearizability.engine.opinion import MAX_ANOMALIES
from linearizability.guarantees.compaction.histories import BRIEF
from linearizability.guarantees.readable_partitions.histories import REFUSED, TRIES
from linearizability.guarantees.retention.histories import BY_SIZE, TIMED
from linearizability.hand_written.rows import LOG, LOOK_UP, SAYS, SECOND_NS, TOPIC, WHOLE, P, Row, S
from linearizability.history import F, frame
from linearizability.judging import check_frame
from linearizability.verdict import CheckerVerdict, Validity


def at(second: int) -> Row:
    return {"t_invoke_ns": second * SECOND_NS, "t_complete_ns": second * SECOND_NS}


def fault(name: str, second: int) -> Row:
    detail = json.dumps({"fault": name, "node": 1})
    return {"f": F.NEMESIS.value, "process": -1, "detail": detail} | at(second)


OVERDUE = SAYS(1, log_start=0, **at(90))


def said(*rows: Row) -> CheckerVerdict:
    return check_frame(frame([TOPIC(TIMED), S(1, 0, **at(1)), *rows])).checkers["retention"]


@pytest.mark.parametrize(
    "faults",
    [
        (),
        (fault("Kill", 91), fault("Heal", 92)),
        (fault("Kill", 0), fault("Heal", 0)),
        (fault("Heal", 50),),
        (fault("Kill", 0), fault("Heal", 0), fault("Heal", 50)),
    ],
    ids=["none", "later", "before", "a heal of nothing", "a second heal"],
)
def test_without_a_fault_meanwhile_it_is_invalid(faults: tuple[Row, ...]) -> None:
    assert said(*faults, OVERDUE).validity is Validity.INVALID


@pytest.mark.parametrize(
    "faults",
    [(fault("Pause", 20), fault("Heal", 30)), (fault("Kill", 80),)],
    ids=["healed", "lasting"],
)
def test_with_one_it_is_left_out_and_that_is_said(faults: tuple[Row, ...]) -> None:
    verdict = said(*faults, OVERDUE)
    assert (verdict.validity, verdict.excused, verdict.anomalies) == (Validity.VALID, 1, ())
    assert verdict.reason == "1 left out: a fault kept a broker from acting in time"


def test_anomalies_beyond_those_that_are_listed_are_excused_by_nobody() -> None:
    many = MAX_ANOMALIES + 1
    rows = [
        row | {"partition": place}
        for place in range(many)
        for row in (TOPIC(TIMED), S(1, 0, **at(1)), OVERDUE)
    ]
    verdict = said(*rows, fault("Pause", 20), fault("Heal", 30))
    assert (verdict.validity, verdict.excused) == (Validity.UNKNOWN, many)
    assert verdict.reason == (
        f"{MAX_ANOMALIES} left out: a fault kept a broker from acting in time; "
        "1 more are not listed, so they may be violations"
    )


@pytest.mark.parametrize("has_fault", [False, True])
def test_a_log_is_short_where_a_fault_may_have_taken_its_end(has_fault: bool) -> None:
    read = WHOLE(1, log_start=1, leader_epoch=0, size_bytes=99, **at(91))
    faults = *([fault("TornWrites", 20)] if has_fault else []), fault("Heal", 21)
    rows = [TOPIC(BY_SIZE), S(1, 0, **at(1)), *faults, read]
    verdict = check_frame(frame(rows)).checkers["retention"]
    assert verdict.validity is (Validity.VALID if has_fault else Validity.INVALID)


TOOK = fault("PowerLoss", 20), fault("Heal", 30)
TOOK_AGAIN = fault("PowerLoss", 50), fault("Heal", 60)
SHORT = WHOLE(1, log_start=1, leader_epoch=0, size_bytes=99, **at(91))


@pytest.mark.parametrize(
    ("before", "is_excused"),
    [
        ((*TOOK,), True),
        ((SAYS(1, log_start=0, **at(10)), *TOOK), True),
        ((*TOOK, SAYS(1, log_start=1, **at(40))), True),
        ((*TOOK, SAYS(1, log_start=0, **at(25))), True),
        ((*TOOK, SAYS(1, log_start=0, **at(40)), *TOOK_AGAIN), True),
        ((*TOOK, SAYS(1, log_start=0, **at(40))), False),
        ((*TOOK, WHOLE(1, log_start=1, leader_epoch=0, size_bytes=100, **at(40))), False),
        ((fault("Kill", 20), fault("Heal", 30)), False),
        ((fault("Isolate", 20),), False),
    ],
    ids=str,
)
def test_what_power_took_excuses_no_deletion_that_came_later(
    before: tuple[Row, ...], is_excused: bool
) -> None:
    rows = [TOPIC(BY_SIZE), S(1, 0, **at(1)), *before, SHORT]
    verdict = check_frame(frame(rows)).checkers["retention"]
    assert verdict.validity is (Validity.VALID if is_excused else Validity.INVALID)


@pytest.mark.parametrize(("asked", "is_excused"), [(117, True), (230, False)])
def test_a_fault_excuses_it_no_longer_than_brokers_need_afterwards(
    asked: int, is_excused: bool
) -> None:
    """Segments stay 60 + 10 + 1 + 5 s by these settings, and a broker looks 1 s after its start; a
    minute is left to recover: 137 s after the heal at second 50."""
    faults = fault("Kill", 45), fault("Heal", 50)
    verdict = said(*faults, SAYS(1, log_start=0, **at(asked)))
    assert verdict.validity is (Validity.VALID if is_excused else Validity.INVALID)


def test_what_cuts_clients_off_keeps_no_broker_from_deleting() -> None:
    faults = fault("CutClients", 20), fault("Heal", 30)
    assert said(*faults, OVERDUE).validity is Validity.INVALID


LATE_COMMIT = [
    {"f": F.INIT_PRODUCER.value, "process": 0, "settings": '{"transaction.timeout.ms": "10000"}'},
    {"f": F.BEGIN.value, "txn": 1},
    S(1, 0, txn=1),
]


@pytest.mark.parametrize(
    ("faults", "asked", "is_excused"),
    [
        ((), 40, False),
        ((fault("Kill", 10), fault("Heal", 20)), 40, True),
        ((fault("Kill", 10), fault("Heal", 20)), 99, True),
        ((fault("Kill", 10), fault("Heal", 20)), 101, False),
        ((fault("Kill", 10),), 101, True),
    ],
    ids=["none", "just now", "still", "long ago", "not healed"],
)
def test_a_transaction_times_out_some_time_after_a_fault(
    faults: tuple[Row, ...], asked: int, is_excused: bool
) -> None:
    begun = [row | at(1 + n) for n, row in enumerate(LATE_COMMIT)]
    rows = [*begun, *faults, {"f": F.COMMIT.value, "txn": 1} | at(asked)]
    opinion = check_frame(frame(rows)).checkers["hanging_transactions"]
    assert opinion.validity is (Validity.VALID if is_excused else Validity.INVALID)


def test_a_key_is_back_where_a_replica_was_away() -> None:
    kept = TOPIC(BRIEF)
    key: Row = {"key": "k"}
    rows = [kept, S(1, 0, **key, **at(1)), S(2, 1, tombstone=True, **key, **at(2))]
    read = LOG(1, None, **key, **at(90))
    for faults, validity in (
        ([], Validity.INVALID),
        ([fault("Kill", 20), fault("Heal", 30)], Validity.VALID),
    ):
        opinion = check_frame(frame([*rows, *faults, *read])).checkers["compaction"]
        assert opinion.validity is validity


@pytest.mark.parametrize(
    ("faults", "validity"),
    [
        ((), Validity.INVALID),
        ((fault("Isolate", 20),), Validity.VALID),
        ((fault("Isolate", 20), fault("Heal", 80)), Validity.VALID),
        ((fault("Isolate", 20), fault("Heal", 25)), Validity.INVALID),
        ((fault("CutClients", 20),), Validity.INVALID),
    ],
    ids=["none", "lasting", "just healed", "healed long ago", "of clients"],
)
def test_a_former_leader_may_find_nothing_by_time(
    faults: tuple[Row, ...], validity: Validity
) -> None:
    rows = [S(1, 0, **at(1)), *faults, LOOK_UP(None, 7, **at(90)), P(1, 0, **at(91), **AT_7)]
    verdict = check_frame(frame(rows)).checkers["poll_skips"]
    assert verdict.validity is validity


AT_7: Row = {"timestamp_ms": 7, "session": 1}


def test_what_else_was_found_stays() -> None:
    rows = (fault("Pause", 20), fault("Heal", 30), S(2, 1, **at(60)), OVERDUE)
    verdict = said(*rows, WHOLE(2, log_start=2, leader_epoch=0, **at(91)))
    assert verdict.validity is Validity.INVALID
    assert {each.kind for each in verdict.anomalies} == {"deleted-too-early"}


@pytest.mark.parametrize(
    ("name", "validity"),
    [
        ("Kill", Validity.INVALID),
        ("PowerLoss", Validity.INVALID),
        ("BitFlip", Validity.VALID),
        ("FailedSync", Validity.VALID),
    ],
)
def test_damaged_files_excuse_that_a_partition_cannot_be_read(
    name: str, validity: Validity
) -> None:
    rows = [fault(name, 1), fault("Heal", 2), *TRIES(*[REFUSED] * 30, {"type": "ok"}, partition=1)]
    rows += [row | {"t_invoke_ns": row["t_invoke_ns"] + 1} for row in TRIES(*[REFUSED] * 20)]
    assert check_frame(frame(rows)).checkers["readable_partitions"].validity is validity
