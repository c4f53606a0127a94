"""The disk as the core sees it: two small synchronous Protocols, and a disk in memory.

Everything that the broker keeps (segments, indexes, checkpoints, snapshots) goes through `Storage`,
so that the same code runs over real files (`host/disk.py`) and over a disk that loses unsynced
writes (the simulator).

Files are append-only: the only other change is to cut off the end. Kafka's log needs nothing else
(design#filesystem), and so the effect of a crash is simple.

Paths are strings with `/` between the names.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Buffer = bytes | bytearray | memoryview


class StorageError(Exception):
    """An operation on the disk failed. The message names the path and the cause. `no_space`: it
    failed because the disk is full.

    Kafka's `KafkaStorageException`: a partition refuses the request with KAFKA_STORAGE_ERROR, or
    goes offline if its log cannot be opened. An error that nothing catches ends the node
    (effects.Failed).
    """

    def __init__(self, path: str, cause: str, *, no_space: bool = False) -> None:
        super().__init__(f"{path}: {cause}")
        self.path = path
        self.cause = cause
        self.no_space = no_space


@dataclass(frozen=True)
class Space:
    """The size of a volume in bytes, and the bytes that are still free."""

    total_bytes: int
    usable_bytes: int


class File(Protocol):
    """One file: bytes are added at its end or cut off from its end, never changed in between. Every
    method may raise StorageError."""

    path: str

    def append(self, data: Buffer) -> None:
        """Add all of `data`, or raise and leave the file as it was."""

    def read(self, position: int, size: int) -> bytes:
        """Return at most `size` bytes from `position`, and fewer only at the end of the file."""

    def size(self) -> int: ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Sync the file: return once its content would survive a loss of power."""

    def close(self) -> None:
        """Close the descriptor. The file may not be used afterwards."""


