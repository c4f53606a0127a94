"""Nemeses that lose packets: all packets in one direction, or a random share. They need --network
netns.

A lost packet never excuses a lost record: TCP retransmits for a while, and where that fails the
connection ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.nemeses.rounds import rounds
from chaos.values.faults import DropPackets, Fault, Heal, LosePackets


class OneWayPackets:
    """Lose all packets in one direction, between two nodes or between one and all others, whichever
    opened the connection.

    One of the nodes is the leader or the controller. The node that still receives packets takes
    the other for alive, but its own responses do not arrive there.
    """

    name = "one-way-packets"
    faults: frozenset[type[Fault]] = frozenset({DropPackets, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        pairs = (
            ("leader", "follower"),
            ("follower", "leader"),
            ("leader", "all"),
            ("all", "leader"),
            ("controller", "all"),
        )
        return rounds(rng, lambda: DropPackets(*rng.choice(pairs)), (2.0, 5.0), (3.0, 8.0))


class PacketLoss:
    """Lose a share of the packets that reach one node, or every node."""

    name = "packet-loss"
    faults: frozenset[type[Fault]] = frozenset({LosePackets, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield, without end, faults that drop 1, 10 or 40 % of the packets that reach the leader,
        a follower or every node, each followed by a heal."""

        def blow() -> Fault:
            return LosePackets(rng.choice(("leader", "follower", "all")), rng.choice((1, 10, 40)))

        return rounds(rng, blow, (1.0, 3.0), (2.0, 7.0))
