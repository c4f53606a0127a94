"""Moved clocks of brokers: what these then delete is no proof."""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path
from typing import Any

import pytest

from linearizability import evidence
from linearizability.excuses.clocks import EXCUSED_FROM_MS, Move, apart_ms, clock_faults, moved_by
from linearizability.hand_written.rows import ASKS, COMMITS, LOG, RAW, TOPIC, WHOLE, P, Row, S
from linearizability.history import F, frame
from linearizability.judging import check_frame
from linearizability.verdict import Validity

DAY_MS = 24 * 60 * 60 * 1000
LATE = {"t_invoke_ns": 10**12, "t_complete_ns": 10**12}
"""A thousand seconds after all else."""
AN_HOUR = '{"retention.ms": "3600000"}'
DELETED = [S(1, 0), WHOLE(1, log_start=1, **LATE)]


def fault(name: str, **more: Any) -> Row:
    detail = json.dumps({"fault": name, "node": 1} | more)
    return {"f": F.NEMESIS.value, "process": -1, "detail": detail}


JUMP, SKEW = fault("ClockJump", by_ms=-3_000_000), fault("ClockSkew", ppm=3_000_000)
A_MINUTE, A_LITTLE = fault("ClockJump", by_ms=-60_000), fault("ClockSkew", ppm=1_000)
HEAL, A_DAY = fault("Heal"), fault("ClockJump", by_ms=DAY_MS)
TWICE = [S(1, 0), P(1, 0), RAW(1, 0), RAW(1, 4)]


def said(rows: list[Row], checker: str) -> tuple[Validity, str | None]:
    verdict = check_frame(frame(rows))
    assert verdict.validity is verdict.checkers[checker].validity
    return verdict.checkers[checker].validity, verdict.checkers[checker].reason


@pytest.mark.parametrize("moved", [JUMP, SKEW, fault("ClockJump")], ids=str)
def test_what_is_deleted_by_a_moved_clock_is_unknown_and_says_why(moved: Row) -> None:
    validity, reason = said([TOPIC(AN_HOUR), moved, *DELETED], "retention")
    assert validity is Validity.UNKNOWN
    assert reason is not None and reason.startswith("a fault moved clocks (Clock")


@pytest.mark.parametrize(
    "rows",
    [
        [TOPIC(AN_HOUR), *DELETED],
        [TOPIC(AN_HOUR), fault("Kill"), HEAL, {**JUMP, "detail": "?"}, *DELETED],
        [TOPIC('{"retention.ms": "-1"}'), JUMP, *DELETED],
        [TOPIC(), JUMP, SKEW, *DELETED],
        [TOPIC(AN_HOUR), A_MINUTE, A_LITTLE, *DELETED],
        [TOPIC(AN_HOUR), *DELETED, {**JUMP, "t_invoke_ns": 10**12 + 1, "t_complete_ns": None}],
    ],
    ids=[
        "no clock",
        "other faults",
        "what no clock deletes",
        "days too early",
        "43 minutes",
        "proven before",
    ],
)
def test_elsewhere_it_is_invalid(rows: list[Row]) -> None:
    assert said(rows, "retention")[0] is Validity.INVALID


def test_a_producer_may_expire_by_a_jump_of_a_day() -> None:
    assert said([JUMP, *TWICE], "duplicates")[0] is Validity.INVALID
    assert check_frame(frame([A_DAY, *TWICE])).checkers["duplicates"].validity is Validity.UNKNOWN
    twice = [A_DAY, S(1, 0), S(2, 1), *LOG(1, 2, 1)]
    assert said(twice, "delivery_semantics")[0] is Validity.UNKNOWN


