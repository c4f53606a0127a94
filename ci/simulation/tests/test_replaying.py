"""Plans are data: they repeat a schedule, are read with care, and shrink to what matters."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from chaos.clients.factories import REFERENCE
from chaos.record.gathering import HISTORY
from chaos.record.run_directory import Scenario
from chaos.values.faults import Heal, Kill, Pause
from ci.cli import app
from ci.errors import UsageError
from ci.simulation.plans import plan_of
from ci.simulation.replaying.plan import FILE, Plan, Step
from ci.simulation.replaying.replay import over_processes, perform_plan, shrink, struck_in
from ci.simulation.replaying.shrinking import Shrinking
from ci.simulation.replaying.story import story
from ci.simulation.schedule import Outcome, perform
from linearizability.verdict import Validity

BUGGY = Scenario(
    "sim", "sequences", "kill", 1, 6.0, 2, bug="reuse-producer-ids", rate=60.0, client=REFERENCE
)


def invalid_outcome(reason: str) -> Outcome:
    return Outcome(1, "appends", "kill", Validity.INVALID, reason, (), "", 1.0)


def test_a_plan_is_the_same_after_it_was_written_and_read(tmp_path: Path) -> None:
    for seed in range(30):
        plan = Plan.of(plan_of(seed))
        (tmp_path / FILE).write_text(plan.to_json())
        assert Plan.read(tmp_path, anyway=False) == plan


def test_a_plan_repeats_the_schedule_of_its_nemesis(tmp_path: Path) -> None:
    scenario = Scenario("sim", "appends", "kill-leader", 3, 10.0, 1, rate=60.0, client=REFERENCE)
    direct = perform(replace(scenario, bug="acknowledge-before-append"), tmp_path / "a", tmp_path)
    plan = Plan.of(replace(scenario, bug="acknowledge-before-append"))
    again = perform_plan(plan, tmp_path / "b").outcome
    assert (again.validity, again.reason) == (direct.validity, direct.reason)
    assert again.struck == direct.struck


def test_shrinking_leaves_the_steps_that_matter_at_their_times() -> None:
    steps = [Step(1.0, Kill(1)), Step(1.0, Heal()), Step(1.0, Pause(2)), Step(1.0, Heal())]
    plan = Plan(plan_of(1), tuple(steps * 4))
    last = Step(1.0, Kill(3))
    plan = replace(plan, steps=(*plan.steps, last))

    def fails(tried: Plan) -> bool:
        at_s = sum(step.wait_s for step in tried.steps)
        return tried.steps[-1:] != () and tried.steps[-1].fault == Kill(3) and at_s == 17.0

    shrinking = Shrinking(replace(plan, scenario=replace(plan.scenario, seconds=18.0)), fails, 60.0)
    smallest = shrinking.perform()
    assert smallest.steps == (Step(17.0, Kill(3)),) and smallest.faults == 1
    assert smallest.scenario.config == {} and shrinking.tried < 40


def test_no_further_plan_is_tried_when_the_time_is_up() -> None:
    shrinking = Shrinking(Plan.of(plan_of(1)), lambda _: True, 0.0)
    assert shrinking.perform() == Plan.of(plan_of(1)) and shrinking.tried == 0


def test_a_planted_bug_shrinks_to_few_faults_and_a_story(tmp_path: Path) -> None:
    plan = Plan.of(BUGGY)
    smaller, tried = shrink(plan, 60.0)
    assert tried > 1 and smaller.faults <= 5 and smaller.faults < plan.faults
    done = perform_plan(smaller, tmp_path)
    assert done.outcome.validity is Validity.INVALID
    lines = done.story.splitlines()
    assert len(lines) <= 26 and lines[0].startswith(" 1. sim with 1 node,")
    assert any("Kill(" in line for line in lines) and "invalid: " in lines[-1]
    replayed = CliRunner().invoke(app, ["replay", done.outcome.kept])
    assert replayed.exit_code == 1 and lines[-1] in replayed.output


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 99}, "has version 99; this Touchstone reads 1"),
        ({"commit": "abc"}, "was made for commit abc"),
        ({"steps": [{"wait_s": 1.0, "fault": "Flood", "node": 1}]}, "unknown fault 'Flood'"),
        ({"steps": [{"wait_s": 1.0, "fault": "Kill", "knot": 1}]}, "unexpected keyword"),
        ({"scenario": {"shape": 1}}, "unknown settings shape"),
    ],
)
def test_a_plan_that_cannot_be_performed_says_why(
    change: dict[str, object], sentence: str, tmp_path: Path
) -> None:
    found = json.loads(Plan.of(plan_of(1)).to_json())
    (tmp_path / FILE).write_text(json.dumps({**found, **change}))
    with pytest.raises(UsageError, match=sentence):
        Plan.read(tmp_path, anyway=False)


def test_a_plan_for_processes_keeps_all_but_the_target_and_the_client() -> None:
    plan = Plan.of(replace(BUGGY, client="confluent"))
    real = over_processes(plan, "reference")
    assert real.steps == plan.steps
    assert real.scenario == replace(plan.scenario, target="reference", client=REFERENCE)


@pytest.mark.parametrize(
    ("scenario", "target", "sentence"),
    [
        (replace(BUGGY, bug="client-drop-on"), "reference", "which only the simulator plants"),
        (BUGGY, "reference:4", "--target reference:4: the reference broker has no version"),
        (replace(BUGGY, nemesis="failed-writes", bug=None), "kfake", "--target kfake: .* cannot"),
    ],
)
def test_a_plan_that_processes_cannot_perform_says_why(
    scenario: Scenario, target: str, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        over_processes(Plan.of(scenario), target)


def test_the_faults_of_a_run_are_told_with_their_times_since_its_begin(tmp_path: Path) -> None:
    rows = {
        "f": ["send", "nemesis", "nemesis", "nemesis"],
        "type": ["ok", "info", "ok", "ok"],
        "t_invoke_ns": [5 * 10**9] * 4,
        "t_complete_ns": [6 * 10**9, 6 * 10**9, 9 * 10**9, 7 * 10**9],
        "detail": [
            None,
            '{"fault": "Kill", "node": "leader"}',
            '{"fault": "Heal", "nodes": []}',
            '{"fault": "Kill", "node": "leader", "nodes": [2]}',
        ],
    }
    pl.DataFrame(rows).write_parquet(tmp_path / HISTORY)
    told = [(2.0, "Kill strikes node 2"), (4.0, "Heal strikes node none")]
    assert list(struck_in(tmp_path)) == told
    assert list(struck_in(tmp_path / "nowhere")) == []


def test_a_story_tells_the_first_breach_of_each_invariant() -> None:
    noted = [
        (1.0, "Kill(node=all) strikes node 1"),
        *((2.0 + n, f"invariant committed-stays: t-{n}: …") for n in range(50)),
        (60.0, "invariant logs-agree: t-0: …"),
        (61.0, "node 2 leads t-0 in epoch 1; its log ends at 0"),
    ]
    done = invalid_outcome("invariant committed-stays: t-0: …")
    lines = story(plan_of(1), done, noted).splitlines()[1:-1]
    assert [line.split("s  ", 1)[1] for line in lines] == [
        noted[0][1],
        noted[1][1],
        noted[51][1],
        noted[52][1],
    ]


@pytest.mark.nightly
def test_one_plan_shows_a_planted_bug_in_the_simulator_and_over_processes(tmp_path: Path) -> None:
    scenario = Scenario(
        "sim", "appends", "kill", 1, 10.0, 1, bug="acknowledge-before-append", client=REFERENCE
    )
    plan = Plan.of(replace(scenario, rate=60.0))
    for each in (plan, over_processes(plan, "reference")):
        done = perform_plan(each, tmp_path)
        assert "lost_writes" in done.outcome.accusers
        assert any("Kill" in line for line in done.story.splitlines())


def test_a_run_without_a_plan_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["replay", str(tmp_path)])
    assert done.exit_code == 2 and "only runs that" in done.output.replace("\n", " ")
