"""A disk whose process dies at a chosen change: everything before it is there, nothing after."""

from __future__ import annotations

from reference_impl.core.storage import Buffer, File, MemoryStorage


class Died(Exception):
    """The process is gone."""


class DyingStorage(MemoryStorage):
    """Counts what changes the disk, and dies instead of the change after the allowed ones."""

    def __init__(self) -> None:
        super().__init__()
        self.changes_left: int | None = None

    def change(self) -> None:
        """Count one more change, or raise Died if no more is allowed."""
        if self.changes_left is not None:
            if self.changes_left == 0:
                raise Died
            self.changes_left -= 1

    def open(self, path: str, *, create: bool = False) -> File:
        if create and not self.exists(path):
            self.change()
        return _DyingFile(self, super().open(path, create=create))

    def write_atomically(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        self.change()
        super().write_atomically(path, data, sync=sync)

    def rename(self, old: str, new: str) -> None:
        self.change()
        super().rename(old, new)

    def delete(self, path: str) -> None:
        if self.exists(path):
            self.change()
        super().delete(path)


class _DyingFile:
    def __init__(self, storage: DyingStorage, file: File) -> None:
        self.path = file.path
        self._storage, self._file = storage, file

    def append(self, data: Buffer) -> None:
        self._storage.change()
        self._file.append(data)

    def read(self, position: int, size: int) -> bytes:
        return self._file.read(position, size)

    def size(self) -> int:
        return self._file.size()

    def truncate(self, size: int) -> None:
        self._storage.change()
        self._file.truncate(size)

    def sync(self) -> None:
        self._storage.change()
        self._file.sync()

    def close(self) -> None:
        self._file.close()
