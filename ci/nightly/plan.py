"""Choose the scenarios of a night, their order, and the expected cost of each. First come those of
every night: some canaries and the regression list. Then the exploration, until the time is up. A
scenario that this machine cannot run is left out, and the output says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest

from chaos.run.fitting import family_of
from chaos.scenarios.expectation import Expectation, Part
from chaos.scenarios.exploration import exploration
from chaos.scenarios.fitting import why_not
from chaos.scenarios.regression import regressions
from chaos.targets import parse_target
from ci.bugs.scenarios import scenario_of
from ci.errors import UsageError
from ci.nightly.agenda import begun_within
from linearizability.verdict import Validity
from reference_impl.bugs import BUGS

FIXED_COST_S = {"apache": 20.0}
FIXED_COST_ELSEWHERE_S = 14.0
"""Beside the attack itself: start, recovery, final reads, judges, report; the medians of nights."""
PLANNED_MAX = 10_000
CANARY_SECONDS, CANARY_SEED = 30.0, 1
"""Each bug shows within one run of that length; the same one whenever it is its turn."""
CANARIES_A_NIGHT = 7


@dataclass(frozen=True)
class Plan:
    """seconds: the length of every attack, where it is given."""

    targets: tuple[str, ...]
    seed: int
    seconds: float | None = None

    def always(self) -> list[Expectation]:
        """Return canaries and regressions that can be run here, the targets taking turns."""
        return [one for one in self._candidates() if why_not(one.scenario) is None]

    def left_out(self) -> list[tuple[Expectation, str]]:
        """Return those that cannot run here, each with the reason."""
        reasons = ((one, why_not(one.scenario)) for one in self._candidates())
        return [(one, reason) for one, reason in reasons if reason is not None]

    def scenarios(self) -> Iterator[Expectation]:
        """Yield every scenario, in order. Raise UsageError if there is nothing to run at all."""
        everything = chain(self.always(), map(self._timed, exploration(self.targets, self.seed)))
        first = next(everything, None)
        if first is None:
            raise UsageError(f"nightly: no scenario fits {', '.join(self.targets)}")
        yield first
        yield from everything

    def within(self, seconds: float, jobs: int = 1) -> list[Expectation]:
        """Return what is expected to begin within this many seconds."""
        return begun_within(islice(self.scenarios(), PLANNED_MAX), seconds, jobs, cost_s)

    def _candidates(self) -> Iterator[Expectation]:
        lists = [regressions(target) for target in self.targets]
        if "reference" in self.targets:
            lists.append(canaries_of_night(self.seed))
        for abreast in zip_longest(*lists):
            yield from (self._timed(one) for one in abreast if one is not None)

    def _timed(self, one: Expectation) -> Expectation:
        if self.seconds is None:
            return one
        return replace(one, scenario=replace(one.scenario, seconds=self.seconds))


def canaries() -> list[Expectation]:
    """Return every planted bug where it must be caught; a night in which one is missed is red."""
    return [
        Expectation(
            scenario_of(name, CANARY_SECONDS, CANARY_SEED),
            Validity.INVALID,
            Part.CANARY,
            "a planted bug is caught",
            by=bug.caught_by,
        )
        for name, bug in BUGS.items()
    ]


def canaries_of_night(seed: int) -> list[Expectation]:
    """Return a few canaries, so that the night is not theirs alone: the next seed takes the next
    ones, and a few nights take all."""
    every = canaries()
    first = seed * CANARIES_A_NIGHT
    return [every[(first + number) % len(every)] for number in range(CANARIES_A_NIGHT)]


def cost_s(one: Expectation) -> float:
    """Return how long a scenario is expected to take in all."""
    fixed = FIXED_COST_S.get(family_of(one.scenario.target), FIXED_COST_ELSEWHERE_S)
    return one.scenario.seconds + fixed


def check_targets(targets: Sequence[str]) -> None:
    """Raise TargetError for an unknown name, before anything is run."""
    for target in targets:
        parse_target(target)
