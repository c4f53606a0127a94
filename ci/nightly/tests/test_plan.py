"""Test which scenarios a night would run."""

from __future__ import annotations

import json
from itertools import islice

import pytest
from typer.testing import CliRunner

from chaos.scenarios.expectation import Part
from chaos.values.protocols import TargetError
from ci.cli import app
from ci.nightly import planned, targets_of
from ci.nightly.plan import CANARIES_A_NIGHT, Plan, check_targets
from linearizability.verdict import Validity
from reference_impl.bugs import BUGS

BOTH = ("apache:4.3.1", "reference")


def test_45_minutes_reach_40_scenarios_on_both_targets() -> None:
    chosen = Plan(BOTH, seed=1).within(45 * 60 * 7 / 8)
    assert len(chosen) >= 40
    assert {one.scenario.target for one in chosen} == set(BOTH)
    assert {one.part for one in chosen} == set(Part)


def canaries_in(seed: int) -> dict[str | None, Validity]:
    plan = Plan(("reference",), seed)
    candidates = [*plan.always(), *(one for one, _ in plan.left_out())]
    return {one.scenario.bug: one.verdict for one in candidates if one.part is Part.CANARY}


def test_every_bug_that_a_checker_catches_is_a_canary_within_a_few_nights() -> None:
    judged = [name for name, bug in BUGS.items() if bug.caught_by]
    assert 0 < len(judged) < len(BUGS)
    enough = -(-len(judged) // CANARIES_A_NIGHT)
    nights = [canaries_in(seed) for seed in range(41, 41 + enough)]
    assert all(len(night) == CANARIES_A_NIGHT for night in nights)
    found = {bug: verdict for night in nights for bug, verdict in night.items()}
    assert found == dict.fromkeys(judged, Validity.INVALID)


def test_a_seed_fixes_the_plan_and_another_chooses_another() -> None:
    def commands(seed: int) -> list[str]:
        return [one.command for one in islice(Plan(BOTH, seed).scenarios(), 60)]

    assert commands(1) == commands(1)
    assert commands(1) != commands(2)
    assert len(set(commands(1))) == 60


def test_targets_come_repeated_with_commas_or_bare() -> None:
    assert targets_of(["apache:4.3.1", "reference,kfake", "kfake"]) == (*BOTH, "kfake")
    assert targets_of([]) == BOTH


def test_an_unknown_target_is_refused_before_anything_is_run() -> None:
    with pytest.raises(TargetError, match="did you mean 'reference'"):
        check_targets(["referense"])


def test_plan_prints_what_would_run_and_runs_nothing() -> None:
    arguments = ["nightly", "--plan", "--minutes", "60", "--targets", "reference", "kfake"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    found = planned(60, ["reference", "kfake"], 1)
    assert done.output.rstrip() == found.text()
    as_json = CliRunner().invoke(app, [*arguments, "--json"])
    told = json.loads(as_json.output)
    assert [each["command"] for each in told["scenarios"]] == [
        one.command for one in found.scenarios
    ]
    assert len(told["left_out"]) == len(found.left_out)
    assert told["robustness"]["kills"] == found.kills > 0
    assert "regression: reference × 1, appends, kill, seed 1" in done.output
    assert "exploration: kfake × 1" in done.output


def test_no_time_at_all_is_refused() -> None:
    done = CliRunner().invoke(app, ["nightly", "--minutes", "0"])
    assert done.exit_code == 2


def test_json_without_a_plan_is_refused() -> None:
    refused = CliRunner().invoke(app, ["nightly", "--json"])
    assert refused.exit_code == 2
    assert "--json needs --plan" in str(refused.output) + str(refused.exception)
