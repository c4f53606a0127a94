"""Runs that older commits recorded stay readable: each is judged, reported and listed as then.

`stored_runs` has at least one of each version that ever stood on the main branch. A change of
the format adds a run of the version before; none is ever replaced.
"""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import polars as pl
import pytest

from chaos.record.run_directory import RUN_JSON_VERSION
from ci.attack import judge
from ci.report.building import report_run
from ci.tests.schema import violations
from ci.ui import write_static
from ci.ui.index import read_index
from linearizability import verdict
from linearizability.schema import COLUMNS, SCHEMA_VERSION
from linearizability.verdict import Validity

STORED = Path(__file__).parent / "stored_runs"
RUNS = sorted(STORED.glob("2*"))
BYTES_MAX = 300_000


def told(run: Path, name: str) -> dict[str, Any]:
    return dict(json.loads((run / name).read_text()))


def accused(data: dict[str, Any]) -> set[str]:
    """Return the checkers that found an anomaly, by a verdict's JSON."""
    return {name for name, one in data["checkers"].items() if one["validity"] == "invalid"}


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(copytree(request.param, tmp_path / "runs" / request.param.name))


@pytest.mark.parametrize("run", RUNS, ids=lambda each: each.name, indirect=True)
def test_a_stored_run_is_judged_and_reported_as_when_it_was_recorded(run: Path) -> None:
    then = told(run, "verdict.json")
    report_run(run)  # with the verdict of then
    page = (run / "report.html").read_text()
    assert f"<title>{then['validity']}: " in page and told(run, "run.json")["commit"][:7] in page
    judged = judge(run, engine="local")
    now = told(run, "verdict.json")
    assert judged.verdict.validity.value == then["validity"], judged.verdict.reason
    assert accused(now) == accused(then)
    assert violations("verdict-1", now) == []


def test_stored_runs_and_examinations_are_listed(tmp_path: Path) -> None:
    runs = Path(copytree(STORED, tmp_path / "runs"))
    index = read_index(runs)
    assert index.problems == {}
    listed = {entry.path: entry.verdict for entry in index.runs}
    assert listed == {each.name: told(each, "verdict.json")["validity"] for each in RUNS}
    examined = {each.path for each in index.examinations}
    assert examined == {each.name for each in STORED.glob("*.json")}
    page = write_static(runs, runs).read_text()
    assert all(each.name in page for each in RUNS)


def test_every_version_is_stored() -> None:
    histories = [pl.read_parquet(each / "history.parquet") for each in RUNS]
    of_rows = {rows["schema_version"][0] for rows in histories}
    assert of_rows == set(range(1, SCHEMA_VERSION + 1))
    assert any(set(rows.columns) < set(COLUMNS) for rows in histories)
    assert {told(each, "run.json")["version"] for each in RUNS} == {*range(1, RUN_JSON_VERSION + 1)}
    verdicts = [told(each, "verdict.json") for each in RUNS]
    assert {one.get("version") for one in verdicts} == {None, *range(1, verdict.VERSION + 1)}
    assert {one["validity"] for one in verdicts} >= {Validity.VALID, Validity.INVALID}


def test_stored_runs_are_small_and_name_no_machine() -> None:
    files = [each for each in STORED.rglob("*") if each.is_file()]
    assert sum(each.stat().st_size for each in files) < BYTES_MAX
    assert [each for each in files if b"/tmp/" in each.read_bytes()] == []