def test_jumps_that_were_healed_do_not_add_up() -> None:
    jumps = [fault("ClockJump", by_ms=DAY_MS // 10 * sign) for sign in (1, -1)]
    assert said([*[jumps[0], HEAL, jumps[1], HEAL] * 20, *TWICE], "duplicates")[0] is (
        Validity.INVALID
    )


def test_positions_expire_by_a_jump_of_a_week_but_do_not_change() -> None:
    week = [A_DAY] * 7
    forgotten = [*week, COMMITS(5), ASKS(None, **LATE)]
    assert said(forgotten, "committed_offsets")[0] is Validity.UNKNOWN
    older = [*week, COMMITS(5), COMMITS(9), ASKS(5, **LATE)]
    assert said(older, "committed_offsets")[0] is Validity.INVALID


def test_what_clocks_do_not_explain_is_seen_behind_a_hundred_that_they_do() -> None:
    kept = {"topic": "u"}
    rows = [
        TOPIC(AN_HOUR),
        TOPIC('{"retention.ms": "-1"}', **kept),
        JUMP,
        *(S(n, n) for n in range(150)),
        S(999, 0, **kept),
        WHOLE(150, log_start=150, **LATE),
        WHOLE(1, log_start=1, **kept, **LATE),
    ]
    assert said(rows, "retention")[0] is Validity.INVALID


def test_faults_of_clocks_are_told_with_their_heals() -> None:
    rows = [A_MINUTE, A_LITTLE, HEAL, A_MINUTE]
    assert clock_faults(frame(rows).lazy()) == [
        Move("ClockJump by -60000 ms", -60_000, 0, 0, 20),
        Move("ClockSkew by 1000 ppm", 0, 1_000, 10, 20),
        Move("ClockJump by -60000 ms", -60_000, 0, 30, None),
    ]
    assert moved_by(fault("ClockSkew")["detail"]) == Move("ClockSkew by None ppm", 0, math.inf)
    for other in (None, "3", '{"fault": "Kill"}'):
        assert moved_by(other) is None


def test_how_far_clocks_were_apart_is_what_was_moved_between_two_heals() -> None:
    ahead, behind = Move("", 500, 0, 10, 20), Move("", -300, 0, 30, 40)
    assert apart_ms([], 99) == 0
    assert apart_ms([ahead, ahead], 99) == 1_000
    assert apart_ms([ahead, behind, behind], 99) == 1_100
    assert apart_ms([ahead, behind], 29) == 500
    faster = Move("", 0, 1_000, 0, None)
    assert apart_ms([faster], 10**12) == 1_000
    assert apart_ms([faster._replace(healed_ns=10**11)], 10**12) == 100


def test_the_rules_that_go_by_clocks_exist() -> None:
    from linearizability.checkers.table import CHECKERS

    for checker, kind in EXCUSED_FROM_MS:
        rule = Path(inspect.getfile(type(CHECKERS[checker])))
        sources = [rule, *Path(evidence.__file__).parent.glob("*.py")]
        assert any(f'"{kind}"' in source.read_text() for source in sources)


def test_clocks_that_were_right_again_before_it_began_explain_nothing() -> None:
    later = {"t_invoke_ns": 20 * 10**9, "t_complete_ns": 20 * 10**9}
    rows = [TOPIC(AN_HOUR), JUMP, HEAL, S(1, 0, **later), WHOLE(1, log_start=1, **LATE)]
    assert said(rows, "retention")[0] is Validity.INVALID


def test_a_jump_explains_no_more_than_it_moved() -> None:
    deleted = [TOPIC(AN_HOUR), S(1, 0), WHOLE(1, log_start=1, **LATE)]
    for by_ms, validity in ((2_598_999, Validity.INVALID), (2_599_000, Validity.UNKNOWN)):
        moved = fault("ClockJump", by_ms=by_ms)
        assert said([*deleted[:2], moved, deleted[2]], "retention")[0] is validity


def test_a_jump_explains_no_early_end_of_a_tombstone_beyond_it() -> None:
    kept = TOPIC('{"cleanup.policy": "compact", "delete.retention.ms": "60000"}')
    gone = [kept, S(1, 0, key="k", tombstone=True), WHOLE(1)]
    for by_ms, validity in ((1_000, Validity.INVALID), (60_000, Validity.UNKNOWN)):
        moved = fault("ClockJump", by_ms=by_ms)
        assert said([*gone[:2], moved, gone[2]], "compaction")[0] is validity


def test_the_worst_of_many_is_judged_by_how_far_clocks_moved() -> None:
    rows = [
        TOPIC(AN_HOUR),
        JUMP,
        *(S(n, n) for n in range(150)),
        S(150, 150, t_invoke_ns=9 * 10**11, t_complete_ns=9 * 10**11),
        WHOLE(151, log_start=151, **LATE),
    ]
    assert said(rows, "retention")[0] is Validity.INVALID


HELD_UP = {"high_watermark": 1, "last_stable_offset": 0, "final": True}


def test_no_clock_explains_a_transaction_that_stays_open_after_its_end() -> None:
    rows = [S(1, 0, txn=1), {"f": F.COMMIT.value, "txn": 1}, fault("ClockJump", by_ms=DAY_MS)]
    read = WHOLE(0) | HELD_UP | {"leader_epoch": 0}
    later = {"t_invoke_ns": 10**12 + 70 * 10**9, "t_complete_ns": 10**12 + 70 * 10**9}
    found = said([*rows, read | LATE, read | later], "hanging_transactions")
    assert found[0] is Validity.INVALID


SENT_AT_30_S = {"t_invoke_ns": 30 * 10**9, "t_complete_ns": 31 * 10**9}
STAMPED = {"timestamp_type": "append", "leader_epoch": 0}
WENT_BACK = [
    RAW(1, 0, timestamp_ms=9_000, **STAMPED, **LATE),
    RAW(2, 1, timestamp_ms=8_000, **STAMPED, **LATE),
]
"""The final read of two records: the second has an append time that is a second lower."""


def ahead(by_ms: int) -> list[Row]:
    """Return a fault that sets clocks ahead at second 28, and the heal at second 32."""
    moved = fault("ClockJump", by_ms=by_ms) | {"t_invoke_ns": 28 * 10**9}
    return [moved, HEAL | {"t_invoke_ns": 32 * 10**9, "t_complete_ns": 33 * 10**9}]


def test_an_append_time_that_goes_back_with_the_clock_is_unknown() -> None:
    sent = [S(1, 0, **SENT_AT_30_S), S(2, 1, t_invoke_ns=34 * 10**9, t_complete_ns=35 * 10**9)]
    validity, _ = said([*ahead(1_000), *sent, *WENT_BACK], "timestamp_types")
    assert validity is Validity.UNKNOWN


@pytest.mark.parametrize(("by_ms", "sent_at_s"), [(800, 30), (1_000, 43)])
def test_an_append_time_goes_back_further_or_later_than_the_clock(
    by_ms: int, sent_at_s: int
) -> None:
    at_ns = sent_at_s * 10**9
    sent = [S(value, value - 1, t_invoke_ns=at_ns, t_complete_ns=at_ns + 1) for value in (1, 2)]
    validity, _ = said([*ahead(by_ms), *sent, *WENT_BACK], "timestamp_types")
    assert validity is Validity.INVALID
