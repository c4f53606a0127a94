"""`touchstone sim`: plans are data of their seeds, failures are found and kept, gaps are told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from chaos.clients.factories import REFERENCE
from chaos.nemeses import NEMESES
from chaos.record.run_directory import Scenario
from chaos.record.shown import MUST_SHOW, Sight, problem
from chaos.sim.agenda import Agenda
from chaos.sim.invariants import INVARIANTS
from chaos.sim.invariants.known_log import KnownLog
from ci.cli import app
from ci.simulation import run_simulations, schedule
from ci.simulation.pages import coverage, summary
from ci.simulation.plans import ROUND, SHAPES, nemeses, plan_of, workloads
from ci.simulation.schedule import Outcome, perform
from ci.simulation.search import Search, exit_status
from linearizability.verdict import Validity
from reference_impl.core.log.partition_log import PartitionLog


def outcome(seed: int, validity: Validity) -> Outcome:
    return Outcome(seed, "appends", "kill", validity, "", (), "", 1.0)


def test_the_plan_of_a_seed_does_not_depend_on_what_was_drawn_before() -> None:
    forwards = [plan_of(seed) for seed in range(50)]
    backwards = [plan_of(seed) for seed in reversed(range(50))]
    assert forwards == backwards[::-1]
    assert len({plan.command() for plan in forwards}) == 50


def test_every_workload_and_nemesis_of_the_simulator_is_drawn() -> None:
    plans = [plan_of(seed) for seed in range(60_000)]
    assert {plan.workload for plan in plans} == {one.name for one in workloads()}
    drawn = {(plan.nodes, plan.workload, plan.nemesis) for plan in plans}
    assert drawn == {
        (nodes, w.name, n.name)
        for _, nodes in SHAPES
        for w in workloads(nodes)
        for n in nemeses(w, nodes)
    }
    assert {(plan.target, plan.nodes) for plan in plans} == {*SHAPES}


@pytest.mark.parametrize("first_seed", [0, ROUND * 7])
def test_a_round_of_seeds_leaves_no_row_of_the_coverage_empty(first_seed: int) -> None:
    plans = [plan_of(seed) for seed in range(first_seed, first_seed + ROUND)]
    done = [
        replace(
            outcome(plan.seed, Validity.VALID),
            workload=plan.workload,
            nemesis=plan.nemesis,
            shape=f"{plan.target} with {plan.nodes}",
            settings=tuple(plan.config),
            struck={fault.__name__: 1 for fault in NEMESES[plan.nemesis].faults},
            shown={sight.value: 1 for sight in MUST_SHOW.get(plan.workload, ())}
            | {Sight.UNDER_FAULT.value: 1, Sight.MOVED_UNDER_FAULT.value: 1},
        )
        for plan in plans
    ]
    gaps = {
        (subject, name)
        for subject, found in coverage(done).items()
        for name, count in found.items()
        if not count
    }
    assert gaps == set()


def test_a_schedule_that_loses_records_is_found_kept_and_repeated(tmp_path: Path) -> None:
    scenario = Scenario(
        "sim", "appends", "kill", 1, 10.0, 1, bug="acknowledge-before-append", rate=60.0
    )
    runs = tmp_path / "runs"
    first, again = perform(scenario, runs, tmp_path), perform(scenario, runs, tmp_path)
    assert first.validity is Validity.INVALID
    assert {"lost_writes", "inconsistent_offsets"} & {*first.accusers}
    assert first.struck["Kill"] and first.command == scenario.command()
    histories = [(Path(one.kept) / "verdict.json").exists() for one in (first, again)]
    assert histories == [True, True] and first.kept != again.kept
    assert (first.reason, first.struck) == (again.reason, again.struck)


def test_a_broken_invariant_makes_a_schedule_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def claim(_: KnownLog, log: PartitionLog) -> list[str]:
        return ["the moon is made of cheese"] if log.log_end_offset else []

    monkeypatch.setitem(cast(dict[str, Any], INVARIANTS), "no-cheese", claim)
    scenario = Scenario("sim", "appends", "none", 1, 3.0, 1, rate=60.0)
    done = perform(scenario, tmp_path / "runs", tmp_path)
    assert done.validity is Validity.INVALID and done.accusers == ("invariant no-cheese",)
    assert "the moon is made of cheese" in done.reason and done.blamed == "broker"


def test_a_valid_schedule_leaves_nothing(tmp_path: Path) -> None:
    scenario = Scenario("sim", "appends", "kill", 1, 10.0, 1, rate=60.0)
    done = perform(scenario, tmp_path / "runs", tmp_path)
    assert (done.validity, done.kept) == (Validity.VALID, "")
    assert done.acknowledged > 50 and done.shown and list(tmp_path.iterdir()) == []


def test_an_exception_in_a_schedule_is_a_finding(tmp_path: Path) -> None:
    scenario = Scenario("sim", "appends", "kill", 12, 10.0, 1, rate=60.0, client=REFERENCE)
    done = perform(scenario, tmp_path / "runs", tmp_path)
    assert done.validity is Validity.INVALID and "1 to 9 nodes, not 12" in done.reason
    assert "Traceback" in (Path(done.kept) / "failure.txt").read_text()


@pytest.mark.parametrize("limit_s", [0.3, 0.02])
def test_a_schedule_that_goes_round_in_circles_is_a_finding(
    limit_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shorter limit is over before the run has begun. Each stage of a run may need an interrupt
    of its own."""
    monkeypatch.setattr(schedule, "CPU_LIMIT_S", limit_s)
    monkeypatch.setattr(schedule, "STRIKES_AGAIN_S", 0.5)
    monkeypatch.setattr(Agenda, "after", lambda self, _, action: self.soon(action))
    scenario = Scenario("sim", "appends", "kill", 1, 10.0, 1, rate=60.0)
    done = perform(scenario, tmp_path / "runs", tmp_path)
    assert done.validity is Validity.INVALID and "s of CPU time" in done.reason


