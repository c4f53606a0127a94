"""Nemeses that act as an administrator under load: elections, moved replicas, created and deleted
topics."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.nemeses.rounds import rounds
from chaos.values.faults import AdminStorm, CutLink, Elect, Fault, Heal, Kill, MoveReplicas


class PreferredElection:
    """Kill the leader, and when it is back, make it leader again by a preferred election.

    The interim leader is alive and hands over to an in-sync replica, so nothing may be lost
    (KIP-460).
    """

    name = "elect-preferred"
    faults: frozenset[type[Fault]] = frozenset({Kill, Elect, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield rounds: kill the leader, heal, and some seconds later, when the node is in sync
        again, elect the preferred leader."""
        while True:
            yield rng.uniform(0.5, 2.0), Kill("leader")
            yield rng.uniform(3.5, 5.0), Heal()
            yield rng.uniform(2.0, 5.0), Elect("preferred")
            yield rng.uniform(0.5, 2.0), Heal()


class UncleanElection:
    """Let the followers fall behind, kill the leader, and have one of the followers elected
    uncleanly.

    Durability is judged without any excuse. With min.insync.replicas=2 the leader alone
    acknowledges nothing, and the followers may lead cleanly (KIP-966, eligible leader replicas), so
    nothing may be lost. With `--config min.insync.replicas=1` the leader acknowledges alone, and
    the election loses those records: the verdict is INVALID, as documented (docs,
    design#uncleanelections).
    """

    name = "unclean-election"
    faults: frozenset[type[Fault]] = frozenset({CutLink, Kill, Elect, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield cuts, kills and elections. The kill waits until the cut-off followers have left the
        ISR, after 5 s (replica.lag.time.max.ms). The election waits until the leader's session has
        ended, after 3 s."""
        while True:
            yield rng.uniform(0.5, 2.0), CutLink("all", "leader")
            yield rng.uniform(6.5, 8.5), Kill("leader")
            yield rng.uniform(3.5, 4.5), Elect("unclean")
            yield rng.uniform(1.0, 3.0), Heal()


class Reassignment:
    """Remove a partition's first replica, add it again as the last one, and so on, while clients
    write.

    A new replica must have the whole log before it counts, and a replica is removed only when it is
    not needed any more (KIP-455). So nothing may be lost.
    """

    name = "reassign"
    faults: frozenset[type[Fault]] = frozenset({MoveReplicas, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        return rounds(rng, MoveReplicas, (0.5, 2.5), (0.0, 0.5))


class ManyTopics:
    """Create, alter, extend and delete topics that no client uses, while clients use others."""

    name = "admin-storm"
    faults: frozenset[type[Fault]] = frozenset({AdminStorm, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        return rounds(rng, lambda: AdminStorm(rng.randrange(1, 20)), (0.2, 2.0), (0.0, 0.5))
