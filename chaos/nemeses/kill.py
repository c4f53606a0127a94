"""Kill processes. The page cache survives: SIGKILL crashes only the broker, not the machine."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import CutClients, DelayAnswers, Fault, Heal, Kill


class KillNode:
    """Kill a node; every other time, hold the responses of all nodes back first.

    Held-back responses leave batches that were appended but not acknowledged. The connections are
    cut just before the kill, so that those responses are lost with the process and clients send the
    batches again to the restarted node, which must recognise them (KIP-98, idempotence). The plain
    rounds catch a broker that answers before it appends.
    """

    name = "kill"
    faults = frozenset({Kill, Heal, DelayAnswers, CutClients})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield kills with held-back responses and plain kills in turn; the dead node is restarted
        in between."""
        while True:
            yield rng.uniform(0.5, 1.5), DelayAnswers("all", latency_ms=150, jitter_ms=150)
            yield rng.uniform(0.8, 1.6), CutClients("all", how="refuse")
            yield 0.0, Kill("random")
            yield rng.uniform(0.1, 1.0), Heal()
            yield rng.uniform(1.0, 2.5), Kill("random")
            yield rng.uniform(0.1, 1.0), Heal()


class KillLeader:
    """Kill the leader, let a follower take over, and restart the killed node."""

    name = "kill-leader"
    faults = frozenset({Kill, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield kills of the leader, each with a heal 0.5 to 4 seconds later."""
        yield rng.uniform(0.5, 2.0), Kill("leader")
        while True:
            yield rng.uniform(0.5, 4.0), Heal()
            yield rng.uniform(2.0, 5.0), Kill("leader")


class KillThenCalm:
    """Kill a node every few seconds for half a minute, then leave all nodes alone for a minute.

    A restarted broker that forgets a duty never performs it, however long one waits; so the quiet
    minute must show that sessions (KIP-62) and transactions (KIP-98) which were open at a kill
    still end. (Checkers excuse delays during faults and for half a minute after them.)
    """

    name = "kill-then-calm"
    faults = frozenset({Kill, Heal})
    nodes_min = 1
    storm_s, calm_s = 32.0, 60.0

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield kills with heals so close together that at least one falls into every session of 6
        seconds, until half a minute is over; then a heal after a minute of calm, and so on."""
        while True:
            left_s = self.storm_s
            while left_s > 0:
                calm_s, away_s = rng.uniform(1.0, 3.0), rng.uniform(0.1, 1.0)
                yield calm_s, Kill("random")
                yield away_s, Heal()
                left_s -= calm_s + away_s
            yield self.calm_s, Heal()