@pytest.mark.parametrize(
    ("valid", "unknown", "invalid", "expected"),
    [(100, 1, 0, 0), (98, 2, 0, 3), (99, 0, 1, 1), (0, 0, 0, 3)],
)
def test_the_exit_status(valid: int, unknown: int, invalid: int, expected: int) -> None:
    endings = [Validity.VALID] * valid + [Validity.UNKNOWN] * unknown + [Validity.INVALID] * invalid
    assert exit_status({n: outcome(n, each) for n, each in enumerate(endings)}) == expected


def test_the_coverage_names_what_never_occurred() -> None:
    found = coverage([outcome(1, Validity.VALID)])
    assert found["workload"]["appends"] == 1 and found["workload"]["zombies"] == 0
    search = Search(1, 2, Path("runs"), outcomes={1: outcome(1, Validity.VALID)})
    text = summary(search)
    assert "go on with --first-seed 2" in text
    assert "never: " in text and "zombies" in text


def test_several_processes_find_what_one_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(search: Search, seed: int) -> Scenario:
        return Scenario("sim", "appends", "kill", 1, 5.0, seed, bug=search.bug, rate=60.0)

    monkeypatch.setattr(Search, "planned", short)
    told = []
    for jobs in (1, 2):
        search = Search(1, 2, tmp_path, jobs, bug="acknowledge-before-append")
        status = run_simulations(search, in_json=True)
        page = json.loads(capsys.readouterr().out)
        schedules = [
            {k: v for k, v in one.items() if k not in ("seconds", "memory_mib", "kept")}
            for one in page["schedules"]
        ]
        told.append((status, schedules))
    assert told[0] == told[1] and told[0][0] == 1 and len(told[0][1]) == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--seeds", "0"], "--seeds 0: give a finite number above zero"),
        (["--first-seed", "-1"], "must not be negative"),
        (["--bug", "nonsense"], "there is no such bug"),
        (["--minutes", "0"], "--minutes 0: give a finite number above zero"),
        (["--runs", __file__], "a file is there"),
    ],
)
def test_bad_input_gets_one_sentence(words: list[str], sentence: str) -> None:
    done = CliRunner().invoke(app, ["sim", *words])
    assert done.exit_code == 2 and sentence in done.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("undecided", "problems", "expected"),
    [
        (["run"], [problem(Sight.REBALANCES)], True),
        (["run"], [problem(Sight.REBALANCES), "the final ReadAll did not succeed"], False),
        (["run", "lost_writes"], [problem(Sight.REBALANCES)], False),
        ([], [], True),
    ],
)
def test_a_run_that_shows_too_little_is_repeated_for_longer(
    undecided: list[str], problems: list[str], expected: bool
) -> None:
    assert schedule.shows_too_little(undecided, problems) is expected


def test_a_cluster_that_does_not_get_well_is_a_finding() -> None:
    problems = (
        "something else",
        "the cluster had not recovered 90 s after the heal: t-0 has no leader",
    )
    found = schedule.stuck(outcome(1, Validity.UNKNOWN), problems)
    assert (found.validity, found.accusers) == (Validity.INVALID, ("liveness",))
    assert found.reason == problems[1] and not found.lacks
