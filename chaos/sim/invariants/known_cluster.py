"""The knowledge of all nodes of a simulated cluster, over all their processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from chaos.sim.invariants.known_log import KnownLog, Written
from chaos.sim.invariants.replica import METADATA_KEY, Key, Replica


class Batch(NamedTuple):
    """The identity of a batch: its leader epoch, and its first offset."""

    epoch: int
    base_offset: int


class Content(NamedTuple):
    """The CRC of a batch, which stands for its content, and the batch before it, None if that is
    unknown."""

    crc: int
    before: Batch | None


@dataclass
class KnownCluster:
    """The leaders, votes, batches and committed offsets that the nodes have shown so far."""

    note: Callable[[str], None] = lambda sentence: None
    """Called with a sentence about each election."""
    leaders: dict[tuple[Key, int], tuple[int, int]] = field(default_factory=dict)
    """(partition, leader epoch) -> the node that led in it, and the number of its process."""
    newest_epochs: dict[Key, int] = field(default_factory=dict)
    """Partition -> the newest leader epoch that any replica has known."""
    votes: dict[tuple[int, int], int] = field(default_factory=dict)
    """(voter, quorum epoch) -> the candidate that it has voted for."""
    images: dict[int, tuple[int, int]] = field(default_factory=dict)
    """End offset of the metadata -> a node whose image ended there, and the hash of that image."""
    compared_controllers: set[tuple[int, int]] = field(default_factory=set)
    """(node, quorum epoch) in which the image of the node's controller was compared."""
    producer_ids: dict[int, tuple[int, range, int]] = field(default_factory=dict)
    """End of a block of producer ids -> the node that has it, the block, and its next free id."""
    batches: dict[Key, dict[Batch, Content]] = field(default_factory=lambda: defaultdict(dict))
    committed: dict[Key, dict[int, Batch]] = field(default_factory=lambda: defaultdict(dict))
    """Partition -> first offset -> the batch below some replica's high watermark."""
    committed_ends: dict[Key, int] = field(default_factory=dict)
    """Partition -> the highest high watermark that any replica has had."""
    ends: dict[Key, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    """Partition -> node -> the log end of its replica."""
    has_lost_power: bool = False
    """Whether a machine has lost power, and with it what was not flushed."""

    def keeps_committed(self, replica: Replica) -> bool:
        """Return whether the committed records of a partition must still exist. Those of the
        metadata log must. Others need not where the partition allows unclean elections, even if
        none has happened, or once power was lost where not every record is flushed."""
        config = replica.log.config
        if replica.key == METADATA_KEY:
            return True
        is_flushed = config.flush_messages == 1 or not self.has_lost_power
        return is_flushed and not config.unclean_leader_election_enable

    def take_in(self, replica: Replica, known: KnownLog, life: int) -> None:
        """Add a replica's present state to the knowledge, after the invariants were checked, and
        note its high watermark and partition epoch in `known`. life: the number of its node's
        process."""
        key = replica.key
        newest = max(replica.leader_epoch, self.newest_epochs.get(key, 0))
        self.newest_epochs[key] = newest
        self.ends[key][replica.node] = replica.log.log_end_offset
        if replica.leads and (key, replica.leader_epoch) not in self.leaders:
            self.leaders[key, replica.leader_epoch] = replica.node, life
            self.note(
                f"node {replica.node} leads {replica.name} in epoch {replica.leader_epoch}; its log"
                f" ends at {replica.log.log_end_offset}"
            )
        if not replica.log.config.is_compacted:
            for batch, content in added_batches(known):
                self.batches[key].setdefault(batch, content)
        for batch in newly_committed(replica, known):
            self.committed[key].setdefault(batch.base_offset, batch)
        end = replica.log.high_watermark
        self.committed_ends[key] = max(end, self.committed_ends.get(key, 0))
        known.compared_to, known.partition_epoch = end, replica.partition_epoch


def identity(one: Written) -> Batch:
    """Return the identity of a batch."""
    return Batch(one.header.partition_leader_epoch, one.header.base_offset)


def added_batches(known: KnownLog) -> Iterator[tuple[Batch, Content]]:
    """Yield each batch that the last step has added to a log (after a restart, each batch of the
    log), with its content and the batch before it."""
    before = None if known.kept_to is not None else known.last_below(known.added)
    for one in known.added:
        follows = before is not None and before.header.last_offset + 1 == one.header.base_offset
        yield (
            identity(one),
            Content(one.header.crc, identity(before) if before is not None and follows else None),
        )
        before = one


def newly_committed(replica: Replica, known: KnownLog) -> Iterator[Batch]:
    """Yield the batches below a replica's high watermark that were not compared before; none of a
    compacted topic, from which the cleaner may remove them."""
    end = replica.log.high_watermark
    if end <= known.compared_to or replica.log.config.is_compacted:
        return
    old = () if known.kept_to is not None else known.from_offset(known.compared_to)
    for one in (*old, *known.added):
        if known.compared_to <= one.header.last_offset < end:
            yield identity(one)
