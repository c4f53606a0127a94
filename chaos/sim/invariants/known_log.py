"""The knowledge of one log of a simulated node: its offsets and batches after the last step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.wire import ControlRecordType, RecordBatch, control_type
from reference_impl.wire.batches.records import BatchHeader, read_header


class Offsets(NamedTuple):
    """The offsets of a log."""

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
    """The kind of marker, if it is one."""


@dataclass
class KnownLog:
    """The offsets and batches of a log, and the state of its producers that follows from them."""

    offsets: Offsets = EMPTY
    batches: dict[int, Written] = field(default_factory=dict)
    """By base offset."""
    added: list[Written] = field(default_factory=list)
    """The batches that the last step has added."""
    producers: dict[int, BatchHeader] = field(default_factory=dict)
    """The last batch with records of each producer id."""
    epochs: dict[int, int] = field(default_factory=dict)
    """The epoch of the last batch or marker of each producer id."""
    open_since: dict[int, int] = field(default_factory=dict)
    """The first offset of each undecided transaction, by producer id."""
    kept_to: int | None = None
    """After the end of a process: the offset below which every batch must be found again."""

    def end(self, *, keeps_all: bool) -> None:
        """Note that the process has ended. keeps_all: whether the medium keeps unsynced bytes."""
        kept_to = self.offsets.log_end if keeps_all else self.offsets.recovery_point
        self.kept_to = kept_to if self.kept_to is None else min(kept_to, self.kept_to)

    def read_new(self, log: PartitionLog) -> None:
        """Read the batches that the last step has added: all batches after a restart. Raise
        CorruptLog."""
        first = self.offsets.log_end if self.kept_to is None else log.log_start_offset
        self.added = []
        for data in log.batches(first):
            one = written(data)
            if one.header.base_offset >= log.log_end_offset:
                return
            self.added.append(one)

    def take_in(self, log: PartitionLog) -> None:
        """Count the added batches as known, when the invariants have seen them."""
        self.offsets = Offsets.of(log)
        if self.kept_to is not None:
            self.batches, self.producers, self.epochs, self.open_since = {}, {}, {}, {}
            self.kept_to = None
        for one in self.added:
            self.batches[one.header.base_offset] = one
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
    """Return the facts about a batch that its bytes show."""
    header = read_header(data)
    if not header.is_control:
        return Written(header, None)
    batch, _ = RecordBatch.decode(data)
    return Written(header, control_type(batch.records[0]))
