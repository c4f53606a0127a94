"""Implement the core's `Storage` with real files; no other module touches them.

Descriptors: a broker with 1,000 partitions has 3,000 files, but a process may often open only
1,024. So a file does not keep a descriptor; `Disk` keeps the most recently used ones open, up to a
limit, and reopens a file when it is used. Syncing through a new descriptor is as good as through
the old one: fsync concerns the file, not the descriptor (fsync(2)).
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import stat
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import BinaryIO

from reference_impl.core.storage import Buffer, File, Space, StorageError

_CAUSES = {
    errno.ENOSPC: "no space left on the disk; free some, or put log.dirs on a larger one",
    errno.EDQUOT: "the disk quota is used up; free some space, or raise the quota",
    errno.ENOENT: "there is no such file or directory",
    errno.EISDIR: "it is not a regular file; move it away",
    errno.ENXIO: "it is not a regular file; move it away",
    errno.EACCES: "permission denied; make it readable and writable for this user",
    errno.EROFS: "the file system is read-only; mount it for writing",
    errno.EMFILE: "too many open files; raise the limit (`ulimit -n`)",
    errno.EIO: "the disk reports an input/output error; check or replace it",
}


@contextmanager
def _speaking(path: str) -> Iterator[None]:
    """Convert an OSError to a StorageError that names the path and the cause."""
    try:
        yield
    except OSError as error:
        cause = _CAUSES.get(error.errno or 0, os.strerror(error.errno or 0))
        no_space = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise StorageError(path, cause, no_space=no_space) from error


def _regular_size(path: str) -> int:
    """Return the size of a regular file. Raise OSError if there is no file, StorageError if it is
    of another kind: the process would stand still when it opens a FIFO (fifo(7))."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise StorageError(path, "it is not a regular file; move it away")
    return found.st_size


