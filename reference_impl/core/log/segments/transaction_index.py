"""The transaction index: which transactions were aborted, and where their records may lie.

Source: TransactionIndex.java, AbortedTxn.java; KIP-98. One entry of 34 bytes (int16 version,
producer id, first offset, last offset, last stable offset) for each abort marker of the segment; a
segment without any has no file. A fetch by a read_committed consumer returns the entries that
overlap the returned records; the consumer drops the records of these producers up to their markers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from reference_impl.core.storage import File, Storage

TRANSACTION_INDEX_SUFFIX = ".txnindex"
_VERSION = 0
_ENTRY = struct.Struct(">hqqqq")


class AbortedTransaction(NamedTuple):
    """One entry. `last_offset` is that of the marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    """The last stable offset after the marker was written. No transaction that begins below it ends
    in a later entry, so a search may stop at this entry once it is past the range."""


class TransactionIndex:
    """The transaction index of one segment, in the file `<base offset>.txnindex`; also kept in
    memory, since aborts are few."""

    def __init__(self, storage: Storage, path: str, base_offset: int) -> None:
        self.path = path
        self._storage = storage
        self._base_offset = base_offset
        self._file: File | None = None
        self._entries: list[AbortedTransaction] = []
        self._whole = True
        self._is_synced = False
        if storage.exists(path):
            self._load(storage.open(path))

    def _load(self, file: File) -> None:
        self._file = file
        data = file.read(0, file.size())
        self._whole = len(data) % _ENTRY.size == 0
        for start in range(0, len(data) - _ENTRY.size + 1, _ENTRY.size):
            version, *fields = _ENTRY.unpack_from(data, start)
            self._whole = self._whole and version == _VERSION
            self._entries.append(AbortedTransaction(*fields))

    def __iter__(self) -> Iterator[AbortedTransaction]:
        return iter(self._entries)

    def append(self, aborted: AbortedTransaction) -> None:
        """Append an entry for an aborted transaction whose marker was written to the segment."""
        if self._file is None:
            self._file = self._storage.open(self.path, create=True)
        self._is_synced = False
        self._file.append(_ENTRY.pack(_VERSION, *aborted))
        self._entries.append(aborted)

    def truncate_to(self, offset: int) -> None:
        """Keep only the entries whose marker lies below `offset`."""
        kept = [entry for entry in self._entries if entry.last_offset < offset]
        if self._file is not None and (len(kept) < len(self._entries) or not self._whole):
            self._is_synced = False
            self._file.truncate(len(kept) * _ENTRY.size)
            self._whole = True
        self._entries = kept

    def problem(self) -> str | None:
        """Return why the file cannot be this segment's index, or None if it can (sanityCheck)."""
        if not self._whole:
            return "it does not consist of whole entries of version 0"
        if any(entry.last_offset < self._base_offset for entry in self._entries):
            return "an entry points before the segment"
        return None

    def sync(self) -> None:
        """Make the entries survive a loss of power."""
        if self._file is not None and not self._is_synced:
            self._file.sync()
            self._is_synced = True

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
