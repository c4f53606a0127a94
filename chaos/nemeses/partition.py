"""Cut links between nodes, and between clients and nodes.

Cuts last longer than the session time-out in the targets' chaos settings (3 s), since otherwise no
leader would move. After a heal, connections that hung recover by themselves within seconds (TCP
retransmission).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import CutClients, CutLink, Fault, Heal, How, Isolate

HOWS: tuple[How, ...] = ("blackhole", "refuse")


class PartitionLeader:
    """Cut the leader from the other nodes; clients still reach both sides.

    The old leader must no longer acknowledge acks=all (KIP-497, AlterPartition; KIP-631, broker
    fencing), and records that only it has must disappear.
    """

    name = "partition-leader"
    faults = frozenset({Isolate, Heal})
    nodes_min = 2

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        yield rng.uniform(0.5, 2.0), Isolate("leader", how=rng.choice(HOWS))
        while True:
            yield rng.uniform(3.0, 6.5), Heal()
            yield rng.uniform(4.0, 7.0), Isolate("leader", how=rng.choice(HOWS))


class IsolateLeader:
    """Cut the leader from all other nodes and all clients."""

    name = "isolate-leader"
    faults = frozenset({Isolate, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        yield rng.uniform(0.5, 2.0), Isolate("leader", with_clients=True, how=rng.choice(HOWS))
        while True:
            yield rng.uniform(3.0, 6.5), Heal()
            yield (
                rng.uniform(4.0, 7.0),
                Isolate("leader", with_clients=True, how=rng.choice(HOWS)),
            )


class PartitionLink:
    """Cut one directed link between the leader and a follower: only the connections that one of
    them opens.

    A follower that cannot fetch leaves the ISR while it still reaches the controller; a leader that
    cannot open connections to a follower is not affected.
    """

    name = "partition-link"
    faults = frozenset({CutLink, Heal})
    nodes_min = 2

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        while True:
            source, destination = rng.choice((("follower", "leader"), ("leader", "follower")))
            yield rng.uniform(2.0, 5.0), CutLink(source, destination, how=rng.choice(HOWS))
            yield rng.uniform(2.0, 8.0), Heal()


class CutClientLinks:
    """Cut the clients of a node from it; the nodes still talk to each other."""

    name = "cut-clients"
    faults = frozenset({CutClients, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        while True:
            node = rng.choice(("leader", "random"))
            yield rng.uniform(1.0, 4.0), CutClients(node, how=rng.choice(HOWS))
            yield rng.uniform(0.5, 5.0), Heal()
