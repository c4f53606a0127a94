"""No false alarm on histories of the exact model; each planted anomaly is caught by its checker."""

from __future__ import annotations

from functools import cache
from random import Random

import polars as pl
import pytest

from linearizability.checkers.base import describe
from linearizability.checkers.table import CHECKERS
from linearizability.guarantees.lost_writes.rule import LostWrites
from linearizability.ingest import IS_SEND, KEY
from linearizability.judging import check_frame
from linearizability.self_test import clauses, runner
from linearizability.self_test.clause import Clause, Mutator
from linearizability.self_test.clauses import MUTATORS
from linearizability.self_test.model.histories import joined, rows_with_truth, valid_rows
from linearizability.self_test.model.world import Row
from linearizability.self_test.runner import SelfTest, found_by, run_self_test
from linearizability.self_test.truth import stripped, with_outcomes
from linearizability.verdict import Validity

SEEDS = range(200)
SEEDS_TO_BREAK = 20
PLANTED_MIN = 10
ROOM_FOR_ALL = (17, 23)
"""Seeds whose histories together have room for a mutator of every rule."""
ROWS_MAX = 6_000


@cache
def history_with_truth(seed: int) -> list[Row]:
    return rows_with_truth(seed)


def history(seed: int) -> list[Row]:
    return stripped(history_with_truth(seed))


def test_no_history_of_the_model_is_reported() -> None:
    verdict = check_frame(joined(history(seed) for seed in SEEDS))
    assert verdict.anomalies == []
    assert verdict.validity is Validity.VALID, verdict.reason
    little = {name: c.checked for name, c in verdict.checkers.items() if c.checked <= 300}
    assert little == {}


def test_a_seed_is_a_history() -> None:
    assert valid_rows(5) == valid_rows(5)
    assert valid_rows(5) != valid_rows(6)


def test_the_rows_tell_how_a_transaction_ended_by_its_answer_or_by_its_marker() -> None:
    """The truth is the model's; what the rows tell of it decides whether a mutant can be caught."""
    send: Row = {"f": "send", "txn": 1, "value": 7, "type": "ok"}
    record: Row = {"f": "poll", "value": 7, "op_id": 5, "partition": 0, "producer_id": 9, "_txn": 1}
    marker = record | {"value": None, "control": "abort"}
    begin: Row = {"f": "begin", "txn": 1, "type": "ok"}
    commit: Row = {"f": "commit", "txn": 1, "type": "info"}
    abort: Row = {"f": "abort", "txn": 1, "type": "ok"}

    def outcome(*rows: Row, end: str = "abort") -> str | None:
        ended = [row | {"_end": end} for row in (begin, send, *rows)]
        return with_outcomes(ended)[1]["_outcome"]  # type: ignore[no-any-return]

    assert outcome() == "unknown"
    assert outcome(abort) == "aborted"
    assert outcome(commit, abort) == "unknown"
    assert outcome(commit, abort, record, marker) == "aborted"
    assert outcome(abort, record, marker | {"op_id": 6}, commit) == "unknown"
    assert outcome(commit | {"type": "ok"}, end="commit") == "committed"


def test_histories_stay_small_whatever_fails() -> None:
    """A reader that starts again after each failure never sees the end of a long log."""
    assert max(len(history(seed)) for seed in SEEDS) < ROWS_MAX


@pytest.mark.sliced(5)
@pytest.mark.parametrize("name", MUTATORS)
def test_each_planted_anomaly_is_caught_by_its_checker(name: str) -> None:
    """The checker reports the planted anomaly as one of the mutator's kinds, and each kind of the
    checker is seen."""
    planted: list[tuple[Mutator, list[Row]]] = []
    for seed in SEEDS:
        used = {mutate for mutate, _ in planted}
        if seed >= SEEDS_TO_BREAK and len(planted) >= PLANTED_MIN and used == set(MUTATORS[name]):
            break
        for mutate in MUTATORS[name]:
            rows = mutate(history_with_truth(seed), Random(seed))
            planted += [] if rows is None else [(mutate, stripped(rows))]
    assert len(planted) >= PLANTED_MIN
    found = found_by(name, [rows for _, rows in planted])
    for number, (mutate, _) in enumerate(planted):
        assert found[number] & MUTATORS[name][mutate], (mutate.__name__, found[number])
    assert set().union(*found.values()) >= set().union(*MUTATORS[name].values())


@cache
def of_room_for_all() -> SelfTest:
    return run_self_test(ROOM_FOR_ALL)


def test_the_self_test_finds_nothing_wrong_and_says_so_in_a_table() -> None:
    result = of_room_for_all()
    assert [name for name in MUTATORS if not result.planted[name]] == []
    assert result.validity is Validity.VALID, result.problems
    assert result.caught == result.planted
    lines = result.table().splitlines()
    assert lines[0].startswith("checker ")
    assert [line.split()[0] for line in lines[1:-1]] == list(CHECKERS)
    assert lines[-1].startswith("2 seeds")


def test_the_self_test_tells_a_false_alarm_and_a_missed_anomaly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "MUTATORS", {"lost_writes": MUTATORS["lost_writes"]})
    kernel = LostWrites.anomalies
    sends = IS_SEND & (pl.col("value") == 1)

    def alarmed(self: LostWrites, events: pl.LazyFrame) -> pl.LazyFrame:
        return describe(events.filter(sends), KEY, "lost-write", ["op_id"], pl.lit("wrong"))

    monkeypatch.setattr(LostWrites, "anomalies", alarmed)
    result = run_self_test([5])
    assert result.validity is Validity.INVALID
    again = "touchstone check --self-test --first-seed 5 --seeds 1"
    alarm = "false alarm: lost_writes, seed 5: model-0-0: wrong"
    assert f"{alarm}; repeat: {again}" in result.problems
    monkeypatch.setattr(LostWrites, "anomalies", lambda *_: kernel(*_).filter(pl.lit(False)))
    result = run_self_test(range(5))
    assert result.validity is Validity.INVALID
    assert any(p.startswith("missed: lost_writes, seed") for p in result.problems)


def test_a_self_test_with_idle_judges_is_unknown() -> None:
    assert run_self_test([]).validity is Validity.UNKNOWN


@pytest.mark.nightly
def test_the_self_test_says_the_same_from_several_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "SEEDS_AT_ONCE", 1)
    done: list[int] = []
    by_two = run_self_test(ROOM_FOR_ALL, done.append, processes=2)
    assert done == [0, 1, 2]
    assert by_two == of_room_for_all()
    assert by_two.seeds == 2
    assert by_two.caught.total() > 50


def test_no_clause_is_without_a_mutator(monkeypatch: pytest.MonkeyPatch) -> None:
    assert clauses.empty_rows(list(CHECKERS)) == []
    nothing = {"lost_writes": {"it is gone": Clause(frozenset({"lost-write"}), ())}}
    monkeypatch.setattr(clauses, "CLAUSES", nothing)
    assert clauses.empty_rows(["lost_writes", "duplicates"]) == [
        "duplicates has no clause in its mutators.py",
        "lost_writes: no mutator plants 'it is gone'",
    ]