class Storage(Protocol):
    """A tree of files and directories. Every method may raise StorageError."""

    sends_from_files: bool
    """Whether a host may send bytes of a file without reading them (sendfile(2))."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open the file at `path`; with `create`, make an empty one if there is none."""

    def read_file(self, path: str) -> bytes: ...

    def write_atomically(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        """Replace the file so that a reader finds the old content or the new one, never a part.

        Without `sync` this is guaranteed if the process is killed, but not if power is lost.
        """

    def list(self, path: str) -> list[str]:
        """Return the names in a directory, sorted, so that the file system's order cannot leak
        in."""

    def exists(self, path: str) -> bool: ...

    def make_directory(self, path: str) -> None:
        """Make the directory and its parents, if they do not exist."""

    def rename(self, old: str, new: str) -> None: ...

    def delete(self, path: str) -> None:
        """Remove a file, if it exists."""

    def delete_tree(self, path: str) -> None:
        """Remove a directory with all it holds, if it exists."""

    def sync_directory(self, path: str) -> None:
        """Sync a directory: return once the names in it would survive a loss of power."""

    def space(self, path: str) -> Space | None:
        """Return the size and the free bytes of the volume that holds a path, or None if
        unknown."""


class _Content:
    """The bytes of one file in memory, and how many of them would survive a loss of power."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.synced_size = 0


class _MemoryFile:
    def __init__(self, storage: MemoryStorage, path: str, content: _Content) -> None:
        self.path = path
        self._storage = storage
        self._generation = storage.generation
        self._content = content

    def _check_open(self) -> None:
        if self._generation != self._storage.generation:
            raise StorageError(self.path, "the file was open before the crash; open it again")

    def append(self, data: Buffer) -> None:
        self._check_open()
        self._storage.charge(self.path, len(data))
        self._content.data += data

    def read(self, position: int, size: int) -> bytes:
        self._check_open()
        return bytes(self._content.data[position : position + size])

    def size(self) -> int:
        self._check_open()
        return len(self._content.data)

    def truncate(self, size: int) -> None:
        self._check_open()
        del self._content.data[size:]
        # Cutting is metadata: the file system's journal keeps it in order with what follows.
        self._content.synced_size = min(self._content.synced_size, size)

    def sync(self) -> None:
        self._check_open()
        self._content.synced_size = len(self._content.data)

    def close(self) -> None:
        """Do nothing: there is no descriptor to give back."""


class MemoryStorage:
    """A disk in memory, for tests and for the simulator.

    The model of a crash is that of a journalling file system (ext4, data=ordered): names,
    renames and cuts are durable at once and in order; the bytes of a file are durable up to its
    last `sync`.
    """

    sends_from_files = False

    def __init__(self, capacity_bytes: int | None = None) -> None:
        self.capacity_bytes = capacity_bytes
        self.generation = 0
        self._files: dict[str, _Content] = {}
        self._directories: set[str] = {".", "/"}

    # -- faults --------------------------------------------------------------------------------

    def crash(self, kept: Callable[[str, int, int], int] | None = None) -> None:
        """Lose power: every file falls back to its last synced size; open files become invalid.

        `kept(path, synced_size, size)` may return a larger size that survives, which makes torn
        writes.
        """
        self.generation += 1
        for path in sorted(self._files):
            content = self._files[path]
            size = content.synced_size
            if kept is not None:
                size = max(size, min(kept(path, size, len(content.data)), len(content.data)))
            del content.data[size:]
            content.synced_size = size

    def kill(self) -> None:
        """Kill the process: open files become invalid, the page cache keeps what was written."""
        self.generation += 1

    def corrupt(self, path: str, position: int, data: Buffer) -> None:
        """Overwrite bytes in place, as a failing disk does. Raise StorageError if there is no such
        file."""
        self._content(path).data[position : position + len(data)] = data

    def paths(self) -> list[str]:
        """Return every file, sorted."""
        return sorted(self._files)

    def charge(self, path: str, size: int) -> None:
        """Raise StorageError (`no_space`) unless the disk has room for `size` more bytes. Reserve
        nothing: the write that follows takes the room."""
        space = self.space(path)
        if space is not None and size > space.usable_bytes:
            raise StorageError(path, "no space left on the disk", no_space=True)

    # -- Storage -------------------------------------------------------------------------------

    def space(self, path: str) -> Space | None:
        if self.capacity_bytes is None:
            return None
        used = sum(len(content.data) for content in self._files.values())
        return Space(self.capacity_bytes, max(0, self.capacity_bytes - used))

    def open(self, path: str, *, create: bool = False) -> File:
        name = posixpath.normpath(path)
        if name not in self._files:
            if not create:
                raise StorageError(path, "there is no such file")
            self._require_directory(posixpath.dirname(name) or ".")
            self._files[name] = _Content()
        return _MemoryFile(self, path, self._files[name])

    def read_file(self, path: str) -> bytes:
        return bytes(self._content(path).data)

    def write_atomically(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        name = posixpath.normpath(path)
        self._require_directory(posixpath.dirname(name) or ".")
        self.charge(path, len(data))
        content = _Content()
        content.data += data
        content.synced_size = len(data) if sync else 0
        self._files[name] = content

    def list(self, path: str) -> list[str]:
        name = posixpath.normpath(path)
        self._require_directory(name)
        everything = [*self._files, *self._directories]
        return sorted(
            posixpath.basename(entry)
            for entry in everything
            if entry not in (".", "/") and (posixpath.dirname(entry) or ".") == name
        )

    def exists(self, path: str) -> bool:
        name = posixpath.normpath(path)
        return name in self._files or name in self._directories

    def make_directory(self, path: str) -> None:
        name = posixpath.normpath(path)
        while name not in self._directories:
            if name in self._files:
                raise StorageError(path, "a file has the name of the directory")
            self._directories.add(name)
            name = posixpath.dirname(name) or "."

    def rename(self, old: str, new: str) -> None:
        source, target = posixpath.normpath(old), posixpath.normpath(new)
        if source in self._files:
            self._files[target] = self._files.pop(source)
            return
        self._require_directory(source)
        if any(name.startswith(target + "/") for name in self._files):
            raise StorageError(old, "the directory of the new name is not empty")
        for name in [entry for entry in self._files if entry.startswith(source + "/")]:
            self._files[target + name[len(source) :]] = self._files.pop(name)
        inside = {e for e in self._directories if e == source or e.startswith(source + "/")}
        self._directories -= inside
        self._directories |= {target + entry[len(source) :] for entry in inside}

    def delete(self, path: str) -> None:
        self._files.pop(posixpath.normpath(path), None)

    def delete_tree(self, path: str) -> None:
        name = posixpath.normpath(path)
        for entry in [e for e in self._files if e.startswith(name + "/")]:
            del self._files[entry]
        self._directories -= {e for e in self._directories if e == name or e.startswith(name + "/")}

    def sync_directory(self, path: str) -> None:
        """Check that the directory exists; names are durable at once in this model."""
        self._require_directory(posixpath.normpath(path))

    def _content(self, path: str) -> _Content:
        content = self._files.get(posixpath.normpath(path))
        if content is None:
            raise StorageError(path, "there is no such file")
        return content

    def _require_directory(self, name: str) -> None:
        if name not in self._directories:
            raise StorageError(name, "there is no such directory")
