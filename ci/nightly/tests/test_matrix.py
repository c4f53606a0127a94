"""Test the matrix: its combinations, and what a row and the exit status say of the runs."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.record.run_directory import Scenario
from chaos.values.protocols import TargetError
from ci.attack import Judged, judge
from ci.cli import app
from ci.nightly import matrix
from ci.nightly.matrix import exit_status, markdown, rows_as_json, run_matrix, scenarios_of
from ci.report.tests.runs import History, write_run

FIRST = Scenario("reference", "appends", "kill-leader", 3, 40.0, 7)


def test_every_combination_runs_with_every_seed() -> None:
    chosen = list(scenarios_of(FIRST, ("appends", "transform"), ("pause", "kill-leader"), 2))
    assert len(chosen) == len({one.command() for one in chosen}) == 8
    assert {one.seed for one in chosen} == {7, 8}
    assert {(one.nodes, one.seconds) for one in chosen} == {(3, 40.0)}


def test_a_row_tells_progress_and_the_status_that_of_the_worst_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attack(scenario: Scenario, runs: Path, _engine: str) -> Judged:
        if scenario.workload == "transform":
            raise TargetError("node 2 did not start")
        told = History()
        told.send(1.0, 0, 5, 0)
        told.add(2.0, f="commit", process=0, transactional_id="t", txn=1)
        told.add(
            4.5, f="abort", process=0, transactional_id="t", txn=2, type="fail", error="_STATE"
        )
        told.read_all(9.0, {0: 5} if scenario.seed == 7 else {})
        counts = {"records_acknowledged": 1}
        run = write_run(runs / str(scenario.seed), told.rows, judge=False, counts=counts)
        return judge(run, engine="local")

    monkeypatch.setattr(matrix, "attack_as_planned", attack)
    rows = run_matrix([FIRST], tmp_path, "local", sys.stderr)
    text, status = markdown(rows), exit_status(rows)
    assert "| appends | kill-leader | 7 | valid | 1 | 1 | 2.5 | 0 | _STATE 1 | 7 |" in text
    assert (rows[0].run, rows[0].reason) == ("7", "")
    assert 0 < rows[0].served < 1
    assert status == 0
    missing = replace(FIRST, workload="transform")
    rows = run_matrix([missing], tmp_path, "local", sys.stderr)
    text, status = markdown(rows), exit_status(rows)
    assert "| unknown | 0 | 0 | 0.0 | 0 |  | node 2 did not start |" in text
    assert status == 3
    lost = replace(FIRST, seed=8)
    rows = run_matrix([missing, lost], tmp_path, "local", sys.stderr)
    text, status = markdown(rows), exit_status(rows)
    assert text.endswith("0 valid, 1 invalid, 1 unknown, 0 not run")
    assert status == 1


@pytest.mark.parametrize(("seconds", "longest"), [([], None), ([0.5, 2.0], 2.0), ([9, None], None)])
def test_the_longest_recovery_is_unknown_if_one_never_came(
    seconds: list[float | None], longest: float | None
) -> None:
    assert matrix._longest_recovery_s([{"seconds": each} for each in seconds]) == longest


def test_a_scenario_that_fits_no_target_is_not_run(tmp_path: Path) -> None:
    rows = run_matrix([replace(FIRST, nemesis="no-such")], tmp_path, "local", sys.stderr)
    text, status = markdown(rows), exit_status(rows)
    (told,) = json.loads(rows_as_json(rows))
    assert (told["verdict"], told["acknowledged"]) == ("not run", 0)
    assert told["scenario"] == rows[0].scenario.command()
    assert "| not run |" in text
    assert status == 3


@pytest.mark.parametrize("option", ["--workload", "--nemesis", "--target"])
def test_a_misspelt_name_is_told_before_the_first_run(option: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["chaos", "matrix", option, "no-such", "--runs", str(tmp_path)])
    assert done.exit_code == 2
    assert f"unknown {option[2:]} 'no-such'" in done.output
