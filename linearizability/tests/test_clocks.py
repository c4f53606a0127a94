"""Where a history says that brokers' clocks were moved, what they delete by them is no proof."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from linearizability.checkers.tests.rows import RAW, TOPIC, WHOLE, P, Row, S
from linearizability.clocks import EXCUSED_FROM_MS, clock_faults, moved_by
from linearizability.history import F, frame
from linearizability.judging import check_frame
from linearizability.verdict import Validity

DAY_MS = 24 * 60 * 60 * 1000
LATE = {"t_invoke_ns": 10**12, "t_complete_ns": 10**12}
DELETED = [S(1, 0), WHOLE(1, log_start=1, **LATE)]


def fault(name: str, **more: Any) -> Row:
    detail = json.dumps({"fault": name, "node": 1} | more)
    return {"f": F.NEMESIS.value, "process": -1, "detail": detail}


JUMP, SKEW = fault("ClockJump", by_ms=-60_000), fault("ClockSkew", ppm=1_000)
TWICE = [S(1, 0), P(1, 0), RAW(1, 0), RAW(1, 4)]


def said(rows: list[Row], checker: str) -> tuple[Validity, str | None]:
    verdict = check_frame(frame(rows))
    assert verdict.validity is verdict.checkers[checker].validity
    return verdict.checkers[checker].validity, verdict.checkers[checker].reason


@pytest.mark.parametrize("moved", [JUMP, SKEW, fault("ClockJump")], ids=str)
def test_what_is_deleted_by_a_moved_clock_is_unknown_and_says_why(moved: Row) -> None:
    validity, reason = said([TOPIC(), moved, *DELETED], "retention")
    assert validity is Validity.UNKNOWN
    assert reason is not None and reason.startswith("clocks were moved (Clock")


@pytest.mark.parametrize(
    "rows",
    [
        [TOPIC(), *DELETED],
        [TOPIC(), fault("Kill"), fault("Heal"), {**JUMP, "detail": "?"}, *DELETED],
        [TOPIC('{"retention.ms": "-1"}'), JUMP, *DELETED],
    ],
    ids=["no clock", "other faults", "what no clock deletes"],
)
def test_elsewhere_it_is_invalid(rows: list[Row]) -> None:
    assert said(rows, "retention")[0] is Validity.INVALID


def test_a_producer_may_expire_by_a_jump_of_a_day() -> None:
    assert said([JUMP, *TWICE], "duplicates")[0] is Validity.INVALID
    a_day = fault("ClockJump", by_ms=DAY_MS)
    verdict = check_frame(frame([a_day, *TWICE]))
    assert verdict.checkers["duplicates"].validity is Validity.UNKNOWN


def test_faults_of_clocks_are_told_with_how_far_they_moved_them() -> None:
    rows = [JUMP, JUMP, SKEW, P(1, 0, t_invoke_ns=20, t_complete_ns=10**12 + 20)]
    assert clock_faults(frame(rows).lazy()) == {
        "ClockJump by -60000 ms": 120_000,
        "ClockSkew by 1000 ppm": 1_000,
    }
    assert moved_by(JUMP["detail"], 0) == ("ClockJump by -60000 ms", 60_000)
    assert moved_by(fault("ClockSkew")["detail"], 5) == ("ClockSkew by None ppm", math.inf)
    for other in (None, "3", '{"fault": "Kill"}'):
        assert moved_by(other, 5) is None


def test_the_rules_that_go_by_clocks_exist() -> None:
    from linearizability.checkers import CHECKERS

    assert {checker for checker, _ in EXCUSED_FROM_MS} <= set(CHECKERS)
