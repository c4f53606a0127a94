"""The times at which members of groups end: restless and calm times in turn, and the planned end of
each membership."""

from __future__ import annotations

import math
from random import Random

from chaos.values.protocols import Completion, Crash, Leave

RESTLESS_S, CALM_S = 20.0, 80.0
"""The seconds for which members come and go, and the seconds for which they then stay, in turn.
Only an assignment that lasts proves a wrong rebalance, since the next rebalance would correct it.
Checkers allow half a minute."""
LIFE_S = 3.0, 10.0
"""The shortest and the longest time in seconds between a member's first records and its end, if its
polls do not end it before: polls that are slow, or full, must not let a member outlast the run."""
WAITS_S = 8.0
"""The longest wait in seconds for a member's first records: the planned end then comes even to one
that has received none, so that members also leave and crash while they join, and in every run."""


class Eras:
    """The alternating times of a process in which members come and go ("restless") or stay
    ("calm"), beginning at the end of its first operation."""

    def __init__(self) -> None:
        self._begun_s: float | None = None
        self._now_s = 0.0

    def noted(self, completion: Completion) -> Completion:
        """Return the completion unchanged, and take the end of the operation as the current
        time."""
        self._now_s = completion.now_s
        if self._begun_s is None:
            self._begun_s = self._now_s
        return completion

    @property
    def now_s(self) -> float:
        """The end of the last operation, in seconds."""
        return self._now_s

    @property
    def calm_s(self) -> float:
        """The seconds since the present calm (a time without joining or leaving members) began;
        negative during the restlessness before it."""
        begun_s = self._now_s if self._begun_s is None else self._begun_s
        return (self._now_s - begun_s) % (RESTLESS_S + CALM_S) - RESTLESS_S


class Life:
    """The plan of one membership: the time at which it ends, and whether by a crash. Until `begin`
    it does not end."""

    def __init__(self, rng: Random, crashes: bool, lasts_s: tuple[float, float] = LIFE_S) -> None:
        """Draw the length of the life. lasts_s: the least and the most seconds."""
        self.crashes = crashes
        self._lasts_s = rng.uniform(*lasts_s)
        self._ends_s = math.inf

    def begin(self, subscribed: Completion) -> None:
        """Let the life begin with this end of a Subscribe."""
        self._ends_s = subscribed.now_s + WAITS_S + self._lasts_s

    def note(self, completion: Completion) -> None:
        """Let the life end its length after the member's first records, if that is sooner."""
        if completion.records:
            self._ends_s = min(self._ends_s, completion.now_s + self._lasts_s)

    def is_over(self, now_s: float) -> bool:
        """Return whether the time of its end has come."""
        return now_s >= self._ends_s

    def end(self) -> Crash | Leave:
        """Return the operation that ends the life."""
        return Crash() if self.crashes else Leave()


def first_crashes(process: int) -> bool:
    """Return whether the first member of a process crashes: of four processes in a row, two do, one
    with an even number and one with an odd one. So even a short run has both kinds of ends."""
    return process // 2 % 2 == 1
