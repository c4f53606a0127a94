"""Perform and judge one schedule in any process; keep its files only if it is not valid."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any, Self

import polars as pl

from chaos.record.gathering import HISTORY
from chaos.record.run_directory import Scenario
from chaos.record.shown import PROBLEMS
from chaos.run.fitting import Parts
from chaos.run.runner import run
from chaos.sim.accusations import accusations
from chaos.sim.target import Moment, Sim
from chaos.values.protocols import Nemesis
from ci.attack import judge
from ci.simulation.plans import LONGEST_S
from ci.simulation.replaying.plan import FILE, Plan, Scripted
from linearizability.history import F
from linearizability.verdict import Validity

CPU_LIMIT_S = 120.0
"""The limit of CPU time for a schedule in seconds, many times what it needs. It is CPU time because
a busy machine is no defect."""
STRIKES_AGAIN_S = 10.0
"""CPU time in seconds between the interrupts of a schedule that continues after it has passed the
limit."""


LIVENESS = "liveness"
"""The accuser of a cluster that is unhealthy long after the heal: all replicas must be in sync, and
all brokers registered."""


class StandsStill(Exception):
    """Raised if a schedule has used more than CPU_LIMIT_S of CPU time, as one does whose virtual
    time does not advance."""

    def __str__(self) -> str:
        return f"it took more than {CPU_LIMIT_S:g} s of CPU time"


class Watch:
    """A context that raises KeyboardInterrupt in a schedule that takes more than CPU_LIMIT_S of
    processor time, and sets `has_struck`. In any thread but the main one it does nothing."""

    def __init__(self) -> None:
        self.has_struck = False
        self._previous: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # others get no signals
            self._previous = signal.signal(signal.SIGPROF, self._strike)
            signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT_S, STRIKES_AGAIN_S)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, self._previous)

    def _strike(self, _number: int, _frame: FrameType | None) -> None:
        self.has_struck = True
        raise KeyboardInterrupt


@dataclass(frozen=True)
class Outcome:
    """The result of one schedule."""

    seed: int
    workload: str
    nemesis: str
    validity: Validity
    reason: str
    """The reason why the verdict is not VALID, in one line."""
    accusers: tuple[str, ...]
    """The checkers, invariants or LIVENESS that found it INVALID; "simulator" if an exception ended
    the schedule."""
    command: str
    """The command that repeats this schedule."""
    seconds: float
    """The real seconds that the schedule took, including judging."""
    shape: str = ""
    """The target and the number of nodes."""
    kept: str = ""
    """The run directory if the run was kept, else ""."""
    struck: Mapping[str, int] = field(default_factory=dict)
    """Fault (or heal) -> how often it was performed successfully."""
    shown: Mapping[str, int] = field(default_factory=dict)
    """Sight (chaos.record.shown) -> how often it was seen in the history."""
    settings: tuple[str, ...] = ()
    """The names of the settings that were drawn."""
    acknowledged: int = 0
    decided: int = 0
    """The number of transactions that were committed or aborted."""
    blamed: str = ""
    """The side that is at fault if the verdict is INVALID: client or broker."""
    claims: tuple[str, ...] = ()
    """The first false claims: statements or actions of a client that no broker's answer
    supports."""
    lacks: bool = False
    """Whether the verdict is UNKNOWN because the run did not show what it is meant to show, and
    might show it if it lasted longer."""
    memory_mib: float = 0.0
    """The peak memory of this process so far, in MiB."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"validity": self.validity.value}


def perform(scenario: Scenario, runs: Path, scratch: Path) -> Outcome:
    """Run a scenario, judge it, and return the outcome. runs: where its run directory is kept if it
    is not valid; scratch: where it is until then.

    A run that ends early, for example by an exception in a step of a node, is a finding: INVALID. A
    schedule that does not show what its workload is meant to show is repeated with twice the time,
    up to LONGEST_S. Raise KeyboardInterrupt after Ctrl-C.
    """
    began = time.monotonic()
    outcome, _ = attempt(scenario, runs, scratch)
    while outcome.lacks and scenario.seconds < LONGEST_S:
        shutil.rmtree(outcome.kept, ignore_errors=True)
        scenario = replace(scenario, seconds=2 * scenario.seconds)
        outcome, _ = attempt(scenario, runs, scratch)
    outcome = replace(outcome, shape=f"{scenario.target} with {scenario.nodes}")
    took_s = round(time.monotonic() - began, 2)
    memory_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return replace(outcome, seconds=took_s, memory_mib=round(memory_mib, 1))


def attempt(
    scenario: Scenario, runs: Path, scratch: Path, nemesis: Nemesis | None = None
) -> tuple[Outcome, list[Moment]]:
    """Run a scenario once and judge it. Return the outcome, and what the simulator has noted of its
    course. An error in the run is an outcome, too. Keep a run that is not VALID, with its plan.
    Raise only KeyboardInterrupt, if the user interrupts. nemesis: used instead of the one that the
    scenario names. See `perform` for the rest."""
    noted: list[Moment] = []
    with tempfile.TemporaryDirectory(dir=scratch) as own, Watch() as watch:
        failure = None
        try:
            parts = Parts.of(scenario)
            if isinstance(parts.target, Sim):
                parts.target.note = noted.append
            if nemesis is not None:
                parts = replace(parts, nemesis=nemesis)
            result = run(scenario, Path(own), parts=parts, progress=False)
            if watch.has_struck:
                raise StandsStill
            if result.interrupted:
                raise KeyboardInterrupt
            outcome = _judged(scenario, result.directory)
            if isinstance(parts.target, Sim):
                if not result.recovered:
                    outcome = stuck(outcome, result.problems)
                outcome = _with_invariants(outcome, parts.target)
                if outcome.validity is Validity.INVALID:
                    outcome = _blamed(outcome, parts.target, result.directory)
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, KeyboardInterrupt) and not watch.has_struck:
                raise
            # The interrupt may strike before the run has begun, too, or while it is judged.
            known = StandsStill() if watch.has_struck else error
            outcome, failure = _failed(scenario, known), traceback.format_exc()
        if outcome.validity is not Validity.VALID:
            outcome = _kept(outcome, Path(own), runs, failure)
            plan = Plan.of(scenario)
            if isinstance(nemesis, Scripted):
                plan = replace(plan, steps=nemesis.steps)
            (Path(outcome.kept) / FILE).write_text(plan.to_json())
    return outcome, noted


