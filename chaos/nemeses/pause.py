"""Stop processes and let them go on: a long garbage collection, a frozen virtual machine."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import Fault, Heal, Pause


class PauseNode:
    """Pause a leader or any node, shorter or longer than a session, then continue it.

    A leader that slept past its session wakes up believing that it leads: its late answers must
    not acknowledge what the new leader does not have (KIP-966; design#replication).
    """

    name = "pause"
    faults = frozenset({Pause, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule pauses of 0.3 to 7 seconds; a session is 3 in the targets' chaos settings."""
        while True:
            yield rng.uniform(1.5, 4.5), Pause(rng.choice(("leader", "random")))
            yield rng.choice((rng.uniform(0.3, 2.0), rng.uniform(4.0, 7.0))), Heal()
