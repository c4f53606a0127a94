"""Make wall clocks jump or run wrong. Only CLOCK_REALTIME is moved, not the clock by which a node
measures how long it has waited. Nothing that was acknowledged may be lost, doubled or disordered by
it; a batch may be refused for its timestamp (KIP-937)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import ClockJump, ClockSkew, Fault, Heal


class JumpClock:
    """A node's wall clock jumps, forth or back, and later jumps right."""

    name = "clock-jump"
    faults: frozenset[type[Fault]] = frozenset({ClockJump, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule jumps of half a second to twenty minutes, for 0.5 to 4 seconds."""
        while True:
            node = rng.choice(("leader", "controller", "random", "all"))
            by_ms = rng.choice((500, 7_000, 90_000, 1_200_000)) * rng.choice((1, -1))
            yield rng.uniform(0.5, 2.5), ClockJump(node, by_ms)
            yield rng.uniform(0.5, 4.0), Heal()


class SkewClock:
    """A node's wall clock runs faster, or slower, and later jumps right."""

    name = "clock-skew"
    faults: frozenset[type[Fault]] = frozenset({ClockSkew, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule clocks that run wrong by a thousandth to all of it, for 2 to 6 seconds."""
        while True:
            node = rng.choice(("leader", "controller", "random"))
            yield rng.uniform(0.5, 2.0), ClockSkew(node, rng.choice((1_000, 100_000, -900_000)))
            yield rng.uniform(2.0, 6.0), Heal()
