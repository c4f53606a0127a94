"""Packets that are lost: all of one direction, or some of all. They need --network netns.

No excuse for a loss: TCP hides what is lost for a while, and sessions end where it cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.nemeses.rounds import rounds
from chaos.values.faults import DropPackets, Fault, Heal, LosePackets


class OneWayPackets:
    """Lose what one node sends another, whichever dialled: the leader, a follower, the controller.

    The side that still hears believes the other alive, and its own answers go nowhere.
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
    """A share of the packets that reach a node, or any node, is lost."""

    name = "packet-loss"
    faults: frozenset[type[Fault]] = frozenset({LosePackets, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule losses from 1 % to what TCP hardly gets through."""

        def blow() -> Fault:
            return LosePackets(rng.choice(("leader", "follower", "all")), rng.choice((1, 10, 40)))

        return rounds(rng, blow, (1.0, 3.0), (2.0, 7.0))
