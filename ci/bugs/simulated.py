"""Hunt planted bugs, of the broker and of its clients, in the simulator: many seeds for each.

The simulator sees both ends of every connection, so the right side must be blamed as well.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.clients.factories import REFERENCE
from chaos.record.run_directory import Scenario
from chaos.scenarios.exploration import promised_config
from ci.bugs.finding import Attempt, Finding, Side
from ci.bugs.hunt import named
from ci.errors import UsageError
from ci.simulation.plans import RATE
from ci.simulation.schedule import perform
from ci.simulation.search import end_processes, prepare
from reference_impl.bugs.clients import CLIENT_BUGS
from reference_impl.bugs.cluster import BROKER_BUGS

TARGET = "sim"


def chosen_for_simulator(only: Sequence[str]) -> list[str]:
    """Return the given bugs, or all that a run can show if none is given. Raise UsageError for one
    that is unknown, or that only conformance cases show."""
    names = named(only, {*BROKER_BUGS, *CLIENT_BUGS})
    for name in names:
        if not _checkers(name):
            raise UsageError(
                f"--only {name}: only conformance cases show it; give --target reference"
            )
    return names or [name for name in (*BROKER_BUGS, *CLIENT_BUGS) if _checkers(name)]


def _checkers(name: str) -> tuple[str, ...]:
    return BROKER_BUGS[name].caught_by if name in BROKER_BUGS else CLIENT_BUGS[name].caught_by


def simulated_scenario(name: str, seconds: float, seed: int) -> Scenario:
    """Return the scenario that reveals a planted bug in the simulator; it lasts `seconds`, or
    longer if a bug of the broker needs that."""
    config: dict[str, str] = {}
    nodes = 1
    if name in BROKER_BUGS:
        bug = BROKER_BUGS[name]
        workload, nemesis = bug.workload, bug.nemesis
        seconds, config, nodes = max(seconds, bug.seconds_min), {**bug.config}, bug.nodes
    else:
        workload, nemesis = CLIENT_BUGS[name].workload, CLIENT_BUGS[name].nemesis
    return Scenario(
        TARGET,
        workload,
        nemesis,
        nodes,
        seconds,
        seed,
        {**promised_config(nemesis), **config},
        name,
        RATE,
        REFERENCE,
    )


@dataclass
class SimulatedHunt:
    """The settings of a hunt in virtual time, and its findings so far."""

    names: Sequence[str]
    runs: Path
    seed: int
    attempts_max: int
    seconds: float
    jobs: int
    say: Callable[[str], None]
    findings: list[Finding] = field(default_factory=list)

    def perform(self) -> None:
        """Try every bug, in several processes at once. After Ctrl-C, end them and raise
        KeyboardInterrupt; `findings` holds what was done until then, in the order of `names`."""
        pool = ProcessPoolExecutor(
            self.jobs, multiprocessing.get_context("spawn"), initializer=prepare
        )
        longest_first = sorted(
            self.names, key=lambda name: -simulated_scenario(name, self.seconds, 1).seconds
        )
        try:
            with tempfile.TemporaryDirectory(prefix="touchstone-bugs-") as scratch:
                pending = [
                    pool.submit(self._one(name).perform, Path(scratch)) for name in longest_first
                ]
                for done in as_completed(pending):
                    self._add(done.result())
        except BaseException:
            end_processes()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            order = {name: number for number, name in enumerate(self.names)}
            self.findings.sort(key=lambda each: order[each.name])

    def _one(self, name: str) -> OneBug:
        return OneBug(name, self.runs, self.seed, self.attempts_max, self.seconds)

    def _add(self, finding: Finding) -> None:
        self.findings.append(finding)
        done = f"{len(self.findings)} of {len(self.names)}"
        self.say(f"== {done}: {finding.ending.value}: {finding.name}: {finding.said}")


@dataclass(frozen=True)
class OneBug:
    """The hunt for one bug, which may be performed in another process."""

    name: str
    runs: Path
    seed: int
    attempts_max: int
    seconds: float

    def perform(self, scratch: Path) -> Finding:
        """Try seed after seed, at most `attempts_max`, until a checker of the bug finds it; then
        run the clean broker and clients with that seed. Return what was found, also if nothing
        was."""
        scenario = simulated_scenario(self.name, self.seconds, self.seed)
        side = Side.BROKER if self.name in BROKER_BUGS else Side.CLIENT
        kind = (BROKER_BUGS if self.name in BROKER_BUGS else CLIENT_BUGS)[self.name].kind
        finding = Finding(self.name, kind, _checkers(self.name), scenario.command(), side=side)
        for number in range(self.attempts_max):
            tried = replace(scenario, seed=self.seed + number)
            if finding.add(self._attempt(tried, scratch)):
                finding.clean = self._attempt(replace(tried, bug=None), scratch)
                break
        return finding

    def _attempt(self, scenario: Scenario, scratch: Path) -> Attempt:
        began = time.monotonic()
        outcome = perform(scenario, self.runs, scratch)
        return Attempt(
            scenario.seed,
            outcome.validity,
            outcome.accusers,
            outcome.reason,
            Path(outcome.kept).name,
            outcome.command,
            time.monotonic() - began,
            outcome.blamed,
        )
