"""The offset at which each leader epoch began to write, in the file `leader-epoch-checkpoint`.

Source: KIP-101, KIP-279; LeaderEpochFileCache.java. An entry (epoch, start offset) says that the
epoch's first record has that offset; it ends where the next entry starts, or at the log end. A
follower asks its leader where an epoch ended and cuts its own log there.
"""

from __future__ import annotations

from bisect import bisect_right

from reference_impl.core.log.directories.checkpoints import (
    LEADER_EPOCH_FILE,
    decode_lines,
    encode_lines,
)
from reference_impl.core.storage import Storage

UNDEFINED_EPOCH = -1
UNDEFINED_EPOCH_OFFSET = -1


class LeaderEpochs:
    """The entries of one partition, rising in epoch and in start offset."""

    def __init__(self, storage: Storage, directory: str) -> None:
        self._storage = storage
        self.path = f"{directory}/{LEADER_EPOCH_FILE}"
        self.entries: list[tuple[int, int]] = []
        self._is_saved = self._is_synced = True

    def load(self) -> None:
        """Read the file. Raise BadCheckpoint if it is not in the format."""
        if self._storage.exists(self.path):
            rows = decode_lines(self.path, self._storage.read_file(self.path), 2)
            self.entries = [(int(epoch), int(start)) for epoch, start in rows]

    def assign(self, epoch: int, start_offset: int) -> None:
        """Begin this epoch at an offset, unless it is negative or the newest already. Drop entries
        that contradict it, and save the file."""
        is_known = self.entries and self.entries[-1][0] == epoch and self._is_saved
        if is_known or epoch < 0:
            return
        self.begin(epoch, start_offset)
        if not self._is_saved:
            self.save(sync=False)

    def begin(self, epoch: int, start_offset: int) -> None:
        """Begin this epoch at an offset, unless it is the newest already. Drop entries that
        contradict it, but do not save yet.

        The file is written with the epoch's first record: a load before that would drop the entry
        anyway, and writing a thousand files would take most of the time of a start.
        """
        if self.entries and self.entries[-1][0] == epoch:
            return
        kept = [(e, start) for e, start in self.entries if e < epoch and start < start_offset]
        self._replace([*kept, (epoch, start_offset)], save=False)

    def _replace(self, entries: list[tuple[int, int]], *, save: bool) -> None:
        if entries != self.entries:
            self.entries = entries
            self._is_saved = self._is_synced = False
        if save and not self._is_saved:
            self.save(sync=False)

    def save(self, *, sync: bool) -> None:
        """Write the file. With `sync`, make it durable unless it is already: it must be before the
        records that it describes count as flushed."""
        if sync and self._is_synced:
            return
        lines = (f"{epoch} {start}" for epoch, start in self.entries)
        self._storage.write_atomically(self.path, encode_lines(lines), sync=sync)
        self._is_saved, self._is_synced = True, sync

    @property
    def latest(self) -> int | None:
        """The newest epoch that wrote to this log, or None."""
        return self.entries[-1][0] if self.entries else None

    def epoch_of(self, offset: int) -> int | None:
        """Return the leader epoch that wrote this offset, or None if the offset is older than every
        known epoch."""
        index = bisect_right(self.entries, offset, key=lambda entry: entry[1])
        return self.entries[index - 1][0] if index else None

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Return the largest known epoch not above this one and its end offset; the newest epoch
        ends at `log_end_offset`. Return (-1, -1) if this one is negative or newer than all, or none
        is known. An epoch before the first known one ends where that one starts
        (LeaderEpochFileCache.endOffsetFor)."""
        if epoch < 0 or not self.entries or epoch > self.entries[-1][0]:
            return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
        if epoch == self.entries[-1][0]:
            return epoch, log_end_offset
        index = bisect_right(self.entries, epoch, key=lambda entry: entry[0])
        end_offset = self.entries[index][1]
        return (self.entries[index - 1][0] if index else epoch), end_offset

    def truncate_from_end(self, end_offset: int, *, save: bool = True) -> None:
        """Drop the epochs that start at or after the new log end, since none of their records is
        left. save: whether to write the file."""
        self._replace([entry for entry in self.entries if entry[1] < end_offset], save=save)

    def truncate_from_start(self, start_offset: int, *, save: bool = True) -> None:
        """Drop the epochs that end before the new log start, and let the epoch of the record at the
        log start begin there. save: whether to write the file."""
        epoch = self.epoch_of(start_offset)
        kept = [entry for entry in self.entries if entry[1] > start_offset]
        self._replace(kept if epoch is None else [(epoch, start_offset), *kept], save=save)
