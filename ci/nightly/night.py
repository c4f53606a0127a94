"""Run the scenarios of one night until the time is up, and store each result as soon as it is
known.

Each attack is a separate process (ci.nightly.attacker), `jobs` of them at once. The runs are judged
here, one at a time, in one Spark session.
"""

from __future__ import annotations

import math
import shutil
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.record.run_directory import REPOSITORY, Scenario, commit_of, utc_now
from chaos.scenarios.expectation import Expectation
from chaos.values.protocols import TargetError
from ci.attack import Judged, judge_for_the_record
from ci.lanes import LOOK_EVERY_S, Lanes
from ci.nightly.agenda import Agenda
from ci.nightly.job import Job
from ci.nightly.known import known_defect
from ci.nightly.outcome import Ending, Outcome, exit_status
from ci.nightly.plan import Plan, check_targets, check_there
from ci.nightly.records import UNCOMMITTED, Night, Store
from ci.nightly.robustness import robustness
from ci.nightly.trend import write_trend
from ci.report.building import report_run
from ci.ui import write_static
from linearizability.history import HistoryError
from linearizability.verdict import Validity, Verdict

LONGEST_S = 90.0
"""The longest attack, in seconds, of a scenario that is run again, longer, because it has not shown
what it is meant to show."""
Say = Callable[[str], None]


@dataclass
class Nightly:
    """One night: its settings and its results so far. Making one raises TargetError or UsageError
    for wrong targets or records; `perform` runs it."""

    minutes: float
    plan: Plan
    runs: Path
    keep_gib: float
    jobs: int = 1
    night: Night = field(init=False)

    def __post_init__(self) -> None:
        check_targets(self.plan.targets)
        check_there(self.plan.targets)
        self.store = Store(self.runs)
        self.store.nights()  # report an unreadable record before the night, not after it
        commit, changed = commit_of(REPOSITORY)
        settings = {
            "commit": f"{commit}{UNCOMMITTED}" if changed else commit,
            "seed": self.plan.seed,
            "minutes": self.minutes,
            "targets": list(self.plan.targets),
        }
        self.night = Night(Path(), settings)
        self.night.file = self.store.night_file(self.night.started)
        self.night.left_out = {str(one): reason for one, reason in self.plan.left_out()}
        self._agenda = Agenda(self.plan.scenarios())
        self._writing, self._judging = threading.Lock(), threading.Lock()
        self._begun, self._deadline = 0, math.inf
        self._lanes = Lanes(self.jobs, self._perform_in_turn, self._agenda.close)
        self._interrupted = self._lanes.interrupted

    def perform(self) -> int:
        """Run the whole night and return the exit status. Each result is stored as soon as it is
        known, so that it survives a failure. After Ctrl-C, finish the report and raise
        KeyboardInterrupt."""
        self._deadline = time.monotonic() + self.minutes * 60
        try:
            if "reference" in self.plan.targets:
                self.night.robustness = robustness(self.minutes, self.plan.seed)
            self._lanes.perform()
        finally:
            self._finish()
        print(summary(self.night), flush=True)
        print(f"trend: {self.store.home / 'trend.html'}")
        return exit_status(self.night.outcomes, self.night.robustness.values())

    # --- lanes ----------------------------------------------------------------------------------

    def _perform_in_turn(self, own_ports: range) -> None:
        """Run scenarios one after another until the time is up or none is left."""
        while not self._interrupted.is_set() and time.monotonic() < self._deadline:
            one = self._agenda.choose()
            if one is None:
                if not self._agenda.wait(LOOK_EVERY_S):
                    return
                continue
            try:
                self._perform(one, own_ports)
            finally:
                self._agenda.done(one)

    def _perform(self, one: Expectation, own_ports: range) -> None:
        """Run a scenario and record its outcome. If that is RED and the time is not up, run the
        scenario again to see whether it is flaky, and record the second outcome instead."""
        with self._writing:
            self._begun += 1
            number = self._begun
            print(f"\n== {number}: {one}", flush=True)

        def say(line: str) -> None:
            print(f"{number:>4} | {line}" if self.jobs > 1 else line, flush=True)

        outcome = self._once(one, [], own_ports, say)
        if outcome is None:
            return
        self._record(outcome)
        if outcome.ending is Ending.RED and time.monotonic() < self._deadline:
            say(f"   {outcome.said}; running it once more")
            verdicts = [Validity(verdict) for verdict in outcome.verdicts]
            again = self._once(one, verdicts, own_ports, say)
            if again is not None:
                again = replace(again, earlier_runs=(outcome.run,))
                self._record(again, instead_of=outcome)
                outcome = again
        cost = outcome.seconds - outcome.attack_seconds
        say(
            f"   {outcome.ending.value}: {outcome.said};"
            f" {outcome.seconds:.0f} s, {cost:.0f} of them outside the attack"
        )

    def _once(
        self, one: Expectation, before: list[Validity], own_ports: range, say: Say
    ) -> Outcome | None:
        """Run the scenario, and once more for twice as long, at most LONGEST_S, if it has not shown
        what it must. Return the outcome of the last run, or None if the night was interrupted
        meanwhile. before: the verdicts of earlier attempts, which the outcome includes."""
        began = time.monotonic()
        try:
            judged = self._attack(one.scenario, own_ports, say)
            if judged.run.get("not_shown") and one.scenario.seconds < LONGEST_S:
                missing = ", no ".join(judged.run["not_shown"])
                say(f"   the run has shown no {missing}; running it again for longer")
                longer_s = min(LONGEST_S, 2 * one.scenario.seconds)
                one = replace(one, scenario=replace(one.scenario, seconds=longer_s))
                judged = self._attack(one.scenario, own_ports, say)
        except (TargetError, HistoryError) as error:
            if self._interrupted.is_set():
                return None
            return Outcome.of(one, before, str(error), "", time.monotonic() - began)
        except Exception as error:  # a bug of Touchstone fails one scenario, not the night
            traceback.print_exception(error)
            reason = f"a defect of touchstone: {type(error).__name__}: {error}"
            return Outcome.of(one, before, reason, "", time.monotonic() - began)
        verdict = judged.verdict
        outcome = Outcome.of(
            one,
            [*before, verdict.validity],
            explained(verdict),
            judged.path.name,
            time.monotonic() - began,
            unrelated=is_unrelated(one, verdict),
        )
        return (
            outcome if before else replace(outcome, known=known_defect(judged.path, one, verdict))
        )

    def _attack(self, scenario: Scenario, own_ports: range, say: Say) -> Judged:
        """Make the run in a separate process, then judge it and draw its report here, one run at a
        time. Return the verdict. Raise TargetError if there is no run to judge, and HistoryError if
        its history cannot be read."""
        home = self._jobs_home / str(own_ports.start)
        job = Job.start(scenario, self.runs, home, own_ports)
        job.wait(self._interrupted, say)
        path = job.result()
        with self._judging:
            judged = judge_for_the_record(path)
            report_run(path)
        self.store.keep_history(path, scenario.target, self.night.started)
        return judged

    @property
    def _jobs_home(self) -> Path:
        """The folder of the attack processes' files while the night runs."""
        return self.night.file.parent / "jobs"

    # --- records --------------------------------------------------------------------------------

    def _record(self, outcome: Outcome, instead_of: Outcome | None = None) -> None:
        with self._writing:
            if instead_of is not None:
                self.night.outcomes.remove(instead_of)
            self.night.outcomes.append(outcome)
            self.night.write()
            if gone := self.store.prune(self.keep_gib):
                print(f"   deleted to stay within {self.keep_gib:g} GiB: {', '.join(gone)}")

    def _finish(self) -> None:
        with self._writing:
            self.night.ended = utc_now()
            good = self.night.robustness.values()
            self.night.exit_status = exit_status(self.night.outcomes, good)
            self.night.write()
            write_trend(self.store)
            write_static(self.store.runs, self.store.runs)
        shutil.rmtree(self._jobs_home, ignore_errors=True)


