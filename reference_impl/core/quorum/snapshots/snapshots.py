"""The snapshots in the directory of the metadata log.

Source: KafkaRaftLog.java (recoverSnapshots, latestSnapshotId, earliestSnapshotId, maybeClean). A
file that was never finished is deleted at the start; one that is damaged is set aside, and an older
one counts.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from itertools import count

from reference_impl.core.quorum.snapshots.snapshot_file import (
    SUFFIX,
    UNFINISHED,
    DamagedSnapshot,
    Snapshot,
    SnapshotId,
    UnfinishedSnapshot,
    read_snapshot,
    read_timestamp,
    whole,
)
from reference_impl.core.storage import Storage

DAMAGED = ".damaged"


class Snapshots:
    """The whole snapshots of one node, by their ids."""

    def __init__(self, storage: Storage, directory: str) -> None:
        self.directory = directory
        self.notes: list[str] = []
        """Sentences for the host's log: which files were set aside, and why."""
        self._storage = storage
        self._numbers = count(1)
        self._sizes: dict[SnapshotId, int] = {}
        """The size of each file, the oldest snapshot first."""
        for name in storage.list(directory):  # sorted, and so are the ids in the names
            id = SnapshotId.of_file(name)
            if id is not None:
                self.finished(id)
            elif name.endswith(SUFFIX + UNFINISHED):
                storage.delete(f"{directory}/{name}")

    @property
    def latest(self) -> SnapshotId | None:
        """Return the newest snapshot, or None if there is none."""
        return next(reversed(self._sizes), None)

    @property
    def earliest(self) -> SnapshotId | None:
        """Return the oldest snapshot, or None if there is none."""
        return next(iter(self._sizes), None)

    @property
    def second(self) -> SnapshotId | None:
        """Return the oldest snapshot but one, or None if there is none."""
        return list(self._sizes)[1] if len(self._sizes) > 1 else None

    @property
    def size_bytes(self) -> int:
        """Return the bytes of all snapshots."""
        return sum(self._sizes.values())

    @property
    def oldest_ms(self) -> int:
        """Return the time at which the last batch that the oldest snapshot replaces was written, or
        0 if its file is damaged. There must be a snapshot. Raise StorageError if the disk fails."""
        assert self.earliest is not None
        with suppress(DamagedSnapshot):
            return read_timestamp(self._storage, self._path(self.earliest))
        return 0

    def size_of(self, id: SnapshotId) -> int | None:
        """Return the bytes of a snapshot's file, or None if there is no such snapshot."""
        return self._sizes.get(id)

    def read_bytes(self, id: SnapshotId, position: int, size: int) -> bytes:
        """Return up to `size` bytes of a snapshot's file from a position on. Raise StorageError if
        the disk fails."""
        file = self._storage.open(self._path(id))
        try:
            return file.read(position, size)
        finally:
            file.close()

    def read(self, id: SnapshotId) -> Snapshot:
        """Read one of the snapshots. Raise as `read_snapshot` does."""
        return whole(self.read_in_slices(id))

    def read_in_slices(self, id: SnapshotId) -> Generator[None, None, Snapshot]:
        """Read one of the snapshots, and yield after each batch. Raise as `read_snapshot` does."""
        return read_snapshot(self._storage, self._path(id), id)

    def latest_whole(self) -> Snapshot | None:
        """Read the newest snapshot that is whole, and set damaged ones aside, with a sentence in
        `notes`. Return None if there is none. Raise CorruptLog for one that this version does not
        understand."""
        while self.latest is not None:
            try:
                snapshot = self.read(self.latest)
            except DamagedSnapshot as error:
                self.notes.append(self.set_aside(self.latest, error))
            else:
                return snapshot
        return None

    def set_aside(self, id: SnapshotId, error: DamagedSnapshot) -> str:
        """Rename a damaged snapshot, so that it no longer counts. Return a sentence with the error
        and the new name. Raise StorageError if the disk fails."""
        self._storage.rename(self._path(id), self._path(id) + DAMAGED)
        del self._sizes[id]
        return f"{error}; it is set aside as {self._path(id)}{DAMAGED}"

    def create(self, id: SnapshotId) -> UnfinishedSnapshot:
        """Create the file of a new snapshot, which counts only when `finished` is called. Raise
        StorageError if the disk fails."""
        return UnfinishedSnapshot(self._storage, self.directory, id, next(self._numbers))

    def finished(self, id: SnapshotId) -> None:
        """Add a complete snapshot to those of this node. Raise StorageError if its file cannot be
        read."""
        file = self._storage.open(self._path(id))
        sizes = {**self._sizes, id: file.size()}
        file.close()
        self._sizes = dict(sorted(sizes.items()))

    def delete_before(self, id: SnapshotId) -> None:
        """Delete all snapshots older than this one. Raise StorageError if the disk fails."""
        for older in [each for each in self._sizes if each < id]:
            del self._sizes[older]
            self._storage.delete(self._path(older))

    def _path(self, id: SnapshotId) -> str:
        return f"{self.directory}/{id.file_name}"
