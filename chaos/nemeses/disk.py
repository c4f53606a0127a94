"""Make disks hang, fill up, or lose what was not synced. They need a target on its own disks.

An acknowledged record may be lost by a loss of power (guarantees of durability): of one node, not
if others hold it in sync; of all nodes, whatever was not flushed, which Kafka by default leaves to
the operating system. These nemeses forgive neither: the judges' verdict stands although nodes come
back without the end of their logs and leaders are elected among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import DiskFull, DiskStall, Fault, Heal, PowerLoss, Shutdown


class StallDisk:
    """Freeze a node's disk, shorter or longer than a session, then let it go on.

    A leader whose writes hang must not acknowledge them, nor be fenced and acknowledge them after
    all when the disk wakes up (KIP-966; design#replication).
    """

    name = "disk-stall"
    faults: frozenset[type[Fault]] = frozenset({DiskStall, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule stalls of 0.2 to 7 seconds; a session is 3 in the targets' chaos settings."""
        while True:
            yield rng.uniform(1.5, 4.5), DiskStall(rng.choice(("leader", "random")))
            yield rng.choice((rng.uniform(0.2, 2.0), rng.uniform(4.0, 7.0))), Heal()


class FillDisk:
    """Fill a node's disk, then make room and bring back a node that gave up.

    What does not fit is refused, and what was acknowledged before stays (KIP-112: a log directory
    that fails takes its replicas offline).
    """

    name = "disk-full"
    faults: frozenset[type[Fault]] = frozenset({DiskFull, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule full disks for 0.5 to 4 seconds."""
        while True:
            yield rng.uniform(1.5, 4.5), DiskFull(rng.choice(("leader", "random")))
            yield rng.uniform(0.5, 4.0), Heal()


class PowerLossOne:
    """Pull the plug of one node: what it had not synced is gone, and others hold it.

    A node which comes back without the end of its log must not lead before it has caught up
    (KIP-966, eligible leader replicas). A lone node is a power loss of all.
    """

    name = "power-loss-one"
    faults: frozenset[type[Fault]] = frozenset({PowerLoss, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule a node without power for 0.1 to 2 seconds and the time it needs to start."""
        while True:
            yield rng.uniform(2.0, 5.0), PowerLoss(rng.choice(("leader", "random")))
            yield rng.uniform(0.1, 2.0), Heal()


class PowerLossAll:
    """Pull the plug of all nodes at once: what no node had synced is gone for good.

    Durability is judged all the same, so that with Kafka's default flushing acknowledged records
    are lost writes (invalid), and with flush.messages=1 none may be (docs, design#replication).
    """

    name = "power-loss-all"
    faults: frozenset[type[Fault]] = frozenset({PowerLoss, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule all nodes without power for 0.1 to 1 second and the time they need to start."""
        while True:
            yield rng.uniform(3.0, 6.0), PowerLoss("all")
            yield rng.uniform(0.1, 1.0), Heal()


class PowerLossWhenShut:
    """Shut all nodes down cleanly, then cut their power: nothing at all may be gone.

    A clean shutdown flushes every log and writes every checkpoint (LogManager, shutdown), however
    seldom the node flushed before; so this one is judged with default flushing, too."""

    name = "power-loss-when-shut"
    faults: frozenset[type[Fault]] = frozenset({Shutdown, PowerLoss, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule the loss of power as soon as the last node has ended."""
        while True:
            yield rng.uniform(3.0, 6.0), Shutdown("all")
            yield 0.0, PowerLoss("all")
            yield rng.uniform(0.1, 1.0), Heal()


class PowerLossMinority:
    """Pull the plug of fewer than half of the nodes at once: the others hold what they lose.

    With acks=all and min.insync.replicas above their number nothing acknowledged may be lost.
    """

    name = "power-loss-minority"
    faults: frozenset[type[Fault]] = frozenset({PowerLoss, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule nodes without power for 0.1 to 2 seconds and the time they need to start."""
        while True:
            yield rng.uniform(2.0, 5.0), PowerLoss("minority")
            yield rng.uniform(0.1, 2.0), Heal()


class PowerLossMajority:
    """Cut the power of more than half of the nodes at once: perhaps of all that have a record.

    With default flushing what no node has synced may be lost (design#replication); with
    flush.messages=1 nothing may."""

    name = "power-loss-majority"
    faults: frozenset[type[Fault]] = frozenset({PowerLoss, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule nodes without power for 0.1 to 1 second and the time they need to start."""
        while True:
            yield rng.uniform(3.0, 6.0), PowerLoss("majority")
            yield rng.uniform(0.1, 1.0), Heal()
