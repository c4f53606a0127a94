"""Run every planted bug until one of its checkers finds it, then run the clean broker.

Each run is a separate process (ci.nightly.job) with its own ports, so that several can run at once.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.record.run_directory import Scenario
from chaos.scenarios.fitting import why_not
from chaos.values.protocols import TargetError
from ci.attack import judge
from ci.bugs.finding import Attempt, Finding
from ci.bugs.scenarios import TARGET, scenario_of
from ci.conform import examine
from ci.errors import UsageError
from ci.lanes import LOOK_EVERY_S, Lanes
from ci.nightly.job import Job
from linearizability.history import HistoryError
from linearizability.verdict import Validity
from reference_impl.bugs import BUGS, CONFORMANCE

Say = Callable[[str], None]


def named(only: Sequence[str], bugs: Container[str]) -> list[str]:
    """Return the names in `only` (they may be joined by commas). Raise UsageError for one that is
    not among the bugs, or if only commas are given."""
    names = [name for words in only for name in words.split(",") if name]
    if unknown := [name for name in names if name not in bugs]:
        raise UsageError(
            f"--only {unknown[0]}: there is no such bug; `touchstone bugs --list` names them all"
        )
    if only and not names:
        raise UsageError("--only names nothing; name bugs, such as never-end-sessions")
    return names


def chosen(only: Sequence[str]) -> list[str]:
    """Return the given bugs, or all that a hunt over processes finds if none is given. Raise
    UsageError as `named` does."""
    return named(only, BUGS) or list(BUGS)


@dataclass
class Hunt:
    """The settings of a hunt for planted bugs, and its findings so far."""

    names: Sequence[str]
    runs: Path
    seed: int = 1
    attempts_max: int = 3
    seconds: float = 30.0
    jobs: int = 1
    say: Say = print
    findings: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        longest_first = sorted(self.names, key=lambda name: -BUGS[name].seconds_min)
        self._waiting: Iterator[str] = iter(longest_first)
        self._lock, self._judging = threading.Lock(), threading.Lock()
        self._interrupted = threading.Event()
        """Whether to stop: set after Ctrl-C, or if a lane (one of the parallel series of runs) has
        failed. No further run is then started or awaited."""
        self._lanes = Lanes(self.jobs, self._lane, self._interrupted.set)
        self._clean: dict[str, Future[Attempt]] = {}
        """Command -> the run of the clean broker. Bugs that need the same run share it."""

    def perform(self) -> None:
        """Try every bug. After Ctrl-C, raise KeyboardInterrupt; `findings` holds what was done
        until then, in the order of `names`."""
        try:
            self._lanes.perform()
        finally:
            order = {name: number for number, name in enumerate(self.names)}
            self.findings.sort(key=lambda each: order[each.name])

    def _lane(self, own_ports: range) -> None:
        while (name := self._next()) is not None:
            self._try(name, own_ports)

    def _next(self) -> str | None:
        with self._lock:
            return None if self._interrupted.is_set() else next(self._waiting, None)

    def _try(self, name: str, own_ports: range) -> None:
        """Run one bug up to `attempts_max` times until it is caught, then the clean broker with the
        same seed; if no run catches it, run the cases that it names. Add the finding and say it,
        unless the hunt was interrupted before the clean broker's run."""
        bug = BUGS[name]
        scenario = scenario_of(name, self.seconds, self.seed)
        finding = Finding(name, bug.kind, bug.expected_of, scenario.command())
        if bug.caught_by:
            finding.left_out = why_not(scenario) or ""
            self._attack(finding, scenario, own_ports)
        if bug.cases and not finding.caught_by and not self._interrupted.is_set():
            self._examine(finding, bug.cases)
        if self._interrupted.is_set() and finding.clean is None:
            return
        with self._lock:
            self.findings.append(finding)
            done = f"{len(self.findings)} of {len(self.names)}"
        self.say(f"== {done}: {finding.ending.value}: {name}: {finding.said}")

    def _attack(self, finding: Finding, scenario: Scenario, own_ports: range) -> None:
        for number in range(0 if finding.left_out else self.attempts_max):
            scenario = replace(scenario, seed=self.seed + number)
            attempt = self._once(scenario, own_ports, f"{finding.name}, seed {scenario.seed}")
            if attempt is None:
                return
            if finding.add(attempt):
                finding.clean = self._clean_run(replace(scenario, bug=None), own_ports)
                return

    def _examine(self, finding: Finding, cases: str) -> None:
        """Run the conformance cases that the bug names and, if they catch it, the same against the
        clean broker; they send requests that no client library sends."""
        with self._judging:
            finding.left_out = ""
            if finding.add(examined(cases, finding.name)):
                finding.clean = examined(cases, None)

    def _clean_run(self, scenario: Scenario, own_ports: range) -> Attempt | None:
        """Return a run of the clean broker, reusing an earlier one if there is one, or None if the
        hunt was interrupted."""
        command = scenario.command()
        with self._lock:
            known = self._clean.get(command)
            if known is None:
                known = self._clean[command] = Future()
                is_ours = True
            else:
                is_ours = False
        if not is_ours:
            while not self._interrupted.is_set():
                try:
                    return known.result(LOOK_EVERY_S)
                except TimeoutError:
                    continue
            return None
        attempt = self._once(scenario, own_ports, f"clean {scenario.workload}, {scenario.nemesis}")
        if attempt is not None:
            known.set_result(attempt)
        return attempt

    def _once(self, scenario: Scenario, own_ports: range, title: str) -> Attempt | None:
        """Perform one run and judge it. Return None if the hunt was interrupted meanwhile. An
        attempt whose run could not be made, or whose history cannot be read, has no validity."""
        began = time.monotonic()
        self.say(f"   {title}: {scenario.workload}, {scenario.nemesis}, {scenario.seconds:g} s")
        home = self.runs / "bugs" / str(own_ports.start)
        job = Job.start(scenario, self.runs, home, own_ports)
        job.wait(self._interrupted, lambda line: None)
        if self._interrupted.is_set():
            return None
        command = scenario.command()
        try:
            path = job.result()
            with self._judging:
                verdict = judge(path, engine="local").verdict
        except (TargetError, HistoryError) as error:
            seconds = time.monotonic() - began
            return Attempt(scenario.seed, None, (), str(error), "", command, seconds)
        attempt = Attempt.of(scenario.seed, verdict, path.name, command, time.monotonic() - began)
        by = f" by {', '.join(attempt.accusers)}" if attempt.accusers else ""
        self.say(f"   {title}: {verdict.validity.value}{by}; {attempt.seconds:.0f} s, {path.name}")
        return attempt


def examined(cases: str, bug: str | None) -> Attempt:
    """Return the result of running conformance cases against the reference broker with the given
    bug (None: the clean broker). It has no validity if they did not run to the end."""
    options = ["--target", TARGET, *(["--bug", bug] if bug else []), "-k", cases]
    command = shlex.join(["touchstone", "conform", *options])
    began = time.monotonic()
    try:
        results = examine(options, quiet=True)
    except UsageError as error:
        return Attempt(0, None, (), str(error), "", command, time.monotonic() - began)
    has_failed, seconds = bool(results["failed"]), time.monotonic() - began
    if results.get("ended"):
        return Attempt(0, None, (), f"the cases {results['ended']}", "", command, seconds)
    validity = Validity.INVALID if has_failed else Validity.VALID
    return Attempt(0, validity, (CONFORMANCE,) * has_failed, "", "", command, seconds)
