"""Choose the scenario to start next when several run at once.

A cluster of Apache Kafka consists of three JVMs. One such cluster keeps two cores busy while it
starts, and two that start together would both be late (measured in ci/workflows/README.md). So only
one runs at a time, whatever `jobs` is; reference brokers use the other places.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import count

from chaos.run.fitting import family_of
from chaos.scenarios.expectation import Expectation

CHEAP = frozenset({"reference", "kfake"})
"""Families of targets whose node starts within two seconds and uses a part of one core."""
LOOK_AHEAD = 1_000
"""The largest number of scenarios that wait for a place of their kind while others overtake
them."""


class Agenda:
    """The queue of scenarios. A scenario that must wait for a free place is overtaken by those that
    need not.

    Its methods may be called from several threads.
    """

    def __init__(self, scenarios: Iterable[Expectation]) -> None:
        self._coming: Iterator[Expectation] = iter(scenarios)
        self._waiting: list[Expectation] = []
        self._exhausted = False
        self._large = 0
        self._changed = threading.Condition()
        self._closed = False

    def choose(self) -> Expectation | None:
        """Return the next scenario that may start now, or None if all of them must wait, none is
        left, or the agenda is closed."""
        with self._changed:
            for place, one in enumerate(() if self._closed else self._in_order()):
                if is_cheap(one) or not self._large:
                    del self._waiting[place]
                    self._large += not is_cheap(one)
                    return one
        return None

    def done(self, one: Expectation) -> None:
        """Free the place of a scenario that has ended."""
        with self._changed:
            self._large -= not is_cheap(one)
            self._changed.notify_all()

    def close(self) -> None:
        """Take no further scenario from the queue. `wait` then returns False, which ends a lane."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait until a place becomes free, but at most `seconds`. Return False if no scenario is
        left to start, or after `close`."""
        with self._changed:
            if not self._closed and self._large:
                self._changed.wait(seconds)
            return not self._closed and not (self._exhausted and not self._waiting)

    def _in_order(self) -> Iterator[Expectation]:
        """Yield the waiting scenarios, then the upcoming ones; each upcoming one that is yielded
        becomes a waiting one."""
        yield from tuple(self._waiting)
        while len(self._waiting) < LOOK_AHEAD and not self._closed:
            one = next(self._coming, None)
            if one is None:
                self._exhausted = True
                return
            self._waiting.append(one)
            yield one


def is_cheap(one: Expectation) -> bool:
    """Return whether any number of such scenarios may run at the same time. Of the others only one
    runs at a time, though beside cheap ones."""
    return family_of(one.scenario.target) in CHEAP


def begun_within(
    scenarios: Iterable[Expectation],
    seconds: float,
    jobs: int,
    cost_s: Callable[[Expectation], float],
) -> list[Expectation]:
    """Return the scenarios that `jobs` parallel lanes would start within `seconds`, if each
    scenario took its expected cost."""
    agenda, chosen, now = Agenda(scenarios), list[Expectation](), 0.0
    running: list[tuple[float, int, Expectation]] = []
    numbers = count()
    while now < seconds:
        while len(running) < jobs and (one := agenda.choose()) is not None:
            chosen.append(one)
            heapq.heappush(running, (now + cost_s(one), next(numbers), one))
        if not running:
            break
        now, _, ended = heapq.heappop(running)
        agenda.done(ended)
    return chosen
