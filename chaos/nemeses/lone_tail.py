"""A leader that has records which no follower has dies; nobody writes until it is back."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import CutClients, Fault, Heal, Isolate, Kill


class LoneTail:
    """Cut the leader from the other nodes while clients write to it, then cut all clients and kill
    it; its successor has nothing new when it comes back and cuts off what it had alone.

    Nothing acknowledged under acks=all may be lost. A run that ends while the clients are cut off
    leaves partitions to which nobody writes any more: replicas must agree all the same (KIP-101,
    KIP-595: a follower truncates to where its log and the leader's part).
    """

    name = "lone-tail"
    faults: frozenset[type[Fault]] = frozenset({Isolate, CutClients, Kill, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Kill the leader well before its session (3 s in the targets' chaos settings) is over, so
        that it led until then, and keep it away for long enough that another leads."""
        while True:
            yield rng.uniform(2.0, 4.0), Isolate("leader", how="blackhole")
            yield rng.uniform(0.7, 1.5), CutClients("all", how="refuse")
            yield 0.0, Kill("leader")
            yield rng.uniform(6.0, 8.0), Heal()
