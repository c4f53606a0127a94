"""Stop processes and let them continue, like a long garbage collection or a frozen virtual
machine."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import Fault, Heal, Pause


class PauseNode:
    """Pause the leader or any node for less or more than a session, then continue it.

    A leader that was paused past its session continues in the belief that it leads: its late
    responses must not acknowledge records that the new leader does not have (KIP-966;
    design#replication).
    """

    name = "pause"
    faults = frozenset({Pause, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield pauses of 0.3 to 7 seconds; a session lasts 3 s in the targets' chaos settings."""
        while True:
            yield rng.uniform(1.5, 4.5), Pause(rng.choice(("leader", "random")))
            yield rng.choice((rng.uniform(0.3, 2.0), rng.uniform(4.0, 7.0))), Heal()
