"""Make media fail, and let a crash tear the writes in progress. What each may take of an
acknowledged record (guarantees of durability): A disk that dies or turns read-only keeps what it
had: nothing. Writes that are torn or reordered, and names that were not synced: what was not
flushed, as with a loss of power, so nothing where flush.messages=1 asks for each record to be
flushed. A bit that flips: whatever only this node has; copies elsewhere stay as they were. No
broker may return the changed record as if it were what was written."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import (
    BitFlip,
    DiskDead,
    DiskReadOnly,
    FailedSync,
    FailedWrite,
    Fault,
    Heal,
    LostNames,
    Segment,
    SlowDisk,
    Tear,
    TornWrites,
)


class ReadOnlyDisk:
    """A node's file system turns read-only; later it is mounted again and the node started.

    What was acknowledged before stays; what comes after must not be (KIP-112).
    """

    name = "disk-read-only"
    faults: frozenset[type[Fault]] = frozenset({DiskReadOnly, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule read-only disks for 0.5 to 4 seconds."""
        while True:
            yield rng.uniform(1.5, 4.5), DiskReadOnly(rng.choice(("leader", "random")))
            yield rng.uniform(0.5, 4.0), Heal()


class DeadDisk:
    """A node's disk answers every write and sync by an error; later it is another, with the same
    data.

    What was acknowledged before stays; what comes after must not be (KIP-112).
    """

    name = "disk-dead"
    faults: frozenset[type[Fault]] = frozenset({DiskDead, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule dead disks for 0.5 to 4 seconds."""
        while True:
            yield rng.uniform(1.5, 4.5), DiskDead(rng.choice(("leader", "random")))
            yield rng.uniform(0.5, 4.0), Heal()


class SlowDisks:
    """Every sync of a node, or of all, takes up to half a second. Nothing may be lost by it."""

    name = "slow-disk"
    faults: frozenset[type[Fault]] = frozenset({SlowDisk, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule slow disks for 1 to 5 seconds."""
        while True:
            node = rng.choice(("leader", "random", "all"))
            yield rng.uniform(0.5, 2.0), SlowDisk(node, rng.choice((20, 100, 500)))
            yield rng.uniform(1.0, 5.0), Heal()


class FailSyncs:
    """One sync of a node fails, and what it should have brought is lost; then the power goes.

    With flush.messages=1 nothing that was acknowledged may be lost: a broker that is told of the
    failure once must not believe the next sync (UnifiedLog.maybeHandleIOException).
    """

    name = "failed-syncs"
    faults: frozenset[type[Fault]] = frozenset({FailedSync, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Fail one of the next twenty syncs, and cut the power 0.3 to 2 seconds later."""
        while True:
            node = rng.choice(("leader", "random"))
            yield rng.uniform(1.0, 2.5), FailedSync(node, rng.randint(1, 20))
            yield rng.uniform(0.3, 2.0), Heal()


class FailWrites:
    """One write of a node fails, of a segment, an index or whatever comes: what was acknowledged
    before stays, what comes after is written whole or refused (KIP-112)."""

    name = "failed-writes"
    faults: frozenset[type[Fault]] = frozenset({FailedWrite, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Fail one of the next twenty writes or, half of the time, the next write of an index."""
        while True:
            node, of_index = rng.choice(("leader", "random")), rng.random() < 0.5
            number = 1 if of_index else rng.randint(1, 20)
            yield rng.uniform(0.5, 2.0), FailedWrite(node, number, of_index)
            yield rng.uniform(0.3, 2.0), Heal()


class TearWrites:
    """The power of all nodes fails while they sync: of what they had written, some is there.

    With flush.messages=1 all of that belongs to records that were not acknowledged. Recovery must
    keep whole batches, and nothing else (LogSegment.recover).
    """

    name = "torn-writes"
    faults: frozenset[type[Fault]] = frozenset({TornWrites, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule torn and reordered writes in turn, in an order of the seed; now and then
        scattered ones."""
        while True:
            ways: list[Tear] = ["torn", "reordered", "torn", "reordered", "scattered"]
            rng.shuffle(ways)
            for how in ways:
                yield rng.uniform(1.0, 2.5), TornWrites("all", how)
                yield rng.uniform(0.1, 0.5), Heal()


class LoseNames:
    """The power of all nodes fails, and files whose names were not synced are not there any more.

    With flush.messages=1 a record is flushed when its file's name is, too.
    """

    name = "lost-names"
    faults: frozenset[type[Fault]] = frozenset({LostNames, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule all nodes without power for 0.1 to 0.5 seconds and the time they need to
        start."""
        while True:
            yield rng.uniform(2.0, 5.0), LostNames("all")
            yield rng.uniform(0.1, 0.5), Heal()


class FlipBit:
    """A node is killed, and a bit of one of its segments is another when it comes back.

    active: recovery reads there, and cannot tell the bit from a torn write: what follows may be
    cut off. closed: nobody looks there before somebody reads, and the CRC must tell the reader.
    librdkafka 2 ends its process by an assertion at some batches whose CRC is wrong: use
    --client reference where brokers may serve them.
    """

    faults: frozenset[type[Fault]] = frozenset({BitFlip, Heal})
    nodes_min = 1

    def __init__(self, segment: Segment) -> None:
        self.name = f"bit-flip-{segment}"
        self._segment = segment

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule a node that is away for 0.1 to 1 second and the time it needs to start."""
        while True:
            yield rng.uniform(2.0, 5.0), BitFlip(rng.choice(("leader", "random")), self._segment)
            yield rng.uniform(0.1, 1.0), Heal()
