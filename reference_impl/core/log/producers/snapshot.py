"""Producer snapshots: `<offset>.snapshot` holds the producer state as it was when the log ended at
`offset`.

Source: ProducerSnapshot.json; ProducerStateManager.java (writeSnapshot, readSnapshot). int16
version, uint32 CRC-32C of all that follows, the entries. Only the last batch of each producer is
stored: the four before it are restored only if the log that holds them is replayed (claims IDM-1).

Snapshots are not synced: if a loss of power has torn one, its CRC is wrong, and the one before it
is used, with a longer replay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from crc32c import crc32c

from reference_impl.core.log.producers.state import BATCHES_TO_RETAIN, BatchMetadata, ProducerEntry
from reference_impl.core.log.segments.segment import segment_path
from reference_impl.core.storage import Storage, StorageError
from reference_impl.wire import Malformed, definition

SNAPSHOT_SUFFIX = ".snapshot"
_VERSION = 1
_CRC_AT, _ENTRIES_AT = 2, 6


class BadSnapshot(StorageError):
    """A snapshot file that is torn or altered."""


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """Return the bytes of a snapshot file."""
    form = definition("ProducerSnapshot")
    rows = []
    for entry in entries:
        last = entry.batches[-1] if entry.batches else BatchMetadata(-1, -1, 0, -1)
        first_offset = entry.current_txn_first_offset
        rows.append(
            form.struct(
                "ProducerEntry",
                producer_id=entry.producer_id,
                epoch=entry.producer_epoch,
                last_sequence=last.last_sequence,
                last_offset=last.last_offset,
                offset_delta=last.offset_delta,
                timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_first_offset=-1 if first_offset is None else first_offset,
            )
        )
    body = form.encode(form.new(crc=0, producer_entries=rows), _VERSION)
    data = bytearray(_VERSION.to_bytes(2, "big") + body)
    data[_CRC_AT:_ENTRIES_AT] = int(crc32c(bytes(data[_ENTRIES_AT:]))).to_bytes(4, "big")
    return bytes(data)


def decode_snapshot(path: str, data: bytes) -> list[ProducerEntry]:
    """Return the entries of a snapshot of producers. Raise BadSnapshot if the file is damaged."""
    if len(data) < _ENTRIES_AT or int.from_bytes(data[:_CRC_AT], "big") != _VERSION:
        raise BadSnapshot(path, f"it does not start with the version {_VERSION}")
    stated = int.from_bytes(data[_CRC_AT:_ENTRIES_AT], "big")
    if stated != int(crc32c(data[_ENTRIES_AT:])):
        raise BadSnapshot(path, "its CRC does not match its content")
    try:
        rows = definition("ProducerSnapshot").decode(data[_CRC_AT:], _VERSION).producer_entries
    except Malformed as error:
        raise BadSnapshot(path, str(error)) from error
    entries = []
    for row in rows:
        batches: deque[BatchMetadata] = deque(maxlen=BATCHES_TO_RETAIN)
        if row.last_offset >= 0:
            batches.append(
                BatchMetadata(row.last_sequence, row.last_offset, row.offset_delta, row.timestamp)
            )
        first_offset = row.current_txn_first_offset
        entries.append(
            ProducerEntry(
                row.producer_id,
                row.epoch,
                row.coordinator_epoch,
                row.timestamp,
                first_offset if first_offset >= 0 else None,
                batches,
            )
        )
    return entries


class Snapshots:
    """The snapshot files of one partition."""

    def __init__(self, storage: Storage, directory: str) -> None:
        self._storage = storage
        self._directory = directory

    def path(self, offset: int) -> str:
        """Return the path of the snapshot for this log end."""
        return segment_path(self._directory, offset, SNAPSHOT_SUFFIX)

    def offsets(self) -> list[int]:
        """Return the offsets that have a snapshot, ascending."""
        names = self._storage.list(self._directory)
        return [
            int(name.removesuffix(SNAPSHOT_SUFFIX))
            for name in names
            if name.endswith(SNAPSHOT_SUFFIX) and name.removesuffix(SNAPSHOT_SUFFIX).isdecimal()
        ]

    def write(self, offset: int, entries: Iterable[ProducerEntry]) -> None:
        """Write a snapshot of the state for a log that ends at `offset`."""
        self._storage.write_atomically(self.path(offset), encode_snapshot(entries), sync=False)

    def newest(self, log_start_offset: int, log_end_offset: int) -> tuple[int, list[ProducerEntry]]:
        """Return the offset and entries of the newest usable snapshot, (0, []) if there is none.
        Remove the unusable ones that are newer: torn ones, those after the log end, and those
        before the log start, since batches after them have been deleted
        (ProducerStateManager.truncateAndReload)."""
        for offset in reversed(self.offsets()):
            path = self.path(offset)
            if log_start_offset <= offset <= log_end_offset:
                try:
                    return offset, decode_snapshot(path, self._storage.read_file(path))
                except BadSnapshot:
                    pass  # an older snapshot or the log has the same facts
            self._storage.delete(path)
        return 0, []

    def keep_only(self, offsets: Iterable[int]) -> None:
        """Remove the snapshots for other log ends than these."""
        wanted = set(offsets)
        for offset in self.offsets():
            if offset not in wanted:
                self._storage.delete(self.path(offset))
