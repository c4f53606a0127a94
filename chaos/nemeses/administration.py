"""Nemeses of an administrator under load: elections, moves of replicas, topics that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.nemeses.rounds import rounds
from chaos.values.faults import AdminStorm, CutLink, Elect, Fault, Heal, Kill, MoveReplicas


class PreferredElection:
    """Kill the leader, and when it is back, give the partition back to it.

    The new leader is alive and hands over to a replica in sync: nothing may be lost (KIP-460).
    """

    name = "elect-preferred"
    faults: frozenset[type[Fault]] = frozenset({Kill, Elect, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule the fault so that the returned node has a few seconds to be in sync again."""
        while True:
            yield rng.uniform(0.5, 2.0), Kill("leader")
            yield rng.uniform(3.5, 5.0), Heal()
            yield rng.uniform(2.0, 5.0), Elect("preferred")
            yield rng.uniform(0.5, 2.0), Heal()


class UncleanElection:
    """Let the followers fall behind, kill the leader, and have one of them elected all the same.

    Durability is judged without mercy. With min.insync.replicas=2 the leader alone acknowledges
    nothing, and those that fell behind may lead cleanly (KIP-966, eligible leader replicas), so
    nothing may be lost. With `--config min.insync.replicas=1` it acknowledges alone, and that is
    lost by the election: the verdict is invalid, as documented (docs, design#uncleanelections).
    """

    name = "unclean-election"
    faults: frozenset[type[Fault]] = frozenset({CutLink, Kill, Elect, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule cuts, kills and elections. The kill waits until the cut-off followers have left
        the ISR, after 5 s (replica.lag.time.max.ms). The election waits until the leader's session
        is over, after 3 s."""
        while True:
            yield rng.uniform(0.5, 2.0), CutLink("all", "leader")
            yield rng.uniform(6.5, 8.5), Kill("leader")
            yield rng.uniform(3.5, 4.5), Elect("unclean")
            yield rng.uniform(1.0, 3.0), Heal()


class Reassignment:
    """Take the first replica away, bring it back as the last, and so on, while clients write.

    A new replica must have all of the log before it counts, and the one which leaves must not be
    missed (KIP-455): nothing may be lost.
    """

    name = "reassign"
    faults: frozenset[type[Fault]] = frozenset({MoveReplicas, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        return rounds(rng, MoveReplicas, (0.5, 2.5), (0.0, 0.5))


class ManyTopics:
    """Make, alter, extend and delete topics that nobody uses, while clients use others."""

    name = "admin-storm"
    faults: frozenset[type[Fault]] = frozenset({AdminStorm, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        return rounds(rng, lambda: AdminStorm(rng.randrange(1, 20)), (0.2, 2.0), (0.0, 0.5))
