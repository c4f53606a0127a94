"""Make disks hang, fill up, or lose what was not synced. These nemeses need a target whose nodes
have disks of their own.

A loss of power may destroy acknowledged records (see the guarantees of durability). If one node
loses power, no record may be lost that other in-sync replicas have. If all nodes lose power, every
record that was not flushed may be lost, and by default Kafka leaves flushing to the operating
system. Durability is judged without any excuse: if a node comes back without the end of its log and
is elected, the verdict is INVALID.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import DiskFull, DiskStall, Fault, Heal, PowerLoss, Shutdown


class StallDisk:
    """Freeze a node's disk for less or more than a session, then thaw it.

    A leader whose writes hang must not acknowledge them. Nor may a leader that was fenced in the
    meantime acknowledge them after the thaw (KIP-966; design#replication).
    """

    name = "disk-stall"
    faults: frozenset[type[Fault]] = frozenset({DiskStall, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield stalls of 0.2 to 7 seconds; a session lasts 3 s in the targets' chaos settings."""
        while True:
            yield rng.uniform(1.5, 4.5), DiskStall(rng.choice(("leader", "random")))
            yield rng.choice((rng.uniform(0.2, 2.0), rng.uniform(4.0, 7.0))), Heal()


class FillDisk:
    """Fill a node's disk, then make room, and restart the node if it has stopped.

    Records that do not fit must be refused, and records acknowledged before must be kept (KIP-112:
    a log directory that fails takes its replicas offline).
    """

    name = "disk-full"
    faults: frozenset[type[Fault]] = frozenset({DiskFull, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield faults that fill a disk, each for 0.5 to 4 seconds."""
        while True:
            yield rng.uniform(1.5, 4.5), DiskFull(rng.choice(("leader", "random")))
            yield rng.uniform(0.5, 4.0), Heal()


class PowerLossOne:
    """Cut the power of one node: it loses the records that it had not synced, but other replicas
    have them.

    A node that comes back without the end of its log must not lead before it has caught up
    (KIP-966, eligible leader replicas). In a cluster of one node this is a loss of all power.
    """

    name = "power-loss-one"
    faults: frozenset[type[Fault]] = frozenset({PowerLoss, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield losses of power of one node, each with a heal 0.1 to 2 seconds later."""
        while True:
            yield rng.uniform(2.0, 5.0), PowerLoss(rng.choice(("leader", "random")))
            yield rng.uniform(0.1, 2.0), Heal()


class PowerLossAll:
    """Cut the power of all nodes at once: records that no node had synced are lost for good.

    Durability is judged all the same: with Kafka's default flushing acknowledged records are lost
    and the verdict is INVALID; with flush.messages=1 none may be lost (docs, design#replication).
    """

    name = "power-loss-all"
    faults: frozenset[type[Fault]] = frozenset({PowerLoss, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield losses of power of all nodes, each with a heal 0.1 to 1 second later."""
        while True:
            yield rng.uniform(3.0, 6.0), PowerLoss("all")
            yield rng.uniform(0.1, 1.0), Heal()


class PowerLossWhenShut:
    """Shut all nodes down cleanly, then cut their power: nothing may be lost.

    A clean shutdown flushes every log and writes every checkpoint (LogManager, shutdown), however
    seldom the node flushed before; so durability is judged with default flushing, too.
    """

    name = "power-loss-when-shut"
    faults: frozenset[type[Fault]] = frozenset({Shutdown, PowerLoss, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield clean shutdowns of all nodes, each followed at once by a loss of power, and then by
        a heal."""
        while True:
            yield rng.uniform(3.0, 6.0), Shutdown("all")
            yield 0.0, PowerLoss("all")
            yield rng.uniform(0.1, 1.0), Heal()


class PowerLossMinority:
    """Cut the power of fewer than half of the nodes at once: the other nodes have the records that
    these lose.

    With acks=all and min.insync.replicas greater than the number of struck nodes no acknowledged
    record may be lost.
    """

    name = "power-loss-minority"
    faults: frozenset[type[Fault]] = frozenset({PowerLoss, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield losses of power of a minority of the nodes, each with a heal 0.1 to 2 seconds
        later."""
        while True:
            yield rng.uniform(2.0, 5.0), PowerLoss("minority")
            yield rng.uniform(0.1, 2.0), Heal()


class PowerLossMajority:
    """Cut the power of more than half of the nodes at once: perhaps of all that have a record.

    With default flushing, records that no node has synced may be lost (design#replication); with
    flush.messages=1 nothing may.
    """

    name = "power-loss-majority"
    faults: frozenset[type[Fault]] = frozenset({PowerLoss, Heal})
    nodes_min = 3

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield losses of power of a majority of the nodes, each with a heal 0.1 to 1 second
        later."""
        while True:
            yield rng.uniform(3.0, 6.0), PowerLoss("majority")
            yield rng.uniform(0.1, 1.0), Heal()
