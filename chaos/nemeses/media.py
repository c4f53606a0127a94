"""Make storage media fail, and let a crash tear the writes in progress.

The faults differ in the acknowledged records that they may destroy (guarantees of durability):

- A disk that dies or turns read-only keeps its content, so no record is lost.
- Torn or reordered writes, and directory entries that were not synced, lose unflushed records, as a
  loss of power does. If flush.messages=1 makes the broker flush each record, none is lost.
- A flipped bit damages a record on this node only; the other replicas keep theirs. No broker may
  return the changed record as if it were the original.
"""

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
    """Turn a node's file system read-only; later mount it again and restart the node.

    Records acknowledged before must be kept; later writes must not be acknowledged (KIP-112).
    """

    name = "disk-read-only"
    faults: frozenset[type[Fault]] = frozenset({DiskReadOnly, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield faults that make a disk read-only, each for 0.5 to 4 seconds."""
        while True:
            yield rng.uniform(1.5, 4.5), DiskReadOnly(rng.choice(("leader", "random")))
            yield rng.uniform(0.5, 4.0), Heal()


class DeadDisk:
    """Fail every write and sync of a node's disk; later give it a working disk with the same data.

    Records acknowledged before must be kept; later writes must not be acknowledged (KIP-112).
    """

    name = "disk-dead"
    faults: frozenset[type[Fault]] = frozenset({DiskDead, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield faults that make every write and sync of a disk fail, each for 0.5 to 4 seconds."""
        while True:
            yield rng.uniform(1.5, 4.5), DiskDead(rng.choice(("leader", "random")))
            yield rng.uniform(0.5, 4.0), Heal()


class SlowDisks:
    """Make every sync of a node, or of all nodes, take up to half a second longer.

    Nothing may be lost by it.
    """

    name = "slow-disk"
    faults: frozenset[type[Fault]] = frozenset({SlowDisk, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield faults that make a disk's syncs 20, 100 or 500 ms longer, each for 1 to 5
        seconds."""
        while True:
            node = rng.choice(("leader", "random", "all"))
            yield rng.uniform(0.5, 2.0), SlowDisk(node, rng.choice((20, 100, 500)))
            yield rng.uniform(1.0, 5.0), Heal()


class FailSyncs:
    """Fail one sync of a node, lose the data that it should have written, and then cut the node's
    power.

    With flush.messages=1 no acknowledged record may be lost: after one failed sync a broker must
    not trust the next one (UnifiedLog.maybeHandleIOException).
    """

    name = "failed-syncs"
    faults: frozenset[type[Fault]] = frozenset({FailedSync, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield faults that fail one of a node's next twenty syncs, each with a heal 0.3 to 2
        seconds later, which cuts the power of a node whose sync has failed."""
        while True:
            node = rng.choice(("leader", "random"))
            yield rng.uniform(1.0, 2.5), FailedSync(node, rng.randint(1, 20))
            yield rng.uniform(0.3, 2.0), Heal()


class FailWrites:
    """Fail one write of a node, to a segment, an index or any other file.

    Records acknowledged before must be kept; later records are stored completely or refused
    (KIP-112).
    """

    name = "failed-writes"
    faults: frozenset[type[Fault]] = frozenset({FailedWrite, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield faults that fail one of a node's next twenty writes or, half of the time, its next
        write to an index, each with a heal 0.3 to 2 seconds later."""
        while True:
            node, of_index = rng.choice(("leader", "random")), rng.random() < 0.5
            number = 1 if of_index else rng.randint(1, 20)
            yield rng.uniform(0.5, 2.0), FailedWrite(node, number, of_index)
            yield rng.uniform(0.3, 2.0), Heal()


class TearWrites:
    """Cut the power of all nodes while they sync, so that only a part of the data being synced is
    on the disk.

    With flush.messages=1 these bytes belong only to records that were not acknowledged. Recovery
    must keep complete batches and nothing else (LogSegment.recover).
    """

    name = "torn-writes"
    faults: frozenset[type[Fault]] = frozenset({TornWrites, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield power cuts, each followed by a heal. Of five in random order, two tear writes, two
        reorder them, and one keeps a random choice of sectors (see TornWrites)."""
        while True:
            ways: list[Tear] = ["torn", "reordered", "torn", "reordered", "scattered"]
            rng.shuffle(ways)
            for how in ways:
                yield rng.uniform(1.0, 2.5), TornWrites("all", how)
                yield rng.uniform(0.1, 0.5), Heal()


class ReorderWrites:
    """Cut the power of all nodes while they sync, so that of the data being synced all is on the
    disk but the largest part: the index entry of a batch, for example, and not the batch.

    With flush.messages=1 these bytes belong only to records that were not acknowledged. Recovery
    must trust the batches alone (LogSegment.recover). A broker that also trusts its indexes may
    hide that error under torn-writes, where it first keeps a damaged batch, at which readers stop.
    """

    name = "reordered-writes"
    faults: frozenset[type[Fault]] = frozenset({TornWrites, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield power cuts that reorder writes (see TornWrites), each followed by a heal."""
        while True:
            yield rng.uniform(1.0, 2.5), TornWrites("all", "reordered")
            yield rng.uniform(0.1, 0.5), Heal()


class LoseNames:
    """Cut the power of all nodes and remove the files whose directory entries were not synced.

    With flush.messages=1 a record counts as flushed only when its file's directory entry is, too.
    """

    name = "lost-names"
    faults: frozenset[type[Fault]] = frozenset({LostNames, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield losses of power of all nodes that also destroy files whose directory was not
        synced, each with a heal 0.1 to 0.5 seconds later."""
        while True:
            yield rng.uniform(2.0, 5.0), LostNames("all")
            yield rng.uniform(0.1, 0.5), Heal()


class FlipBit:
    """Kill a node, flip one bit in one of its segments, and start it again.

    active: the bit is in the segment that is still written to. Recovery reads it and cannot
    distinguish the flipped bit from a torn write, so it may truncate the log there. closed: the bit
    is in an older segment, which is not read until a consumer fetches from it; the CRC must reveal
    the error to that consumer. librdkafka 2 aborts its process on some batches with a wrong CRC:
    use --client reference where brokers may serve them.
    """

    faults: frozenset[type[Fault]] = frozenset({BitFlip, Heal})
    nodes_min = 1

    def __init__(self, segment: Segment) -> None:
        self.name = f"bit-flip-{segment}"
        self._segment = segment

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield faults that stop a node and flip a bit of a segment, each with a heal 0.1 to 1
        second later."""
        while True:
            yield rng.uniform(2.0, 5.0), BitFlip(rng.choice(("leader", "random")), self._segment)
            yield rng.uniform(0.1, 1.0), Heal()