def _opened_to_write(path: str) -> BinaryIO:
    """Open a file, emptied or created, for new content, without waiting for the reader of a FIFO
    (open(2)). Raise StorageError if that fails."""
    with _speaking(path):
        return open(path, "wb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def files_open_max() -> int:
    """Return half of the number of files that the process may open, from 16 to 4096; the other half
    is for connections."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 4096
    return max(16, min(4096, soft // 2))


class DiskFile:
    """One real file. Its size is counted by this process, so that a read or an append is one system
    call. Each operation raises StorageError if the operating system cannot do it."""

    def __init__(self, disk: Disk, path: str, size: int) -> None:
        self.path = path
        self.key = disk.next_key()
        self._disk = disk
        self._size = size

    def append(self, data: Buffer) -> None:
        """Append all of `data`. If that fails, for example because the disk is full, remove the
        part that was written, and raise StorageError."""
        try:
            descriptor = self._disk.descriptor(self)
            written = os.pwrite(descriptor, data, self._size)
            if written != len(data):
                self._append_rest(descriptor, memoryview(data), written)
        except OSError as error:
            self._undo()
            with _speaking(self.path):
                raise error
        self._size += len(data)

    def _append_rest(self, descriptor: int, data: memoryview, written: int) -> None:
        while written < len(data):
            written += os.pwrite(descriptor, data[written:], self._size + written)

    def _undo(self) -> None:
        with _speaking(self.path):
            os.truncate(self.path, self._size)

    def read(self, position: int, size: int) -> bytes:
        """Return `size` bytes from `position`, or fewer only at the end of the file. Raise
        StorageError if that fails."""
        try:
            descriptor = self._disk.descriptor(self)
            data = os.pread(descriptor, size, position)
            while len(data) < size and (
                more := os.pread(descriptor, size - len(data), position + len(data))
            ):
                data += more
            return data
        except OSError as error:
            with _speaking(self.path):
                raise error

    def descriptor(self) -> int:
        """Return an open descriptor, which `Disk` owns: it is valid until the next use of any file.
        Raise StorageError if the file cannot be opened."""
        with _speaking(self.path):
            return self._disk.descriptor(self)

    def duplicate(self) -> int:
        """Return a new descriptor, which the caller must close; it stays valid when the file is
        deleted. Raise StorageError if the file cannot be opened."""
        with _speaking(self.path):
            return os.dup(self._disk.descriptor(self))

    def size(self) -> int:
        """Return the size in bytes without asking the file system."""
        return self._size

    def truncate(self, size: int) -> None:
        """Cut the file to this size, without a sync. Raise StorageError if that fails."""
        with _speaking(self.path):
            os.ftruncate(self._disk.descriptor(self), size)
        self._size = min(self._size, size)

    def sync(self) -> None:
        """Sync the file; return when its content and size are on the medium. Raise StorageError if
        that fails."""
        with _speaking(self.path):
            os.fdatasync(self._disk.descriptor(self))

    def close(self) -> None:
        """Close the descriptor, if one is open; a later operation opens the file again."""
        self._disk.release(self)


class Disk:
    """Storage over the operating system's files. A method of Storage raises StorageError if the
    operating system refuses."""

    sends_from_files = True

    def __init__(self, descriptors_max: int | None = None) -> None:
        self._descriptors_max = descriptors_max or files_open_max()
        self._open: OrderedDict[int, int] = OrderedDict()  # key of the file object -> descriptor
        self._keys = count()

    # -- descriptors ---------------------------------------------------------------------------

    def next_key(self) -> int:
        """Return a number that is unique among the file objects of this disk."""
        return next(self._keys)

    def descriptor(self, file: DiskFile) -> int:
        """Return an open descriptor of the file; this may close the least recently used other one.
        Raise OSError if the file cannot be opened."""
        key = file.key
        found = self._open.get(key)
        if found is not None:
            self._open.move_to_end(key)
            return found
        while len(self._open) >= self._descriptors_max:
            _, oldest = self._open.popitem(last=False)
            os.close(oldest)
        opened = os.open(file.path, os.O_RDWR | os.O_CLOEXEC)
        self._open[key] = opened
        return opened

    def release(self, file: DiskFile) -> None:
        """Close the file's descriptor, if it has one."""
        found = self._open.pop(file.key, None)
        if found is not None:
            os.close(found)

    @property
    def descriptors_open(self) -> int:
        """The number of descriptors that are open now."""
        return len(self._open)

    # -- Storage -------------------------------------------------------------------------------

    def open(self, path: str, *, create: bool = False) -> File:
        """Open the file at `path`; with `create`, create an empty one if there is none. Raise
        StorageError if it does not exist or is not a regular file."""
        with _speaking(path):
            try:
                return DiskFile(self, path, _regular_size(path))
            except FileNotFoundError:
                if not create:
                    raise
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
            return DiskFile(self, path, 0)

    def read_file(self, path: str) -> bytes:
        """Return the whole content of a small file. Raise StorageError if it does not exist or is
        not a regular file."""
        with _speaking(path):
            _regular_size(path)
            with open(path, "rb") as file:
                return file.read()

    def write_atomically(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        """Write to a temporary file and rename it to `path` (Utils.atomicMoveWithFallback). With
        `sync`, sync the file before that, and the directory after it. After an error remove the
        temporary file, and raise StorageError."""
        beside = path + ".tmp"
        with _speaking(path):
            try:
                with _opened_to_write(beside) as file:
                    file.write(data)
                    if sync:
                        file.flush()
                        os.fsync(file.fileno())
                os.replace(beside, path)
            except OSError:
                if os.path.exists(beside):
                    os.unlink(beside)
                raise
            if sync:
                self.sync_directory(os.path.dirname(path) or ".")

    def list(self, path: str) -> list[str]:
        """Return the names in a directory, sorted. Raise StorageError if there is no such
        directory."""
        with _speaking(path):
            return sorted(os.listdir(path))

    def exists(self, path: str) -> bool:
        """Return whether a file or directory has this name."""
        with _speaking(path):
            return os.path.exists(path)

    def make_directory(self, path: str) -> None:
        """Create the directory and its parents, as far as they do not exist."""
        with _speaking(path):
            os.makedirs(path, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        """Rename a file or directory durably, in place of a file of the new name. Raise
        StorageError if that fails."""
        with _speaking(old):
            os.rename(old, new)
        self.sync_directory(os.path.dirname(new) or ".")

    def delete(self, path: str) -> None:
        """Remove a file, if it exists, without a sync of its directory."""
        with _speaking(path):
            try:
                os.unlink(path)
            except FileNotFoundError:
                return

    def delete_tree(self, path: str) -> None:
        """Remove a directory with its content, if it exists."""
        with _speaking(path):
            try:
                shutil.rmtree(path)
            except FileNotFoundError:
                return

    def space(self, path: str) -> Space:
        """Return the size of the volume, and how many bytes a user other than root may still
        write."""
        with _speaking(path):
            usage = os.statvfs(path)
        return Space(usage.f_blocks * usage.f_frsize, usage.f_bavail * usage.f_frsize)

    def sync_directory(self, path: str) -> None:
        """Sync a directory; return when its entries would survive a loss of power. Raise
        StorageError if that fails."""
        with _speaking(path):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
