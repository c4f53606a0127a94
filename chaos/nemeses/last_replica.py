"""The last replica in sync takes writes alone, and then loses its power."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import Fault, Heal, Kill, PowerLoss


class LastReplicaStanding:
    """Kill a follower, let the leader go on without it, then pull the leader's plug.

    With two copies and min.insync.replicas=1 the leader alone acknowledges acks=all, and what it
    had not synced is gone for good: durability is judged all the same, so the verdict is invalid.
    With three copies and min.insync.replicas=2 another replica holds all that was acknowledged.
    """

    name = "last-replica-standing"
    faults: frozenset[type[Fault]] = frozenset({Kill, PowerLoss, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule a follower that is dead for longer than a session (3 s in the targets' chaos
        settings) before the leader's power goes: the leader was alone in sync, and took writes."""
        while True:
            yield rng.uniform(1.0, 2.5), Kill("follower")
            yield rng.uniform(5.0, 6.5), PowerLoss("leader")
            yield rng.uniform(0.1, 1.0), Heal()
