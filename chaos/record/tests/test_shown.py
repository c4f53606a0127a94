"""Test that each event that a run may show is counted if it occurs in a history, and missed if it
does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chaos.record import shown
from chaos.record.shown import MUST_SHOW, Shown, Sight
from chaos.workloads import WORKLOADS
from linearizability import history

Row = dict[str, Any]
S = 1_000_000_000
PLACE: Row = {"topic": "t", "partition": 0}
INIT: Row = {
    "f": "init_producer",
    "transactional_id": "x",
    "settings": '{"transaction.timeout.ms": "2000"}',
}
BEGIN: Row = {"f": "begin", "transactional_id": "x", "txn": 1, "t_invoke_ns": 0, "t_complete_ns": 1}
RAW: Row = {**PLACE, "f": "poll", "client": "raw", "final": True, "producer_id": 1}
WHOLE: Row = {**PLACE, "f": "read_all", "client": "raw", "final": True}
KILL: Row = {"f": "nemesis", "detail": '{"fault": "Kill"}', "t_invoke_ns": 5, "t_complete_ns": 6}
HEAL: Row = {"f": "nemesis", "detail": '{"fault": "Heal"}', "t_invoke_ns": 8, "t_complete_ns": 9}
GIVEN: Row = {**PLACE, "f": "poll", "offset": 1, "group": "g", "member_id": "m"}
SEND: Row = {**PLACE, "f": "send", "value": 1}


def late(seconds: float, end: str = "info") -> Row:
    at = int(seconds * S)
    return {"f": "commit", "type": end, "txn": 1, "t_invoke_ns": at, "t_complete_ns": at + 1}


def during(invoked: int, completed: int) -> Row:
    return {**SEND, "t_invoke_ns": invoked, "t_complete_ns": completed}


EXAMPLES: tuple[tuple[Sight, list[Row], list[Row]], ...] = (
    (Sight.READS, [{**PLACE, "f": "poll", "offset": 1}], [{"f": "poll"}]),
    (
        Sight.REBALANCES,
        [{"f": "owned", "group": "g", "generation": n} for n in (1, 2)],
        [{"f": "owned", "group": g, "generation": 1} for g in "gh"],
    ),
    (Sight.GIVEN, [GIVEN], [{**GIVEN, "member_id": None}, {**GIVEN, "offset": None}]),
    (
        Sight.TAKEN_OVER,
        [{**PLACE, "f": "position", "asked": "committed", "asked_offset": 3, "offset": 3}],
        [{**PLACE, "f": "position", "asked": "committed"}],
    ),
    (Sight.ABORTS, [{"f": "abort"}], [{"f": "abort", "type": "info"}, {"f": "commit"}]),
    (Sight.FENCED, [INIT, INIT], [INIT, {**INIT, "transactional_id": "y"}]),
    (Sight.TIMED_OUT, [INIT, BEGIN, late(2.1)], [INIT, BEGIN, late(1.9), late(2.1, "ok")]),
    (
        Sight.REFUSED,
        [{**SEND, "type": "fail", "error": "INVALID_PRODUCER_EPOCH"}],
        [{**SEND, "type": "info", "error": "REQUEST_TIMED_OUT"}],
    ),
    (
        Sight.SEEKS,
        [{**PLACE, "f": "position", "asked": "offset", "asked_offset": 5}],
        [{**PLACE, "f": "position", "asked": "offset", "asked_offset": 0}],
    ),
    (
        Sight.LOOK_UPS,
        [{**PLACE, "f": "position", "asked": "timestamp", "offset": 0}],
        [{**PLACE, "f": "position", "asked": "timestamp"}],
    ),
    (Sight.DELETED, [{**WHOLE, "log_start": 4}], [{**WHOLE, "log_start": 0}]),
    (
        Sight.CLEANED,
        [{**RAW, "offset": 1}, {**WHOLE, "log_start": 0, "high_watermark": 2}],
        [{**RAW, "offset": 1}, {**WHOLE, "log_start": 1, "high_watermark": 2}],
    ),
    (
        Sight.WRAPPED,
        [{**RAW, "offset": n, "sequence": (2**31 - 1, 0)[n]} for n in (0, 1)],
        [{**RAW, "offset": n, "sequence": n} for n in (0, 1)],
    ),
    (Sight.RECREATED, [{**PLACE, "f": "topic"}], [{**PLACE, "f": "topic", "process": -2}]),
    (Sight.GROWN, [{**PLACE, "f": "topic"}], [{**PLACE, "f": "topic", "final": True}]),
    (
        Sight.POSITIONS,
        [{**PLACE, "f": "fetch_offsets", "offset": 0}],
        [{**PLACE, "f": "fetch_offsets"}],
    ),
    (Sight.LATEST, [{**PLACE, "f": "read_latest", "offset": 0}], [{**PLACE, "f": "read_latest"}]),
    (Sight.HEARTBEATS, [{"f": "heartbeat"}], [{"f": "heartbeat", "type": "fail"}]),
    (Sight.DISMISSED, [{"f": "heartbeat", "type": "fail"}], [{"f": "heartbeat"}]),
    (
        Sight.JOINED,
        [{**GIVEN, "member_id": each} for each in "mn"],
        [{**GIVEN, "member_id": "m"}, {**GIVEN, "process": 1, "member_id": "n"}],
    ),
    (Sight.LEFT, [{"f": "leave", "group": "g"}], [{"f": "leave", "group": "g", "type": "info"}]),
    (Sight.CRASHED, [{"f": "crash", "group": "g"}], [{"f": "crash"}]),
    (
        Sight.MOVED_UNDER_FAULT,
        [KILL, {"f": "leave", "group": "g", "t_invoke_ns": 5, "t_complete_ns": 7}, HEAL],
        [KILL, {"f": "crash", "group": "g", "t_invoke_ns": 9, "t_complete_ns": 9}, HEAL],
    ),
    (Sight.UNDER_FAULT, [KILL, during(4, 6), HEAL], [KILL, during(3, 5), during(9, 10), HEAL]),
)


def counts(tmp_path: Path, rows: list[Row]) -> Shown:
    file = tmp_path / "history.parquet"
    history.write(file, history.frame(rows))
    return shown.shown_by(file)


@pytest.mark.parametrize(("sight", "seen", "unseen"), EXAMPLES, ids=lambda each: str(each)[:20])
def test_a_sight_is_counted_where_it_is(
    tmp_path: Path, sight: Sight, seen: list[Row], unseen: list[Row]
) -> None:
    assert counts(tmp_path, seen).counts[sight] == 1
    assert counts(tmp_path, unseen).counts[sight] == 0


def test_every_sight_has_an_example_and_every_workload_something_to_show() -> None:
    assert {sight for sight, _, _ in EXAMPLES} == set(Sight)
    assert set(MUST_SHOW) == set(WORKLOADS)
    assert all(MUST_SHOW.values())


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    nothing = counts(tmp_path, [SEND])
    assert nothing.missing("groups-growing", under_faults=False) == (
        Sight.GIVEN,
        Sight.REBALANCES,
        Sight.GROWN,
    )
    assert nothing.missing("groups-growing", under_faults=True) == (
        Sight.GIVEN,
        Sight.REBALANCES,
        Sight.GROWN,
        Sight.UNDER_FAULT,
    )
    assert nothing.missing("somebody else's", under_faults=True) == ()
    assert "it did not test its subject" in shown.problem(Sight.REBALANCES)
    seen = counts(tmp_path, [{"f": "abort"}])
    assert shown.line(seen.as_dict()) == "1 transactions aborted"
    assert shown.line({}) == "nothing"
