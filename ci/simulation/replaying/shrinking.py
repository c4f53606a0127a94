"""Reduce a plan that fails, as long as the same checker, or the same invariant, still fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ci.simulation.replaying.plan import Plan, Step

SECONDS_MIN, RATE_MIN = 2.0, 10.0
Fails = Callable[[Plan], bool]
"""A function that performs a plan, and returns whether it fails as the first one did."""


@dataclass
class Shrinking:
    """Searches for a smaller plan that fails in the same way, and keeps the smallest so far."""

    plan: Plan
    fails: Fails
    limit_s: float
    tried: int = 0
    _began: float = field(default_factory=time.monotonic)

    @property
    def has_time(self) -> bool:
        """Return whether another plan may be tried."""
        return time.monotonic() - self._began < self.limit_s

    def perform(self) -> Plan:
        """Try smaller and smaller plans until none of them fails or the time is up. Return the
        smallest one that fails."""
        for reduce in (self._shorten, self._drop_steps, self._drop_settings, self._slow_down):
            reduce()
        return self.plan

    def _try(self, plan: Plan) -> bool:
        """Perform a plan, and keep it if it fails. Return whether it does, or False, without trying
        it, if the time is up."""
        if not self.has_time:
            return False
        self.tried += 1
        if self.fails(plan):
            self.plan = plan
            return True
        return False

    def _shorten(self) -> None:
        """Let the attack end earlier, with only the faults that come before its new end."""
        while self.plan.scenario.seconds / 2 >= SECONDS_MIN:
            seconds = self.plan.scenario.seconds / 2
            scenario = replace(self.plan.scenario, seconds=seconds)
            if not self._try(Plan(scenario, tuple(_within(self.plan.steps, seconds)))):
                return

    def _drop_steps(self) -> None:
        """Try to leave out all steps at once, then each half, each quarter and so on, and finally
        each single step."""
        size = len(self.plan.steps)
        while size:
            first = 0
            while first < len(self.plan.steps) and self.has_time:
                if not self._try(replace(self.plan, steps=_without(self.plan.steps, first, size))):
                    first += size
            size //= 2

    def _drop_settings(self) -> None:
        for key in list(self.plan.scenario.config):
            config = {k: v for k, v in self.plan.scenario.config.items() if k != key}
            self._try(replace(self.plan, scenario=replace(self.plan.scenario, config=config)))

    def _slow_down(self) -> None:
        while self.plan.scenario.rate / 2 >= RATE_MIN:
            slower = replace(self.plan.scenario, rate=self.plan.scenario.rate / 2)
            if not self._try(replace(self.plan, scenario=slower)):
                return


def _within(steps: tuple[Step, ...], seconds: float) -> Iterator[Step]:
    """Yield the steps whose time comes within the given seconds."""
    began_s = 0.0
    for step in steps:
        began_s += step.wait_s
        if began_s >= seconds:
            return
        yield step


def _without(steps: tuple[Step, ...], first: int, size: int) -> tuple[Step, ...]:
    """Return the steps without `size` of them from `first` on. The steps after those keep their
    times."""
    before, left_out, after = steps[:first], steps[first : first + size], steps[first + size :]
    if not after:
        return before
    waits_s = sum(step.wait_s for step in left_out)
    return (*before, replace(after[0], wait_s=after[0].wait_s + waits_s), *after[1:])
