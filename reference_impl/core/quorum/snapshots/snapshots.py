"""The snapshots in the directory of the metadata log.

Source: KafkaRaftLog.java (recoverSnapshots, latestSnapshotId, earliestSnapshotId). A file that was
never finished is deleted at the start; one that is damaged is set aside, and an older one counts.
"""

from __future__ import annotations

from reference_impl.core.quorum.snapshots.snapshot_file import (
    BOOTSTRAP,
    SUFFIX,
    UNFINISHED,
    DamagedSnapshot,
    Snapshot,
    SnapshotId,
    UnfinishedSnapshot,
    read_snapshot,
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
        self._ids: list[SnapshotId] = []
        for name in storage.list(directory):
            id = SnapshotId.of_file(name)
            if id is not None:
                self._ids.append(id)
            elif name.endswith(SUFFIX + UNFINISHED):
                storage.delete(f"{directory}/{name}")
        self._ids.sort()

    @property
    def latest(self) -> SnapshotId | None:
        """The newest snapshot, or None if there is none."""
        return self._ids[-1] if self._ids else None

    def latest_whole(self) -> Snapshot | None:
        """Read the newest snapshot that is whole, and set damaged ones aside. Return None if there
        is none. Raise CorruptLog for one that this version does not understand."""
        while self._ids:
            try:
                snapshot = self.read(self._ids[-1])
            except DamagedSnapshot as error:
                self._storage.rename(error.path, error.path + DAMAGED)
                self._ids.pop()
                self.notes.append(f"{error}; it is set aside as {error.path}{DAMAGED}")
            else:
                return None if snapshot.id == BOOTSTRAP else snapshot
        return None

    def read(self, id: SnapshotId) -> Snapshot:
        """Read one of the snapshots. Raise DamagedSnapshot, CorruptLog."""
        return read_snapshot(self._storage, self.directory, id)

    def create(self, id: SnapshotId) -> UnfinishedSnapshot:
        """Begin a new snapshot. Raise StorageError."""
        return UnfinishedSnapshot(self._storage, self.directory, id)

    def finished(self, id: SnapshotId) -> None:
        """Count a snapshot that is whole now."""
        self._ids = sorted({*self._ids, id})
