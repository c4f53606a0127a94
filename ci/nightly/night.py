"""Runs one night: scenario after scenario until the time is up, each on record as it ends."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.protocols import TargetError
from chaos.run_directory import REPOSITORY, commit_of, utc_now
from chaos.scenarios.expectation import Expectation
from ci.attack import attack_as_planned
from ci.nightly.outcome import Ending, Outcome, exit_status
from ci.nightly.plan import Plan, check_targets
from ci.nightly.records import Night, Store
from ci.nightly.robustness import robustness
from ci.nightly.trend import write_trend
from linearizability.history import HistoryError
from linearizability.verdict import Validity


@dataclass
class Nightly:
    """The settings of a night, and what it has come to so far."""

    minutes: float
    plan: Plan
    runs: Path
    keep_gib: float
    night: Night = field(init=False)

    def __post_init__(self) -> None:
        check_targets(self.plan.targets)
        self.store = Store(self.runs)
        self.store.nights()  # a record that cannot be read is told before a night, not after it
        commit, changed = commit_of(REPOSITORY)
        settings = {
            "commit": f"{commit} and uncommitted changes" if changed else commit,
            "seed": self.plan.seed,
            "minutes": self.minutes,
            "targets": list(self.plan.targets),
        }
        self.night = Night(Path(), settings)
        self.night.file = self.store.night_file(self.night.started)
        self.night.left_out = {str(one): reason for one, reason in self.plan.left_out()}

    def perform(self) -> int:
        """Everything; the exit status. What was done by then is on record whatever happens."""
        deadline = time.monotonic() + self.minutes * 60
        try:
            if "reference" in self.plan.targets:
                self.night.robustness = robustness(self.minutes, self.plan.seed)
            for one in self.plan.scenarios():
                if time.monotonic() >= deadline:
                    break
                self._perform(one, deadline)
        finally:
            self._finish()
        print(summary(self.night), flush=True)
        print(f"trend: {self.store.home / 'trend.html'}")
        return exit_status(self.night.outcomes, self.night.robustness.values())

    def _perform(self, one: Expectation, deadline: float) -> None:
        """Once, and once more where it ended as it must not: the same again, or flaky?"""
        print(f"\n== {len(self.night.outcomes) + 1}: {one}", flush=True)
        outcome = self._once(one, [])
        if outcome.ending is Ending.RED and time.monotonic() < deadline:
            print(f"   {outcome.said}; once more", flush=True)
            self._record(outcome, replace_last=False)
            again = self._once(one, [Validity(verdict) for verdict in outcome.verdicts])
            outcome = replace(again, earlier_runs=(outcome.run,))
            self._record(outcome, replace_last=True)
        else:
            self._record(outcome, replace_last=False)
        cost = outcome.seconds - outcome.attack_seconds
        print(
            f"   {outcome.ending.value}: {outcome.said};"
            f" {outcome.seconds:.0f} s, {cost:.0f} of them beside the attack",
            flush=True,
        )

    def _once(self, one: Expectation, before: list[Validity]) -> Outcome:
        began = time.monotonic()
        scenario = one.scenario
        try:
            judged = attack_as_planned(scenario, self.runs)
        except (TargetError, HistoryError) as error:
            return Outcome.of(one, before, str(error), "", time.monotonic() - began)
        except Exception as error:  # a defect of ours costs one scenario, not the night
            traceback.print_exception(error)
            reason = f"a defect of touchstone: {type(error).__name__}: {error}"
            return Outcome.of(one, before, reason, "", time.monotonic() - began)
        self.store.keep_history(judged.path, scenario.target, self.night.started)
        verdict = judged.verdict
        return Outcome.of(
            one, [*before, verdict.validity], verdict.reason or "", judged.path.name,
            time.monotonic() - began,
        )  # fmt: skip

    def _record(self, outcome: Outcome, replace_last: bool) -> None:
        if replace_last:
            self.night.outcomes.pop()
        self.night.outcomes.append(outcome)
        self.night.write()
        if gone := self.store.prune(self.keep_gib):
            print(f"   deleted to stay within {self.keep_gib:g} GiB: {', '.join(gone)}")

    def _finish(self) -> None:
        self.night.ended = utc_now()
        self.night.exit_status = exit_status(self.night.outcomes, self.night.robustness.values())
        self.night.write()
        write_trend(self.store)


def summary(night: Night) -> str:
    """A line for each scenario, and the command where it did not end as it must."""
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
