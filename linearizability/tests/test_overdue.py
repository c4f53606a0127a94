"""Records that stay too long, beside faults that keep a broker from deleting them."""

from __future__ import annotations

import json

import pytest

from linearizability.hand_written.kept_logs import BY_SIZE, SECOND_NS, TIMED
from linearizability.hand_written.rows import SAYS, TOPIC, WHOLE, Row, S
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
    [(), (fault("Kill", 91), fault("Heal", 92)), (fault("Kill", 0), fault("Heal", 0))],
    ids=["none", "later", "before"],
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
    assert verdict.reason == "1 left out: faults kept a broker from acting in time"


@pytest.mark.parametrize("has_fault", [False, True])
def test_a_log_is_short_where_a_fault_may_have_taken_its_end(has_fault: bool) -> None:
    read = WHOLE(1, log_start=1, leader_epoch=0, size_bytes=99, **at(91))
    faults = (fault("TornWrites", 20), fault("Heal", 21)) if has_fault else ()
    rows = [TOPIC(BY_SIZE), S(1, 0, **at(1)), *faults, read]
    verdict = check_frame(frame(rows)).checkers["retention"]
    assert verdict.validity is (Validity.VALID if has_fault else Validity.INVALID)


def test_what_else_was_found_stays() -> None:
    rows = (fault("Pause", 20), fault("Heal", 30), S(2, 1, **at(60)), OVERDUE)
    verdict = said(*rows, WHOLE(2, log_start=2, leader_epoch=0, **at(91)))
    assert verdict.validity is Validity.INVALID
    assert {each.kind for each in verdict.anomalies} == {"deleted-too-early"}
