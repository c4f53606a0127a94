"""Compute, from the shim's ledger, which of a node's bytes would be on the medium if the power
failed now.

The model is that of the disk in memory (`reference_impl/core/storage.py`) and of a file system with
a journal: names, renames and cuts are on the medium at once and in order, the bytes of a file up to
its last sync. `lose_names` removes the names that were never synced (fsync(2): a new file's name is
safe when its directory was synced).

The data of a failed sync is lost for good: the kernel reports a page that it could not write once,
and then treats it as written. This is modelled only for segments, which only grow; in any other
file, the next sync writes what the failed one did not.

Data written in place or through a mapping counts as written to the medium. Kafka writes only
indexes in this way, which it checks or rebuilds after a crash.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar

SEGMENT = ".log"
SECTOR_BYTES = 512
"""The number of bytes that a disk writes completely or not at all."""


Of = TypeVar("Of")


@dataclass(frozen=True)
class Tail:
    """The bytes at the end of a file that were written but not synced."""

    path: Path
    synced: int
    size: int

    def sectors(self) -> Iterator[tuple[int, int]]:
        """Yield the byte range (start, end) of each sector that the tail touches; the first
        sector's range begins where the synced bytes end."""
        start = self.synced
        while start < self.size:
            end = min(self.size, (start // SECTOR_BYTES + 1) * SECTOR_BYTES)
            yield start, end
            start = end


class Medium:
    """The files below a directory, with the bytes and names of them that would survive a loss of
    power."""

    def __init__(self, root: Path, ledger: Path) -> None:
        self.root = root
        self.ledger = ledger
        self._sizes: dict[str, int] = {}
        self._failed: dict[str, list[tuple[int, int]]] = {}
        """File -> the byte ranges (start, end), end excluded, that failed syncs left unwritten."""
        self._names: set[str] = set()
        self._read_bytes = 0
        self.settle()

    def settle(self) -> None:
        """Count everything that exists now as written to the medium, and empty the ledger. The
        node's processes must not run during the call."""
        self._sizes = {str(path): path.stat().st_size for path in self._files()}
        self._failed = {}
        self._names = {str(path) for path in self.root.rglob("*")} if self.root.exists() else set()
        self.ledger.write_bytes(b"")
        self._read_bytes = 0

    def lose_power(self) -> None:
        """Truncate every file to its synced bytes, overwrite with zeros the data of failed syncs,
        and count what is left as synced. The node's processes must have ended."""
        for tail in self.tails():
            os.truncate(tail.path, tail.synced)
        self._lose_what_failed()
        self.settle()

    def has_failed(self) -> bool:
        """Return whether data that a failed sync of a segment left unwritten is still in a file. A
        loss of power or `settle` ends that."""
        self._read_ledger()
        return bool(self._failed)

    def _lose_what_failed(self) -> None:
        """Overwrite with zeros the data that failed syncs did not write. The files keep their
        sizes."""
        for name, ranges in self._failed.items():
            path = Path(name)
            size = path.stat().st_size if path.exists() else 0
            _erase(path, [(start, min(end, size)) for start, end in ranges if start < size])

    def tear(self, how: str, rng: Random) -> None:
        """Keep some of the unsynced bytes, drop the others or overwrite them with zeros, overwrite
        the data of failed syncs, too, and count what is left as synced. how: which bytes to keep,
        as in the fault TornWrites. The node's processes must have ended."""
        tails = self.tails()
        largest = max(tails, key=lambda tail: tail.size - tail.synced, default=None)
        for tail in tails:
            if how == "reordered" and tail is largest:
                os.truncate(tail.path, tail.synced)
            elif how != "reordered":
                sectors = list(tail.sectors())
                kept = max(1, len(sectors) // 2)
                _erase(tail.path, sectors[kept:] if how == "torn" else _some(sectors, rng))
        self._lose_what_failed()
        self.settle()

    def lose_names(self) -> None:
        """Delete every file or directory whose name was never synced, and of the others lose what
        `lose_power` loses; count what is left as synced. The node's processes must have ended."""
        self._read_ledger()
        for path in sorted(self.root.rglob("*")):
            if str(path) not in self._names and path.exists():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.lose_power()

    def tails(self) -> list[Tail]:
        """Return the unsynced tail of every file, which a loss of power would destroy now."""
        self._read_ledger()
        found = []
        for path in self._files():
            synced, size = self._sizes.get(str(path), 0), path.stat().st_size
            if synced < size:
                found.append(Tail(path, synced, size))
        return found

    def _files(self) -> Iterator[Path]:
        yield from (path for path in sorted(self.root.rglob("*")) if path.is_file())

    # --- the ledger -------------------------------------------------------------------------------

    def _read_ledger(self) -> None:
        """Read the ledger's new lines since the last call. The node may run meanwhile, so no line
        is removed (one added in between would be lost, and with it the record of what was synced),
        and an incomplete last line is left for the next call."""
        with self.ledger.open("rb") as ledger:
            ledger.seek(self._read_bytes)
            added = ledger.read()
        whole = added[: added.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        for line in map(os.fsdecode, whole.split(b"\n")[:-1]):
            kind, _, rest = line.partition(" ")
            if kind in "SCGF":
                size, _, path = rest.partition(" ")
                self._resized(kind, int(size), path)
            elif kind == "E":
                self._names.add(rest)
            elif kind == "M":
                self._moved(*rest.split("\0"))
            elif kind == "D":
                self._forget(rest)

    def _resized(self, kind: str, size: int, path: str) -> None:
        synced = self._sizes.get(path, 0)
        if kind == "C":
            self._sizes[path] = min(synced, size)
            self._cut(path, size)
        elif kind == "F":
            if path.endswith(SEGMENT) and synced < size:
                self._failed.setdefault(path, []).append((synced, size))
        else:
            # Never lower the size. A file may be enlarged and then written through a mapping, whose
            # writes are not seen; and of two syncs at the same time, the older may end last.
            self._sizes[path] = max(synced, size)

    def _cut(self, path: str, size: int) -> None:
        left = [(start, min(end, size)) for start, end in self._failed.pop(path, [])]
        if kept := [each for each in left if each[0] < each[1]]:
            self._failed[path] = kept

    def _moved(self, old: str, new: str) -> None:
        """Update the recorded names and sizes after a rename of a file, or of a directory with its
        content."""
        replaced = new in self._names  # a loss of power leaves the old file or the new one
        self._forget(new)
        for path in [path for path in self._sizes if _is_in(path, old)]:
            self._sizes[new + path[len(old) :]] = self._sizes.pop(path)
        for path in [path for path in self._failed if _is_in(path, old)]:
            self._failed[new + path[len(old) :]] = self._failed.pop(path)
        moved = {path for path in self._names if _is_in(path, old)}
        self._names = (self._names - moved) | {new + path[len(old) :] for path in moved}
        if replaced:
            self._names.add(new)

    def _forget(self, gone: str) -> None:
        self._sizes = _without(self._sizes, gone)
        self._failed = _without(self._failed, gone)
        self._names = {path for path in self._names if not _is_in(path, gone)}


def _is_in(path: str, parent: str) -> bool:
    return path == parent or path.startswith(f"{parent}/")


def _without(told: Mapping[str, Of], gone: str) -> dict[str, Of]:
    return {path: of for path, of in told.items() if not _is_in(path, gone)}


def _some(sectors: list[tuple[int, int]], rng: Random) -> list[tuple[int, int]]:
    return [sector for sector in sectors if rng.random() < 0.5]


def _erase(path: Path, ranges: list[tuple[int, int]]) -> None:
    """Overwrite these ranges with zeros, as if they had never been written. The file keeps its
    size."""
    if not ranges:
        return
    with path.open("r+b") as file:
        for start, end in ranges:
            file.seek(start)
            file.write(bytes(end - start))
