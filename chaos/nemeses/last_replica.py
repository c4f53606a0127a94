"""Let the last in-sync replica take writes alone, and then lose power."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import Fault, Heal, Kill, PowerLoss


class LastReplicaStanding:
    """Kill a follower, let the leader go on without it, then cut the leader's power.

    With two replicas and min.insync.replicas=1 the leader acknowledges acks=all alone, and the
    records that it had not synced are lost for good. Durability is judged nevertheless, so the
    verdict is INVALID. With three replicas and min.insync.replicas=2 another replica holds every
    acknowledged record.
    """

    name = "last-replica-standing"
    faults: frozenset[type[Fault]] = frozenset({Kill, PowerLoss, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield the kill of a follower and then the leader's loss of power. More than a session (3
        s in the targets' chaos settings) lies between them, so that the leader is then the only
        in-sync replica and has accepted writes."""
        while True:
            yield rng.uniform(1.0, 2.5), Kill("follower")
            yield rng.uniform(5.0, 6.5), PowerLoss("leader")
            yield rng.uniform(0.1, 1.0), Heal()
