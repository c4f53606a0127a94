"""Kill a leader that has records which no follower has; no client writes until it is back."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import CutClients, Fault, Heal, Isolate, Kill


class LoneTail:
    """Cut the leader off while clients still write to it, then cut all clients and kill it.

    When it comes back, its successor has no newer records, and it truncates the records that only
    it had. No record acknowledged under acks=all may be lost. A run that ends while the clients are
    cut off leaves partitions to which nobody writes any more; their replicas must agree all the
    same (KIP-101, KIP-595: a follower truncates to where its log and the leader's diverge).
    """

    name = "lone-tail"
    faults: frozenset[type[Fault]] = frozenset({Isolate, CutClients, Kill, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield a kill of the leader well before its session ends (3 s in the targets' chaos
        settings), so that it leads until then. It stays down until another replica leads."""
        while True:
            yield rng.uniform(2.0, 4.0), Isolate("leader", how="blackhole")
            yield rng.uniform(0.7, 1.5), CutClients("all", how="refuse")
            yield 0.0, Kill("leader")
            yield rng.uniform(6.0, 8.0), Heal()
