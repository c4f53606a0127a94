"""Kill processes. The page cache survives: SIGKILL is a crash of the broker only."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import CutClients, DelayAnswers, Fault, Heal, Kill


class KillNode:
    """Kill some node; every other time, with answers held back first.

    Held-back answers leave batches that were appended and not answered. The connections are cut
    just before the kill, so that those answers are lost with the process, and clients send the
    batches again to the restarted node: it must remember what it appended (KIP-98, idempotence).
    The plain rounds catch a broker that answers before it appends.
    """

    name = "kill"
    faults = frozenset({Kill, Heal, DelayAnswers, CutClients})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule kills with answers held back and plain kills in turn; the dead node comes back
        in between."""
        while True:
            yield rng.uniform(0.5, 1.5), DelayAnswers("all", latency_ms=150, jitter_ms=150)
            yield rng.uniform(0.8, 1.6), CutClients("all", how="refuse")
            yield 0.0, Kill("random")
            yield rng.uniform(0.1, 1.0), Heal()
            yield rng.uniform(1.0, 2.5), Kill("random")
            yield rng.uniform(0.1, 1.0), Heal()


class KillLeader:
    """Kill the leader, let a follower take over, bring the dead one back."""

    name = "kill-leader"
    faults = frozenset({Kill, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule a dead leader for 0.5 to 4 seconds and the time it needs to start."""
        yield rng.uniform(0.5, 2.0), Kill("leader")
        while True:
            yield rng.uniform(0.5, 4.0), Heal()
            yield rng.uniform(2.0, 5.0), Kill("leader")


class KillThenCalm:
    """Kill some node every few seconds for half a minute, then leave all nodes alone for a minute.

    What a restarted broker has forgotten to do it does not do, however long one waits: sessions
    (KIP-62) and transactions (KIP-98) that were open must end all the same. Judges excuse what is
    late while faults are under way, and for half a minute.
    """

    name = "kill-then-calm"
    faults = frozenset({Kill, Heal})
    nodes_min = 1
    storm_s, calm_s = 32.0, 60.0

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule kills so close together that one falls into every session of 6 seconds."""
        while True:
            left_s = self.storm_s
            while left_s > 0:
                calm_s, away_s = rng.uniform(1.0, 3.0), rng.uniform(0.1, 1.0)
                yield calm_s, Kill("random")
                yield away_s, Heal()
                left_s -= calm_s + away_s
            yield self.calm_s, Heal()
