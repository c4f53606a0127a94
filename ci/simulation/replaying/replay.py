"""Perform a kept plan again, and reduce it: `touchstone replay`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from chaos.record.gathering import HISTORY
from chaos.run.fitting import check_fit, client_in_virtual_time, workload_named
from chaos.sim.target import Moment
from chaos.targets import parse_target
from chaos.values.protocols import TargetError
from ci.errors import UsageError
from ci.simulation.replaying.plan import Plan
from ci.simulation.replaying.shrinking import Shrinking
from ci.simulation.replaying.story import story
from ci.simulation.schedule import Outcome, attempt
from linearizability.history import F
from linearizability.verdict import Validity
from reference_impl.bugs.clients import CLIENT_BUGS

SHRINK_LIMIT_S = 120.0
STORY = "story.txt"


@dataclass(frozen=True)
class Performed:
    """One performance of a plan: its outcome, and its story in numbered steps."""

    plan: Plan
    outcome: Outcome
    story: str


def perform_plan(plan: Plan, runs: Path) -> Performed:
    """Perform a plan and judge the run; return the outcome and the story. If the run is not valid,
    keep it in `runs`, with its plan and its story."""
    with tempfile.TemporaryDirectory(prefix="touchstone-replay-") as scratch:
        outcome, noted = attempt(plan.scenario, runs, Path(scratch), plan.nemesis)
    text = story(plan.scenario, outcome, noted or list(struck_in(Path(outcome.kept))))
    if outcome.kept:
        (Path(outcome.kept) / STORY).write_text(f"{text}\n")
    return Performed(plan, outcome, text)


def struck_in(directory: Path) -> Iterator[Moment]:
    """Yield (seconds, sentence) for each fault in the history of a run over processes. Yield
    nothing without a history. Elections are missing, since only the simulator records them."""
    file = directory / HISTORY
    if not file.is_file():
        return
    rows = pl.read_parquet(file)
    began_ns = rows["t_invoke_ns"].min()
    faults = rows.filter((pl.col("f") == F.NEMESIS.value) & (pl.col("type") == "ok"))
    times_ns = faults["t_complete_ns"] - began_ns
    for at_ns, told in sorted(zip(times_ns, faults["detail"], strict=True)):
        detail = json.loads(told)
        struck = ", ".join(map(str, detail["nodes"])) or "none"
        yield at_ns / 1e9, f"{detail['fault']} strikes node {struck}"


def over_processes(plan: Plan, target: str) -> Plan:
    """Return the plan for a target of processes: the same workload, faults, times, seed and client
    library. Raise UsageError if that target cannot perform it."""
    bug = plan.scenario.bug
    if bug in CLIENT_BUGS:
        raise UsageError(
            f"{bug} is a bug of clients, which only the simulator plants; leave out --target"
        )
    client = client_in_virtual_time(plan.scenario)
    scenario = replace(plan.scenario, target=target, client=client)
    try:
        workload = workload_named(scenario.workload)
        check_fit(parse_target(target, bug), workload, plan.nemesis, scenario.nodes)
    except TargetError as error:
        raise UsageError(f"--target {target}: {error}") from error
    return replace(plan, scenario=scenario)


def cause(outcome: Outcome) -> str:
    """Return what a smaller plan must show again: the first accuser, or the kind of error if an
    exception has ended the schedule. Return "" if the outcome is not INVALID."""
    if outcome.validity is not Validity.INVALID:
        return ""
    if outcome.accusers == ("simulator",):
        return ":".join(outcome.reason.split(":")[:2])
    return outcome.accusers[0]


def shrink(plan: Plan, limit_s: float = SHRINK_LIMIT_S) -> tuple[Plan, int]:
    """Return the smallest plan found that fails by the same cause, and the number of plans
    performed, the first included. A plan that does not fail is returned as it is. After limit_s
    seconds no further plan is started."""
    with tempfile.TemporaryDirectory(prefix="touchstone-shrink-") as scratch:
        wanted = cause(perform_plan(plan, Path(scratch)).outcome)
        if not wanted:
            return plan, 1

        def fails(tried: Plan) -> bool:
            outcome = perform_plan(tried, Path(scratch)).outcome
            return wanted == cause(outcome) or wanted in outcome.accusers

        shrinking = Shrinking(plan, fails, limit_s)
        return shrinking.perform(), shrinking.tried + 1


def replayed(
    directory: Path, *, reduced: bool, anyway: bool, target: str | None = None
) -> tuple[Performed, str]:
    """Perform the plan of a run again; first reduce it if `reduced`. Return the performance and a
    sentence about it. target: perform it in real time on this target, after it was reduced in
    virtual time. A performance that is not valid is kept beside the run. Raise UsageError if the
    run has no plan that this version can read, it was made for another commit (unless `anyway`), or
    the target cannot perform it."""
    plan = Plan.read(directory, anyway=anyway)
    said = ""
    if reduced:
        smaller, tried = shrink(plan)
        said = f"{plan.faults} faults reduced to {smaller.faults} in {tried} schedules; "
        plan = smaller
    if target is not None:
        plan = over_processes(plan, target)
    done = perform_plan(plan, directory.parent)
    kept = f", kept in {done.outcome.kept}" if done.outcome.kept else ""
    return done, f"{said}{done.outcome.validity.value}{kept}"
