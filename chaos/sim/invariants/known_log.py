"""The knowledge of one log of a simulated node: its offsets and batches after the last step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.wire import ControlRecordType, RecordBatch, control_type
from reference_impl.wire.batches.records import BatchHeader, read_header


class Offsets(NamedTuple):
    """The offsets of a log: its start, last stable offset, high watermark, end and recovery
    point."""

    log_start: int
    last_stable: int
    high_watermark: int
    log_end: int
    recovery_point: int

    @classmethod
    def of(cls, log: PartitionLog) -> Offsets:
        """Return the offsets of a log as they are now."""
        return cls(
            log.log_start_offset,
            log.last_stable_offset,
            log.high_watermark,
            log.log_end_offset,
            log.recovery_point,
        )


EMPTY = Offsets(0, 0, 0, 0, 0)


class Written(NamedTuple):
    """One batch of a log."""

    header: BatchHeader
    marker: ControlRecordType | None
    """The kind of control batch (commit or abort), or None for a batch of data."""


@dataclass
class KnownLog:
    """The offsets and batches of a log, and the state of its producers that follows from them."""

    offsets: Offsets = EMPTY
    batches: dict[int, Written] = field(default_factory=dict)
    """Base offset -> batch."""
    added: list[Written] = field(default_factory=list)
    """The batches that the last step has added."""
    producers: dict[int, BatchHeader] = field(default_factory=dict)
    """Producer id -> the last batch of it that has records."""
    epochs: dict[int, int] = field(default_factory=dict)
    """Producer id -> the epoch of its last batch or marker."""
    open_since: dict[int, int] = field(default_factory=dict)
    """Producer id -> the first offset of its undecided transaction."""
    kept_to: int | None = None
    """After the end of a process: the offset below which every batch must be found again."""
    led_in: int | None = None
    """The leader epoch in which the node led the partition after the last step, None if it did
    not."""
    partition_epoch: int = 0
    """The partition epoch that the node knew after the last step."""
    compared_to: int = 0
    """The offset below which its committed batches were compared with those of other replicas."""
    keeps_following: bool = True
    """Whether the node led the partition neither after the last step nor before it."""
    keeps_leading: bool = True
    """Whether the node has led the partition in one epoch since the last step. A follower's offsets
    may go back, as it takes over those of its leader."""

    def note_leadership(self, epoch: int | None) -> None:
        """Note in which epoch the node leads the partition; None: it does not lead."""
        self.keeps_following = epoch is None and self.led_in is None
        self.keeps_leading, self.led_in = epoch is not None and epoch == self.led_in, epoch

    def end(self, *, keeps_all: bool) -> None:
        """Note that the process has ended. keeps_all: whether the medium keeps unsynced bytes."""
        kept_to = self.offsets.log_end if keeps_all else self.offsets.recovery_point
        self.kept_to = kept_to if self.kept_to is None else min(kept_to, self.kept_to)

    def last_below(self, added: Sequence[Written]) -> Written | None:
        """Return the last known batch before the first of the added ones, or None if there is no
        such batch."""
        if not added:
            return None
        first = added[0].header.base_offset
        return next(
            (one for one in reversed(self.batches.values()) if one.header.base_offset < first), None
        )

    def from_offset(self, offset: int) -> list[Written]:
        """Return the known batches that end at this offset or later."""
        found = []
        for one in reversed(self.batches.values()):
            if one.header.last_offset < offset:
                break
            found.append(one)
        return found[::-1]

    def read_new(self, log: PartitionLog) -> None:
        """Set `added` to the batches that the last step has added, or to all after a restart.
        Forget those that the step has truncated. Raise CorruptLog if a batch cannot be read; then
        `added` has those before it."""
        first = log.log_start_offset
        if self.kept_to is None:
            first = min(self.offsets.log_end, log.log_end_offset)
            if log.log_start_offset > self.offsets.log_end:
                first = log.log_start_offset
                self._cut(0)  # a follower has restarted its log at its leader's log start
            elif first < self.offsets.log_end:
                self._cut(first)
        self.added = []
        for data in log.batches(first):
            one = written(data)
            if one.header.base_offset >= log.log_end_offset:
                return
            self.added.append(one)

    def take_in(self, log: PartitionLog) -> None:
        """Add the new batches to the known ones, after the invariants were checked."""
        self.offsets = Offsets.of(log)
        if self.kept_to is not None:
            self._cut(0)
            self.kept_to = None
        for one in self.added:
            self.batches[one.header.base_offset] = one
            self._take_in(one)

    def _cut(self, end_offset: int) -> None:
        """Forget the batches from this offset on."""
        self.compared_to = min(self.compared_to, end_offset)
        kept = [one for one in self.batches.values() if one.header.base_offset < end_offset]
        self.batches = {one.header.base_offset: one for one in kept}
        self.producers, self.epochs, self.open_since = {}, {}, {}
        for one in kept:
            self._take_in(one)

    def _take_in(self, one: Written) -> None:
        producer_id = one.header.producer_id
        if producer_id < 0:
            return
        if self.epochs.get(producer_id) != one.header.producer_epoch:
            self.producers.pop(producer_id, None)
        self.epochs[producer_id] = one.header.producer_epoch
        if one.marker is not None:
            self.open_since.pop(producer_id, None)
            return
        self.producers[producer_id] = one.header
        if one.header.is_transactional:
            self.open_since.setdefault(producer_id, one.header.base_offset)


def written(data: memoryview) -> Written:
    """Return the facts that the bytes of a batch show."""
    header = read_header(data)
    if not header.is_control:
        return Written(header, None)
    batch, _ = RecordBatch.decode(data)
    return Written(header, control_type(batch.records[0]))
