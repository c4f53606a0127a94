"""Make wall clocks jump or run at a wrong rate. Only CLOCK_REALTIME is changed, not the monotonic
clock with which a node measures waits. No acknowledged record may be lost, duplicated or reordered
by it; a batch may be refused for its timestamp (KIP-937)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import ClockJump, ClockSkew, Fault, Heal


class JumpClock:
    """Make a node's wall clock, or that of every node, jump forward or back, and later jump to the
    right time."""

    name = "clock-jump"
    faults: frozenset[type[Fault]] = frozenset({ClockJump, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield jumps of half a second to twenty minutes, each undone after 0.5 to 4 seconds."""
        while True:
            node = rng.choice(("leader", "controller", "random", "all"))
            by_ms = rng.choice((500, 7_000, 90_000, 1_200_000)) * rng.choice((1, -1))
            yield rng.uniform(0.5, 2.5), ClockJump(node, by_ms)
            yield rng.uniform(0.5, 4.0), Heal()


class SkewClock:
    """Make a node's wall clock run faster or slower, and later jump to the right time."""

    name = "clock-skew"
    faults: frozenset[type[Fault]] = frozenset({ClockSkew, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield faults that make a clock run 0.1 % or 10 % too fast or 90 % too slow, each for 2 to
        6 seconds."""
        while True:
            node = rng.choice(("leader", "controller", "random"))
            yield rng.uniform(0.5, 2.0), ClockSkew(node, rng.choice((1_000, 100_000, -900_000)))
            yield rng.uniform(2.0, 6.0), Heal()
