"""One scenario, and the verdict that it must have."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import StrEnum

from chaos.record.run_directory import Scenario
from linearizability.verdict import Validity


class Part(StrEnum):
    """The part of a night to which a scenario belongs."""

    REGRESSION = "regression"
    CANARY = "canary"
    EXPLORATION = "exploration"


@dataclass(frozen=True)
class Expectation:
    """A scenario with its expected verdict. why: one sentence that tells the reader what its result
    means."""

    scenario: Scenario
    verdict: Validity
    part: Part
    why: str
    by: tuple[str, ...] = ()
    """The checkers of an expected INVALID, at least one of which must report it. If empty, any
    checker may."""

    @property
    def command(self) -> str:
        """The command that repeats this run, including the seed."""
        return self.scenario.command()

    @property
    def name(self) -> str:
        """The scenario without seed and length, as the trend report names it."""
        words = shlex.split(self.command)[3:]
        named = dict(zip(words[::2], words[1::2], strict=True))
        place = f"{named['--target']} × {named['--nodes']}"
        settings = [
            f"{option.removeprefix('--')} {value}"
            for option, value in zip(words[::2], words[1::2], strict=True)
            if option in ("--bug", "--config", "--client")
        ]
        return ", ".join([place, named["--workload"], named["--nemesis"], *settings])

    def __str__(self) -> str:
        return f"{self.name}, seed {self.scenario.seed}, {self.scenario.seconds:g} s"
