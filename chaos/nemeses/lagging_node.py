"""Let a node fall behind the leader or the controller, and kill that one while the node lags."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.nemeses.partition import HOWS
from chaos.values.faults import CutLink, Fault, Heal, Kill, SlowLinks

AHEAD_S, DOWN_S = (6.0, 8.0), (6.0, 8.0)
"""The seconds in which a follower leaves the ISR (lag and session are 5 s and 3 s in the targets'
chaos settings), and those in which another node leads after a kill."""


class LaggingNode:
    """Keep a node from fetching from the leader or the controller, then kill that one, or all
    nodes.

    A follower that has lagged for less than `replica.lag.time.max.ms` is still in the ISR, and may
    be elected: what it lacks is not committed. One that has left the ISR must not be elected
    (KIP-497, KIP-966). A voter that lacks committed metadata must not become the controller
    (KIP-595).
    """

    name = "lagging-node"
    faults: frozenset[type[Fault]] = frozenset({CutLink, Kill, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield rounds: the link is cut until the kill, for less or more time than lets a follower
        leave the ISR."""
        while True:
            ahead = rng.choice(("leader", "controller"))
            cut_s, victim = rng.choice((((0.5, 3.0), ahead), (AHEAD_S, ahead), (AHEAD_S, "all")))
            yield rng.uniform(1.0, 2.5), CutLink("follower", ahead, how=rng.choice(HOWS))
            yield rng.uniform(*cut_s), Kill(victim)
            yield rng.uniform(*DOWN_S), Heal()


class CatchingUp:
    """Keep a follower from fetching until it has left the ISR, let it catch up over slow links, and
    kill the leader meanwhile.

    The follower must not join the ISR before it has everything that is committed (KIP-497).
    """

    name = "catching-up"
    faults: frozenset[type[Fault]] = frozenset({CutLink, SlowLinks, Kill, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield rounds, in which the kill comes within three seconds after the link is healed."""
        while True:
            yield rng.uniform(1.0, 2.5), CutLink("follower", "leader", how=rng.choice(HOWS))
            yield rng.uniform(*AHEAD_S), Heal()
            yield 0.0, SlowLinks("all", latency_ms=50, jitter_ms=25, where="nodes")
            yield rng.uniform(0.5, 3.0), Kill("leader")
            yield rng.uniform(*DOWN_S), Heal()