def _judged(scenario: Scenario, directory: Path) -> Outcome:
    judged = judge(directory, engine="local")
    validity, opinions = judged.verdict.validity, judged.verdict.checkers
    invalid = {n: one for n, one in opinions.items() if one.validity is Validity.INVALID}
    reason = "; ".join(
        one.reason for one in opinions.values() if one.validity is Validity.UNKNOWN and one.reason
    )
    if invalid:
        first = next((o.anomalies[0].message for o in invalid.values() if o.anomalies), "")
        reason = f"{', '.join(invalid)}: {first}"
    rows = pl.read_parquet(directory / HISTORY)
    return Outcome(
        scenario.seed,
        scenario.workload,
        scenario.nemesis,
        validity,
        reason or judged.verdict.reason or "",
        tuple(invalid),
        scenario.command(),
        0.0,
        struck=_struck(rows),
        shown=dict(judged.run.get("shown", {})),
        settings=tuple(scenario.config),
        acknowledged=int(judged.run["counts"]["records_acknowledged"]),
        decided=_decided(rows),
        lacks=validity is Validity.UNKNOWN
        and shows_too_little(
            [n for n, one in opinions.items() if one.validity is Validity.UNKNOWN],
            judged.run.get("problems", ()),
        ),
    )


def shows_too_little(undecided: Sequence[str], problems: Sequence[str]) -> bool:
    """Return whether a run is UNKNOWN only because it did not show what its workload must show.
    undecided: the opinions that are UNKNOWN, of which `run` stands for the run's problems."""
    return set(undecided) <= {"run"} and set(problems) <= PROBLEMS


def _with_invariants(outcome: Outcome, target: Sim) -> Outcome:
    """Return the outcome, INVALID if a step has broken an invariant."""
    if not target.broken:
        return outcome
    names = tuple(dict.fromkeys(f"invariant {name}" for name, _ in target.broken))
    reason = f"{', '.join(names)}: {target.broken[0][1]}"
    return replace(
        outcome,
        validity=Validity.INVALID,
        accusers=(*outcome.accusers, *names),
        reason=f"{outcome.reason}; {reason}" if outcome.accusers else reason,
        lacks=False,
    )


def stuck(outcome: Outcome, problems: Sequence[str]) -> Outcome:
    """Return the outcome of a schedule whose cluster was not healthy long after the heal: INVALID.
    In virtual time a slow machine is no excuse."""
    reason = next(
        (one for one in problems if "had not recovered" in one), "the cluster did not recover"
    )
    return replace(
        outcome,
        validity=Validity.INVALID,
        accusers=(*outcome.accusers, LIVENESS),
        reason=f"{outcome.reason}; {LIVENESS}: {reason}" if outcome.accusers else reason,
        lacks=False,
    )


def _blamed(outcome: Outcome, target: Sim, directory: Path) -> Outcome:
    """Return the outcome with the side that is at fault, determined from the messages between
    client and broker, and write the accusations to blame.txt in the run directory."""
    found = accusations(pl.read_parquet(directory / HISTORY), target.heard())
    (directory / "blame.txt").write_text(
        "\n".join(found)
        or "no client made a false report or broke the protocol: the fault is the broker's"
    )
    return replace(outcome, blamed="client" if found else "broker", claims=tuple(found[:3]))


def _struck(rows: pl.DataFrame) -> dict[str, int]:
    """Return fault (or heal) -> the number of times that it was performed successfully."""
    performed = rows.filter((pl.col("f") == F.NEMESIS.value) & (pl.col("type") == "ok"))
    names = [json.loads(detail)["fault"] for detail in performed["detail"].to_list()]
    return dict(Counter(names))


def _decided(rows: pl.DataFrame) -> int:
    ends = pl.col("f").is_in([F.COMMIT.value, F.ABORT.value]) & (pl.col("type") == "ok")
    return rows.filter(ends)["op_id"].n_unique()


def _failed(scenario: Scenario, error: BaseException) -> Outcome:
    sentence = f"the schedule ended early: {type(error).__name__}: {error}"
    return Outcome(
        scenario.seed,
        scenario.workload,
        scenario.nemesis,
        Validity.INVALID,
        sentence,
        ("simulator",),
        scenario.command(),
        0.0,
        settings=tuple(scenario.config),
    )


def _kept(outcome: Outcome, scratch: Path, runs: Path, failure: str | None) -> Outcome:
    """Move the run directory from `scratch` to `runs`, under a name that is free there, and add the
    traceback of the exception that ended it, if any. Return the outcome with the new path. A run
    that has made no directory gets an empty one."""
    runs.mkdir(parents=True, exist_ok=True)
    found = sorted(scratch.iterdir())
    name = found[0].name if found else f"sim-{outcome.seed}"
    target = runs / name
    number = 1
    while target.exists():
        number += 1
        target = runs / f"{name}.{number}"
    if found:
        shutil.move(found[0], target)
    else:
        target.mkdir()
    if failure is not None:
        (target / "failure.txt").write_text(failure)
    return replace(outcome, kept=str(target))
