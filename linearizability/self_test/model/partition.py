"""A replicated partition, exactly: a log, a high watermark, open transactions, truncation.

The model obeys these rules: records at or above the high watermark may vanish when the leader
changes; under acks=all, only records below it are acknowledged; a read_committed reader receives
the records below the last stable offset, without the records of aborted transactions; a marker
takes effect once it is replicated itself (ProducerStateManager, unreplicated transactions).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple


class Dress(NamedTuple):
    """The fields of a record besides its value. It has a key only if the topic is compacted."""

    key: str | None = None
    tombstone: bool | None = None


@dataclass
class Entry:
    """One record of the log. `aborted` is set when its marker is replicated."""

    value: int | None
    control: str | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    sequence: int = -1
    leader_epoch: int = 0
    transactional: bool = False
    aborted: bool = False
    begins_batch: bool = False
    removed: bool = False
    """Whether the cleaner has removed the record, so that its offset is empty."""
    txn: int | None = None
    """For a marker: the transaction that it ends."""


@dataclass
class Partition:
    number: int
    log: list[Entry] = field(default_factory=list)
    start: int = 0
    high_watermark: int = 0
    leader_epoch: int = 0
    open: dict[int, int] = field(default_factory=dict)
    """Producer id -> offset of the first record of its open transaction."""

    @property
    def last_stable_offset(self) -> int:
        return min([self.high_watermark, *self.open.values()])

    def append(self, entries: list[Entry]) -> int:
        """Append the entries as one batch, and return the offset of the first. Set their leader
        epoch, and open a transaction where one begins."""
        base = len(self.log)
        for entry in entries:
            entry.leader_epoch = self.leader_epoch
            entry.begins_batch = entry is entries[0]
            if entry.transactional and entry.control is None:
                self.open.setdefault(entry.producer_id, len(self.log))
            self.log.append(entry)
        return base

    def holds(self, offset: int, entry: Entry) -> bool:
        return offset < len(self.log) and self.log[offset] is entry

    def find(self, producer_id: int, epoch: int, sequence: int) -> int | None:
        """Return the offset of an idempotent record that is already in the log, or None (KIP-98: a
        retry is answered, not appended again)."""
        wanted = (producer_id, epoch, sequence)
        for offset in range(len(self.log) - 1, -1, -1):
            entry = self.log[offset]
            if (entry.producer_id, entry.producer_epoch, entry.sequence) == wanted:
                return offset
        return None

    def knows(self, producer_id: int) -> bool:
        """Return whether the log has any record of this producer."""
        return any(entry.producer_id == producer_id for entry in self.log)

    def accepts(self, entry: Entry) -> bool:
        """Return whether an idempotent record continues its producer's sequence in this partition,
        or is the first of its producer (KIP-98: else OUT_OF_ORDER_SEQUENCE_NUMBER or
        INVALID_PRODUCER_EPOCH; KIP-360: a new epoch begins with sequence 0)."""
        own = [e for e in self.log if e.producer_id == entry.producer_id]
        if not own or entry.producer_id < 0:
            return True
        epoch = max(e.producer_epoch for e in own)
        last = max((e.sequence for e in own if e.producer_epoch == epoch), default=-1)
        if entry.producer_epoch != epoch:
            return entry.producer_epoch > epoch and entry.sequence == 0
        return entry.sequence == last + 1

    def replicate(self, rng: Random) -> None:
        if self.high_watermark < len(self.log):
            self.advance(rng.choice(self._ends_of_batches()[1:]))

    def advance(self, high_watermark: int) -> None:
        """Move the high watermark to this offset; open transactions with a marker below it end."""
        self.high_watermark = high_watermark
        for producer_id, first in list(self.open.items()):
            for entry in self.log[first:high_watermark]:
                if entry.control is not None and entry.producer_id == producer_id:
                    self.end_transaction(producer_id, entry.control)
                    break

    def _ends_of_batches(self) -> list[int]:
        """Return the offsets at which a follower's log may end, from the high watermark on: only
        between batches."""
        tail = range(self.high_watermark, len(self.log))
        return [o for o in tail if self.log[o].begins_batch] + [len(self.log)]

    def change_leader(self, rng: Random) -> None:
        """Elect a leader that has everything below the high watermark, and perhaps some records
        above it: cut the log after them, raise the leader epoch, and forget transactions that are
        cut off whole."""
        del self.log[rng.choice(self._ends_of_batches()) :]
        self.leader_epoch += 1
        self.open = {p: first for p, first in self.open.items() if first < len(self.log)}

    def end_transaction(self, producer_id: int, marker: str) -> None:
        """End a producer's transaction. The marker "abort" makes its records aborted."""
        first = self.open.pop(producer_id, None)
        if first is not None and marker == "abort":
            for entry in self.log[first:]:
                if entry.producer_id == producer_id and entry.control is None:
                    entry.aborted = True

    def readable(self, position: int, committed_only: bool) -> list[tuple[int, Entry]]:
        """Return (offset, entry) of the records that a consumer at this position may receive now,
        control records included, in order."""
        end = self.last_stable_offset if committed_only else self.high_watermark
        entries = [(o, self.log[o]) for o in range(max(position, self.start), end)]
        return [(o, e) for o, e in entries if not e.removed and not (committed_only and e.aborted)]

    def compact(self, dress: Callable[[int | None], Dress], tombstones_go: bool) -> None:
        """Mark the records that a cleaner removes below the last stable offset: aborted ones, all
        but the last of each key and, with tombstones_go, tombstones. dress: a function from a
        record's value to its key and whether it is a tombstone."""
        last: dict[str | None, Entry] = {}
        decided = [e for e in self.log[: self.last_stable_offset] if e.control is None]
        for entry in decided:
            if not entry.aborted:
                last[dress(entry.value).key] = entry
        for entry in decided:
            worn = dress(entry.value)
            is_over = tombstones_go and worn.tombstone is True
            entry.removed = last.get(worn.key) is not entry or is_over
