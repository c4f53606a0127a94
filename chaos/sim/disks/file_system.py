"""The core's Storage: the file system that one process of a simulated node has mounted.

Each process of a node mounts it for itself. When it has ended, the objects that are left of it,
such as a generator that is cleaned up late, change nothing on the medium any more.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from chaos.sim.disks.medium import SEGMENT, Content, Medium, parent_of
from reference_impl.core.storage import Buffer, Space, StorageError
from reference_impl.wire.batches.batch_header import HEADER_BYTES

SYNC_S = 0.000_1, 0.001
TOTAL_BYTES = 1 << 40
NO_SPACE = "no space left on the disk"


class Ended(BaseException):
    """Raised when the process ends in the middle of a step. It is not an Exception, so that no
    handler catches it and continues."""


@dataclass
class Trouble:
    """The present faults of a disk. A heal sets a Trouble without faults."""

    refusal: str = ""
    """The reason why no change of the disk is possible; empty if changes are possible."""
    refuses_syncs: bool = False
    is_stalled: bool = False
    sync_delay_s: float = 0.0
    sync_fails_in: int = 0
    """The number of the next sync that fails (1: the very next one), or 0 if none fails. Only one
    sync fails."""
    has_failed_sync: bool = False
    """Whether the sync that `sync_fails_in` names has failed."""
    on_failed_sync: Callable[[], None] = lambda: None
    """A function that is called when a sync has failed by this fault."""
    on_failed_write: Callable[[], None] = lambda: None
    """A function that is called when a write has failed by this fault."""
    write_fails_in: int = 0
    only_indexes: bool = False
    """Whether only writes to files whose names end in `index` can fail."""


@dataclass
class Trap:
    """The point at which a process is to end: before a certain change of its disk, or before a
    sync."""

    changes_left: int | None = None
    """The number of changes that the process still makes; it ends instead of the next one. None: it
    ends at no change."""
    at_sync: bool = False
    """End instead of the next sync of a segment with an unsynced batch."""


class FileSystem:
    """A Storage over a medium, with faults and with the time that syncs take."""

    sends_from_files = False

    def __init__(self, medium: Medium, rng: Random) -> None:
        self.medium = medium
        self.trouble = Trouble()
        self.trap: Trap | None = None
        self.is_mounted = True
        self.waits_for_disk = False
        """Whether a change or a sync was made while the disk was stalled, so that the process waits
        for the disk."""
        self._took_s = 0.0
        self._rng = rng

    def take_time_s(self) -> float:
        """Return the seconds that syncs have taken since the last call."""
        took_s, self._took_s = self._took_s, 0.0
        return took_s

    def unmount(self) -> None:
        """Detach from the medium, because the process has ended."""
        self.is_mounted = False
        self.medium = Medium()
        self.trap, self.trouble = None, Trouble()

    # --- what each operation meets ------------------------------------------------------------

    def change(self, path: str, *, adds: bool = True) -> None:
        """Apply the disk's faults to one change, before the caller makes it. adds: whether the
        change needs free space. Raise StorageError if the disk refuses it, Ended if the trap ends
        the process here."""
        self._step_into_trap()
        trouble = self.trouble
        self.waits_for_disk |= trouble.is_stalled
        if trouble.refusal and (adds or trouble.refusal != NO_SPACE):
            raise StorageError(path, trouble.refusal, no_space=trouble.refusal == NO_SPACE)

    def _step_into_trap(self) -> None:
        if self.trap is not None and self.trap.changes_left is not None:
            if self.trap.changes_left == 0:
                self._end()
            self.trap.changes_left -= 1

    def _end(self) -> None:
        self.unmount()
        raise Ended

    def write(self, path: str) -> None:
        """Apply the disk's faults to one write, before the caller makes it. Raise StorageError if
        it fails, Ended if the trap ends the process here."""
        self.change(path)
        trouble = self.trouble
        if trouble.write_fails_in and (path.endswith("index") or not trouble.only_indexes):
            trouble.write_fails_in -= 1
            if not trouble.write_fails_in:
                trouble.on_failed_write()
                raise StorageError(path, "the disk reports an input/output error")

    def sync(self, path: str, content: Content | None) -> None:
        """Apply the disk's faults to one sync, count its time, and note that the content (None: a
        directory) and all earlier changes of names are on the medium. Raise StorageError if the
        sync fails, Ended if the trap ends the process here."""
        if self.trap is not None and self.trap.at_sync and content is not None:
            unsynced = len(content.data) - content.synced_size
            if path.endswith(SEGMENT) and unsynced >= HEADER_BYTES:
                self._end()
        self._step_into_trap()
        trouble = self.trouble
        self.waits_for_disk |= trouble.is_stalled
        self._took_s += self._rng.uniform(*SYNC_S) + trouble.sync_delay_s
        if trouble.refuses_syncs:
            raise StorageError(path, trouble.refusal)
        if trouble.sync_fails_in:
            trouble.sync_fails_in -= 1
            if not trouble.sync_fails_in:
                trouble.has_failed_sync = True
                trouble.on_failed_sync()
                if content is not None and path.endswith(SEGMENT):
                    content.note_failed_sync()
                raise StorageError(path, "the disk reports an input/output error")
        if content is not None:
            content.synced_size = len(content.data)
        self.medium.note_sync()

    # --- Storage ------------------------------------------------------------------------------

    def open(self, path: str, *, create: bool = False) -> OpenFile:
        name = posixpath.normpath(path)
        if name not in self.medium.files:
            if not create:
                raise StorageError(path, "there is no such file")
            self._require_directory(parent_of(name))
            self.change(path)
            self.medium.add_file(name, Content())
        return OpenFile(self, path, self.medium.files[name])

    def read_file(self, path: str) -> bytes:
        content = self.medium.files.get(posixpath.normpath(path))
        if content is None:
            raise StorageError(path, "there is no such file")
        return bytes(content.data)

    def write_atomically(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        name, content = posixpath.normpath(path), Content()
        self._require_directory(parent_of(name))
        self.write(path)
        content.data += data
        if sync:
            self.sync(path, content)
        self.change(path)
        self.medium.add_file(name, content)
        if sync:
            self.sync_directory(parent_of(name))

    def list(self, path: str) -> list[str]:
        name = posixpath.normpath(path)
        self._require_directory(name)
        return sorted(self.medium.directories[name])

    def exists(self, path: str) -> bool:
        name = posixpath.normpath(path)
        return name in self.medium.files or name in self.medium.directories

    def make_directory(self, path: str) -> None:
        name = posixpath.normpath(path)
        missing: list[str] = []
        while name not in self.medium.directories:
            if name in self.medium.files:
                raise StorageError(path, "a file has the name of the directory")
            missing.append(name)
            name = parent_of(name)
        for each in reversed(missing):
            self.change(path)
            self.medium.add_directory(each)

    def rename(self, old: str, new: str) -> None:
        source, target = posixpath.normpath(old), posixpath.normpath(new)
        if not self.exists(source):
            raise StorageError(old, "there is no such file or directory")
        self.change(old, adds=False)
        self.medium.move(source, target)
        self.sync_directory(parent_of(target))

    def delete(self, path: str) -> None:
        if self.exists(path):
            self.change(path, adds=False)
            self.medium.remove(posixpath.normpath(path))

    def delete_tree(self, path: str) -> None:
        for name in reversed(self.medium.tree(posixpath.normpath(path))):
            self.change(path, adds=False)
            self.medium.remove(name)

    def sync_directory(self, path: str) -> None:
        name = posixpath.normpath(path)
        self._require_directory(name)
        self.sync(path, None)
        self.medium.note_synced_names(name)

    def space(self, path: str) -> Space | None:
        usable = 0 if self.trouble.refusal == NO_SPACE else TOTAL_BYTES // 2
        return Space(TOTAL_BYTES, usable)

    def _require_directory(self, name: str) -> None:
        if name not in self.medium.directories:
            raise StorageError(name, "there is no such directory")


class OpenFile:
    """One open file of a process. Once the process has ended, its changes and syncs do nothing."""

    def __init__(self, file_system: FileSystem, path: str, content: Content) -> None:
        self.path = path
        self._file_system = file_system
        self._content = content

    def append(self, data: Buffer) -> None:
        if self._file_system.is_mounted:
            self._file_system.write(self.path)
            self._content.data += data

    def read(self, position: int, size: int) -> bytes:
        return bytes(self._content.data[position : position + size])

    def size(self) -> int:
        return len(self._content.data)

    def truncate(self, size: int) -> None:
        if self._file_system.is_mounted:
            self._file_system.change(self.path, adds=False)
            self._file_system.medium.cut(self._content, size)

    def sync(self) -> None:
        if self._file_system.is_mounted:
            self._file_system.sync(self.path, self._content)

    def close(self) -> None:
        """Do nothing: there is no descriptor to give back."""
