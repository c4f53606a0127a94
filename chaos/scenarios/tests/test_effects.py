"""Test the counts of lost, duplicated and reordered records in a history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from chaos.scenarios.effects import Effect, Effects, counted, effects_of
from chaos.workloads.values import PER_PROCESS
from linearizability import history

A, B = PER_PROCESS, 2 * PER_PROCESS
"""The first values of two senders."""
Rows = list[dict[str, Any]]


def sends(*values: int, **columns: object) -> Rows:
    return [{"f": "send", "topic": "t", "partition": 0, "value": v, **columns} for v in values]


def log(*values: int, **columns: object) -> Rows:
    """Return the final raw read of the leader, from offset 0."""
    read = {"f": "poll", "client": "raw", "final": True, "topic": "t", "partition": 0}
    whole = [{**read, "f": "read_all", **columns}]
    return whole + [{**read, "offset": n, "value": v, **columns} for n, v in enumerate(values)]


@pytest.mark.parametrize(
    ("rows", "lost", "doubled", "reordered"),
    [
        (sends(A, B) + log(A, B), 0, 0, 0),
        (sends(A, B) + log(B), 1, 0, 0),
        (sends(A, B) + log(), 2, 0, 0),
        (sends(A, B, type="info") + log(B), 0, 0, 0),
        (sends(A, B, acks=0) + log(B), 1, 0, 0),
        (sends(A, B) + log(A, A, B), 0, 1, 0),
        (sends(A, A + 1) + log(A + 1, A), 0, 0, 1),
        (sends(A, B) + log(B, A), 0, 0, 0),
        (sends(A, A + 1) + log(A, A + 1, A, A + 1), 0, 2, 1),
        (sends(A, B) + log(A) + log(A, B, replica=2), 1, 0, 0),
        (sends(A, B) + log(A) + log(A, B, final=False), 1, 0, 0),
    ],
    ids=[
        "well",
        "lost",
        "all-lost",
        "unknown",
        "acks0",
        "twice",
        "reordered",
        "strangers",
        "resent",
        "followers-do-not-count",
        "nor-what-was-read-before",
    ],
)
def test_effects_are_counted(rows: Rows, lost: int, doubled: int, reordered: int) -> None:
    effects = counted(history.frame(rows).lazy())
    assert effects.problem == ""
    assert [effects.count(effect) for effect in Effect] == [lost, doubled, reordered]


def test_without_a_final_read_nothing_is_told() -> None:
    assert counted(history.frame(sends(A)).lazy()).problem == "no log was read at the end"


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"ended": None}, "killed before its end"),
        (
            {"ended": "now", "problems": ["the cluster had not recovered"]},
            "the cluster had not recovered",
        ),
    ],
)
def test_a_run_that_did_not_come_to_its_end_tells_nothing(
    facts: dict[str, object], said: str, tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"version": 1} | facts))
    assert said in effects_of(tmp_path).problem


def test_a_whole_run_is_read_from_its_directory(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"version": 1, "ended": "now", "problems": []}))
    rows: Sequence[dict[str, Any]] = sends(A, B) + log(A)
    history.write(tmp_path / "history.parquet", history.frame(list(rows)))
    assert effects_of(tmp_path) == Effects(sent=2, lost=1)
