"""Choose the scenarios of a night, their order, and the expected cost of each. Every night first
runs some canaries and the regression list, and then explores the matrix until the time is up. A
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
from chaos.values.able_targets import RunningTarget
from ci.bugs.scenarios import scenario_of
from ci.errors import UsageError
from ci.nightly.agenda import begun_within
from linearizability.verdict import Validity
from reference_impl.bugs import BUGS

FIXED_COST_S = {"apache": 20.0}
FIXED_COST_ELSEWHERE_S = 14.0
"""The seconds that a run takes in addition to the attack: start, recovery, final reads, judging,
report. They are medians of past nights."""
PLANNED_MAX = 10_000
CANARY_SECONDS, CANARY_SEED = 30.0, 1
"""The length in seconds and the seed of every canary's run. Each bug shows within one run of that
length, or of its own longer one."""
CANARIES_A_NIGHT = 7


@dataclass(frozen=True)
class Plan:
    """The scenarios that are chosen for a night. seconds: the length of every attack, or None for
    each scenario's own length."""

    targets: tuple[str, ...]
    seed: int
    seconds: float | None = None

    def always(self) -> list[Expectation]:
        """Return the canaries and regressions that can run here, alternating between the
        targets."""
        return [one for one in self._candidates() if why_not(one.scenario) is None]

    def left_out(self) -> list[tuple[Expectation, str]]:
        """Return the scenarios that cannot run here, each with the reason."""
        reasons = ((one, why_not(one.scenario)) for one in self._candidates())
        return [(one, reason) for one, reason in reasons if reason is not None]

    def scenarios(self) -> Iterator[Expectation]:
        """Yield every scenario, in order. Raise UsageError if there is none."""
        everything = chain(self.always(), map(self._timed, exploration(self.targets, self.seed)))
        first = next(everything, None)
        if first is None:
            raise UsageError(
                f"nightly: no scenario fits {', '.join(self.targets)}; "
                "name others, such as apache:4.3.1"
            )
        yield first
        yield from everything

    def within(self, seconds: float, jobs: int = 1) -> list[Expectation]:
        """Return the scenarios that are expected to start within this many seconds, if `jobs` of
        them run at once."""
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
    """Return one scenario for every planted bug that a checker of histories must catch; a night
    that misses one fails. (Some bugs are shown by conformance cases alone.)"""
    return [
        Expectation(
            scenario_of(name, CANARY_SECONDS, CANARY_SEED),
            Validity.INVALID,
            Part.CANARY,
            "a planted bug is caught",
            by=bug.caught_by,
        )
        for name, bug in BUGS.items()
        if bug.caught_by
    ]


def canaries_of_night(seed: int) -> list[Expectation]:
    """Return a few canaries, so that they do not fill the night. The next seed takes the next ones,
    so that a few nights run all of them."""
    every = canaries()
    first = seed * CANARIES_A_NIGHT
    return [every[(first + number) % len(every)] for number in range(CANARIES_A_NIGHT)]


def cost_s(one: Expectation) -> float:
    """Return the seconds that a scenario is expected to take, including start, recovery and
    judging."""
    fixed = FIXED_COST_S.get(family_of(one.scenario.target), FIXED_COST_ELSEWHERE_S)
    return one.scenario.seconds + fixed


def check_targets(targets: Sequence[str]) -> None:
    """Raise TargetError for an unknown name, before anything is run."""
    for target in targets:
        parse_target(target)


def check_there(targets: Sequence[str]) -> None:
    """Raise TargetError if one of the targets is a running cluster that does not answer. Call this
    before anything is run."""
    for target in targets:
        cluster = parse_target(target)
        if isinstance(cluster, RunningTarget):
            cluster.check_there()