def is_unrelated(one: Expectation, verdict: Verdict) -> bool:
    """Return whether a run is INVALID, but none of the checkers that must find the bug says so."""
    if verdict.validity is not Validity.INVALID or not one.by:
        return False
    return not any(
        checker.validity is Validity.INVALID
        for name, checker in verdict.checkers.items()
        if name in one.by
    )


def explained(verdict: Verdict) -> str:
    """Return why a verdict is not valid, with the reasons of unfinished checkers. Return "" if no
    reason is given."""
    unfinished = [
        checker.reason
        for checker in verdict.checkers.values()
        if checker.validity is Validity.UNKNOWN and checker.reason
    ]
    if verdict.validity is Validity.UNKNOWN and unfinished:
        return "; ".join(unfinished)
    return verdict.reason or ""


def summary(night: Night) -> str:
    """Return one line for each robustness test and each scenario, with its command if it did not
    end as expected, then one for each scenario that was left out, and the counts."""
    lines = ["\n== summary"]
    for said, good in night.robustness.items():
        lines.append(f"{(Ending.AS_EXPECTED if good else Ending.RED).value:<16} {said}")
    for outcome in night.outcomes:
        lines.append(f"{outcome.ending.value:<16} {outcome.name}: {outcome.said}")
        if outcome.ending is not Ending.AS_EXPECTED:
            lines.append(f"{'':<16} {outcome.run}; reproduce: {outcome.command}")
    for name, reason in night.left_out.items():
        lines.append(f"{'left out':<16} {name}: {reason}")
    counts = ", ".join(
        f"{sum(outcome.ending is ending for outcome in night.outcomes)} {ending.value}"
        for ending in Ending
    )
    lines.append(f"{len(night.outcomes)} scenarios: {counts}")
    return "\n".join(lines)
