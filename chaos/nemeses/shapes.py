"""Partition the network in shapes of more than one link: halves, a bridge, a ring of majorities,
controllers only.

Clients reach every node all the time, so that a side that must not acknowledge receives requests.
None of these shapes excuses a loss: an acknowledged record is on two of three replicas, and a side
without a majority elects no leader (KIP-595; design#replication).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.nemeses.partition import HOWS
from chaos.nemeses.rounds import rounds
from chaos.values.faults import CutControllers, Fault, Heal, Isolate, Split

CALM, HOLD = (3.0, 6.0), (4.0, 8.0)
"""The seconds between faults and the seconds of a fault. Since a session is 3 seconds in the
targets' chaos settings, leaders move during a fault, and back after it."""


class IsolateController:
    """Cut the active controller from all other nodes.

    They elect another one (KIP-595). The old one must notice by itself that it has lost its
    majority (KRaft's check quorum). The broker of that node, whose new records no other node has,
    is fenced (KIP-631).
    """

    name = "isolate-controller"
    faults: frozenset[type[Fault]] = frozenset({Isolate, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        return rounds(rng, lambda: Isolate("controller", how=rng.choice(HOWS)), CALM, HOLD)


class PartitionHalves:
    """Split off a minority of the nodes that contains the leader, the controller or a random
    node."""

    name = "partition-halves"
    faults: frozenset[type[Fault]] = frozenset({Split, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        nodes = ("leader", "controller", "random")
        return rounds(rng, lambda: Split("halves", rng.choice(nodes), rng.choice(HOWS)), CALM, HOLD)


class PartitionBridge:
    """Make two halves that cannot reach each other, and one node that reaches both.

    A leader and a follower that cannot talk, while the controller reaches both, must agree on the
    ISR through the controller, and neither may acknowledge alone (KIP-497, AlterPartition).
    """

    name = "partition-bridge"
    faults: frozenset[type[Fault]] = frozenset({Split, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        nodes = ("follower", "controller", "random")
        return rounds(rng, lambda: Split("bridge", rng.choice(nodes), rng.choice(HOWS)), CALM, HOLD)


class PartitionRing:
    """Let every node open connections only to the next one: each reaches a majority, and no two
    reach the same.

    The election of a controller must come to an end all the same (KIP-996, pre-vote).
    """

    name = "partition-ring"
    faults: frozenset[type[Fault]] = frozenset({Split, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        return rounds(rng, lambda: Split("ring", how=rng.choice(HOWS)), CALM, HOLD)


class PartitionControllers:
    """Cut the controllers from each other; the same nodes still talk as brokers.

    Replicas stay in sync while their leader cannot reach the controller: it may continue to
    acknowledge, and must not shrink the ISR without the controller (KIP-497).
    """

    name = "partition-controllers"
    faults: frozenset[type[Fault]] = frozenset({CutControllers, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        nodes = ("controller", "leader", "random")
        return rounds(rng, lambda: CutControllers(rng.choice(nodes), rng.choice(HOWS)), CALM, HOLD)
