"""Perform a kept plan again, and reduce it: `touchstone replay`."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from ci.simulation.replaying.plan import Plan
from ci.simulation.replaying.shrinking import Shrinking
from ci.simulation.replaying.story import story
from ci.simulation.schedule import Outcome, attempt
from linearizability.verdict import Validity

SHRINK_LIMIT_S = 120.0
STORY = "story.txt"


@dataclass(frozen=True)
class Performed:
    """One performance of a plan: its outcome, and its story."""

    plan: Plan
    outcome: Outcome
    story: str


def perform_plan(plan: Plan, runs: Path) -> Performed:
    """Perform a plan and judge it. Keep it in `runs` with its plan and its story if it is not
    valid."""
    with tempfile.TemporaryDirectory(prefix="touchstone-replay-") as scratch:
        outcome, noted = attempt(plan.scenario, runs, Path(scratch), plan.nemesis)
    text = story(plan.scenario, outcome, noted)
    if outcome.kept:
        (Path(outcome.kept) / STORY).write_text(f"{text}\n")
    return Performed(plan, outcome, text)


def cause(outcome: Outcome) -> str:
    """Return what a smaller plan must show again: the first accuser, and the kind of error where an
    exception has ended the schedule."""
    if outcome.validity is not Validity.INVALID:
        return ""
    if outcome.accusers == ("simulator",):
        return ":".join(outcome.reason.split(":")[:2])
    return outcome.accusers[0]


def shrink(plan: Plan, limit_s: float = SHRINK_LIMIT_S) -> tuple[Plan, int]:
    """Return the smallest plan found that fails by the same cause, and the number of plans tried.
    A plan that does not fail is returned as it is."""
    with tempfile.TemporaryDirectory(prefix="touchstone-shrink-") as scratch:
        wanted = cause(perform_plan(plan, Path(scratch)).outcome)
        if not wanted:
            return plan, 1

        def fails(tried: Plan) -> bool:
            outcome = perform_plan(tried, Path(scratch)).outcome
            return wanted == cause(outcome) or wanted in outcome.accusers

        shrinking = Shrinking(plan, fails, limit_s)
        return shrinking.perform(), shrinking.tried + 1


def replayed(directory: Path, *, reduced: bool, anyway: bool) -> tuple[Performed, str]:
    """Perform the plan of a run again, reduced if asked for. Return the performance and a sentence
    about it. Raise UsageError."""
    plan = Plan.read(directory, anyway=anyway)
    said = ""
    if reduced:
        smaller, tried = shrink(plan)
        said = f"{plan.faults} faults reduced to {smaller.faults} in {tried} schedules; "
        plan = smaller
    done = perform_plan(plan, directory.parent)
    kept = f", kept in {done.outcome.kept}" if done.outcome.kept else ""
    return done, f"{said}{done.outcome.validity.value}{kept}"
