"""Partitions of more than one link: halves, a bridge, a ring of majorities, controllers only.

Clients reach every node all the time, so that a side which must not acknowledge is asked to. None
of these excuses a loss: an acknowledged record is on two replicas of three, and a side without a
majority elects nobody (KIP-595; design#replication).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.nemeses.partition import HOWS
from chaos.nemeses.rounds import rounds
from chaos.values.faults import CutControllers, Fault, Heal, Split

CALM, HOLD = (3.0, 6.0), (4.0, 8.0)
"""A session is 3 seconds in the targets' chaos settings: leaders move, and come back."""


class PartitionHalves:
    """Split off a minority, with the leader, the controller, or whomever in it."""

    name = "partition-halves"
    faults: frozenset[type[Fault]] = frozenset({Split, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        nodes = ("leader", "controller", "random")
        return rounds(rng, lambda: Split("halves", rng.choice(nodes), rng.choice(HOWS)), CALM, HOLD)


class PartitionBridge:
    """Two halves that do not see each other, and one node which sees both.

    A leader and a follower that cannot talk, while the controller hears both, must settle who is in
    sync without either acknowledging alone (KIP-497, AlterPartition).
    """

    name = "partition-bridge"
    faults: frozenset[type[Fault]] = frozenset({Split, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        nodes = ("follower", "controller", "random")
        return rounds(rng, lambda: Split("bridge", rng.choice(nodes), rng.choice(HOWS)), CALM, HOLD)


class PartitionRing:
    """Every node dials the next one only: each sees a majority, and no two see the same.

    Elections of the controller must come to an end all the same (KIP-996, pre-vote).
    """

    name = "partition-ring"
    faults: frozenset[type[Fault]] = frozenset({Split, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        return rounds(rng, lambda: Split("ring", how=rng.choice(HOWS)), CALM, HOLD)


class PartitionControllers:
    """Cut the controllers from each other; as brokers the nodes go on talking.

    Replicas stay in sync while their leader cannot tell the controller anything: it may go on
    acknowledging, and must not shrink the ISR by itself (KIP-497).
    """

    name = "partition-controllers"
    faults: frozenset[type[Fault]] = frozenset({CutControllers, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        nodes = ("controller", "leader", "random")
        return rounds(rng, lambda: CutControllers(rng.choice(nodes), rng.choice(HOWS)), CALM, HOLD)
