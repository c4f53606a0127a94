"""Judging a run directory: what kept a run from its end forbids VALID, and never hides INVALID."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ci import attack
from ci.attack import Judged, judge, judge_for_the_record
from ci.errors import UsageError
from linearizability import history
from linearizability.judging import VERDICT_FILE, check
from linearizability.verdict import Validity, Verdict

SENT = {"f": "send", "topic": "t", "partition": 0, "acks": -1, "idempotent": True, "value": 1}
READ = {"f": "poll", "topic": "t", "partition": 0, "value": 1, "isolation": "read_uncommitted"}
VALID = [{**SENT, "offset": 0}, {**READ, "offset": 0}]
INVALID = [*VALID, {**READ, "offset": 1, "process": 1}]
ENDED = "2026-01-01T00:00:00.000+00:00"


def run_directory(tmp_path: Path, rows: list[dict[str, Any]], **facts: object) -> Path:
    (tmp_path / "run.json").write_text(
        json.dumps({"version": 1, "ended": ENDED, "problems": []} | facts)
    )
    history.write(tmp_path / "history.parquet", history.frame(rows))
    return tmp_path


@pytest.mark.parametrize(
    ("rows", "facts", "expected"),
    [
        (VALID, {}, Validity.VALID),
        (INVALID, {}, Validity.INVALID),
        (VALID, {"problems": ["the cluster did not recover"]}, Validity.UNKNOWN),
        (INVALID, {"problems": ["the cluster did not recover"]}, Validity.INVALID),
        (VALID, {"ended": None}, Validity.UNKNOWN),
        (VALID, {"judged_by": ["duplicates"]}, Validity.VALID),
        (VALID, {"judged_by": ["aborted_reads"]}, Validity.UNKNOWN),
        ([], {}, Validity.UNKNOWN),
    ],
    ids=["valid", "invalid", "problem", "problem-invalid", "killed", "named", "idle", "empty"],
)
def test_a_run_is_green_only_if_it_came_to_its_end_and_was_judged(
    tmp_path: Path, rows: list[dict[str, Any]], facts: Mapping[str, object], expected: Validity
) -> None:
    judged = judge(run_directory(tmp_path, rows, **facts), engine="local")
    assert judged.verdict.validity is expected
    written = json.loads((tmp_path / VERDICT_FILE).read_text())
    assert written["validity"] == expected.value
    assert written["engine"] == "local (polars)"


@pytest.mark.parametrize("damaged", ["", "{", "[1]", "\0", "[" * 100_000, '{"ended": "\ud800'])
def test_damaged_facts_of_a_run_are_named_in_one_sentence(tmp_path: Path, damaged: str) -> None:
    run = run_directory(tmp_path, VALID)
    (run / "run.json").write_text(damaged, errors="surrogatepass")
    with pytest.raises(UsageError, match=r"run\.json: (not complete JSON|must be a map)"):
        judge(run, engine="local")


def judged_as_if_spark_said(
    run: Path, said_of: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Judged], Judged]:
    """Return the verdicts that are shown first, and the final verdict, if Spark judges the run
    `said_of` instead."""

    def check_by(path: Path, *, engine: str, **how: Any) -> Verdict:
        if engine == "local":
            return check(path, engine=engine, **how)
        return replace(check(said_of, engine="local"), engine="Spark")

    monkeypatch.setattr(attack, "check", check_by)
    told: list[Judged] = []
    return told, judge_for_the_record(run, engine="spark", first=told.append)


def test_the_verdict_of_polars_comes_first_and_that_of_spark_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_directory(tmp_path, INVALID, problems=["the cluster did not recover"])
    told, judged = judged_as_if_spark_said(run, run, monkeypatch)
    assert [(one.verdict.engine, one.verdict.validity) for one in told] == [
        ("local (polars)", Validity.INVALID)
    ]
    assert (judged.verdict.engine, judged.verdict.validity) == ("Spark", Validity.INVALID)
    assert list(judged.verdict.checkers) == list(told[0].verdict.checkers)
    assert json.loads((run / VERDICT_FILE).read_text())["engine"] == "Spark"


@pytest.mark.parametrize(("by_polars", "by_spark"), [(VALID, INVALID), (INVALID, VALID)])
def test_engines_that_disagree_are_never_valid(
    tmp_path: Path,
    by_polars: list[dict[str, Any]],
    by_spark: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "polars").mkdir()
    (tmp_path / "spark").mkdir()
    run, other = (
        run_directory(tmp_path / name, rows)
        for name, rows in (("polars", by_polars), ("spark", by_spark))
    )
    _, judged = judged_as_if_spark_said(run, other, monkeypatch)
    wanted = Validity.INVALID if by_spark is INVALID else Validity.UNKNOWN
    assert judged.verdict.validity is wanted
    assert judged.verdict.checkers["engines agree"].validity is Validity.UNKNOWN
    said = capsys.readouterr().err
    assert "the engines disagree" in said
    assert "by local (polars)" in said
    assert "by Spark" in said


def test_where_spark_cannot_be_had_the_verdict_of_polars_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attack, "has_spark", lambda: False)
    told: list[Judged] = []
    judged = judge_for_the_record(run_directory(tmp_path, VALID), first=told.append)
    assert (judged.verdict.engine, told) == ("local (polars)", [])
