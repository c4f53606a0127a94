"""The medium of a simulated node, the page cache above it, and the content after a loss of power.

The file system is one with a journal, such as ext4 or XFS. Bytes of a file are safe up to its last
sync; of those after it a loss of power leaves nothing, all, or a first part. Changes of names and
truncations reach the medium in their order, at the latest with the next sync of any file; a loss of
power undoes any number of the latest ones. `lose_names` is harsher: it removes each new name whose
own directory was not synced, which is all that fsync(2) promises.
"""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from chaos.values.faults import Segment, Tear

SEGMENT = ".log"
INTERNAL = "__"
SECTOR_BYTES = 512
"""The number of bytes that a disk writes completely or not at all."""
JOURNAL_MAX = 32
"""The largest number of name changes that are not on the medium yet: a file system writes its
journal every few seconds without a sync."""
Range = tuple[int, int]
"""A range of bytes: (start, end), end excluded."""


class Content:
    """The bytes of one file, with those that are not yet on the medium."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.synced_size = 0
        self.failed: list[Range] = []
        """The ranges of bytes that failed syncs have left unwritten, and that no later sync will
        write."""

    def note_failed_sync(self) -> None:
        """Count the unsynced bytes as written, although they are not: the kernel reports only once
        that it could not write a page."""
        if self.synced_size < len(self.data):
            self.failed.append((self.synced_size, len(self.data)))
        self.synced_size = len(self.data)

    def cut(self, size: int) -> None:
        """Truncate the file to this size."""
        del self.data[size:]
        self.synced_size = min(self.synced_size, size)
        self.failed = [(first, min(end, size)) for first, end in self.failed if first < size]

    def erase(self, ranges: list[Range]) -> None:
        """Overwrite these ranges with zeros, as if they had never been written. The file keeps its
        size."""
        for first, end in ranges:
            self.data[first:end] = bytes(end - first)

    def unsynced_sectors(self) -> list[Range]:
        """Return the range of each sector with unsynced bytes; the first begins where the synced
        bytes end."""
        found, first = [], self.synced_size
        while first < len(self.data):
            end = min(len(self.data), (first // SECTOR_BYTES + 1) * SECTOR_BYTES)
            found.append((first, end))
            first = end
        return found

    def settle(self) -> None:
        """Count the present content as written to the medium, after replacing the bytes of failed
        syncs by zeros."""
        self.erase(self.failed)
        self.failed = []
        self.synced_size = len(self.data)


class Medium:
    """The files and directories of one node by path, and what a loss of power would leave of
    them."""

    def __init__(self) -> None:
        self.files: dict[str, Content] = {}
        self.directories: dict[str, set[str]] = {".": set()}
        """The names in each directory."""
        self._journal: deque[Callable[[], object]] = deque(maxlen=JOURNAL_MAX)
        """A function that undoes it, for each change of a name or size that may not be on the
        medium yet."""
        self._unsynced_names: set[str] = set()

    # --- changes by the file system -----------------------------------------------------------

    def add_file(self, path: str, content: Content) -> None:
        """Give a name to a new file; a file that had this name is replaced."""
        former = self.files.get(path)
        self._put(path, content)
        if former is None:
            self._unsynced_names.add(path)
            self._journal.append(partial(self._take, path))
        else:
            self._journal.append(partial(self._put, path, former))

    def add_directory(self, path: str) -> None:
        """Make an empty directory."""
        self._put(path, None)
        self._unsynced_names.add(path)
        self._journal.append(partial(self._take, path))

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with all it holds."""
        for name in reversed(self.tree(path)):
            content = self._take(name)
            self._unsynced_names.discard(name)
            self._journal.append(partial(self._put, name, content))

    def move(self, old: str, new: str) -> None:
        """Rename a file or a directory; a file that had the new name is replaced."""
        replaced = self.files.get(new)
        self._move(old, new)
        self._journal.append(partial(self._move_back, old, new, replaced))

    def cut(self, content: Content, size: int) -> None:
        """Truncate a file to this size. A loss of power before the next sync may undo that."""
        synced_size, failed = content.synced_size, content.failed
        if size < synced_size:
            gone = bytes(content.data[size:synced_size])

            def mend() -> None:
                content.data[size:] = gone
                content.synced_size, content.failed = synced_size, failed

            self._journal.append(mend)
        content.cut(size)

    def note_sync(self) -> None:
        """Note that a file or directory was synced: this writes the whole journal to the medium."""
        self._journal.clear()

    def note_synced_names(self, directory: str) -> None:
        """Note that a directory was synced: a loss of power can no longer remove the names in
        it."""
        self.note_sync()
        names = self.directories[directory]
        self._unsynced_names -= {joined(directory, name) for name in names}

    # --- names --------------------------------------------------------------------------------

    def tree(self, path: str) -> list[str]:
        """Return a path and all paths below it, each directory before its content."""
        found = [path] if path in self.files or path in self.directories else []
        for name in sorted(self.directories.get(path, ())):
            found += self.tree(joined(path, name))
        return found

    def _put(self, path: str, content: Content | None) -> None:
        if content is None:
            self.directories[path] = set()
        else:
            self.files[path] = content
        self.directories[parent_of(path)].add(posixpath.basename(path))

    def _take(self, path: str) -> Content | None:
        self.directories[parent_of(path)].discard(posixpath.basename(path))
        self.directories.pop(path, None)
        return self.files.pop(path, None)

    def _move(self, old: str, new: str) -> None:
        found = [(path, path in self._unsynced_names) for path in self.tree(old)]
        contents = {path: self.files.get(path) for path, _ in found}
        for path, _ in reversed(found):
            self._take(path)
            self._unsynced_names.discard(path)
        for path, is_unsynced in found:
            moved = new + path[len(old) :]
            self._put(moved, contents[path])
            if is_unsynced:
                self._unsynced_names.add(moved)

    def _move_back(self, old: str, new: str, replaced: Content | None) -> None:
        self._move(new, old)
        if replaced is not None:
            self._put(new, replaced)

    # --- crashes ------------------------------------------------------------------------------

    def lose_power(self, rng: Random) -> None:
        """Drop unsynced bytes and undo the latest changes of names and sizes: in half of the cases
        all unsynced bytes and no changes, in the others a random part of both. Then `settle`."""
        loses_all = rng.random() < 0.5
        if not loses_all:
            for _ in range(rng.randint(0, len(self._journal))):
                self._journal.pop()()
        for content in self._contents():
            unsynced = len(content.data) - content.synced_size
            kept = 0 if loses_all else rng.choice((0, rng.randint(0, unsynced), unsynced))
            content.cut(content.synced_size + kept)
        self.settle()

    def tear(self, how: Tear, rng: Random) -> None:
        """Keep some of the unsynced bytes, drop the others or replace them by zeros (how:
        chaos.values.faults.TornWrites), then `settle`."""
        tails = [one for one in self._contents() if one.synced_size < len(one.data)]
        largest = max(tails, key=lambda one: len(one.data) - one.synced_size, default=None)
        for content in tails:
            sectors = content.unsynced_sectors()
            if how == "torn":
                content.erase(sectors[max(1, len(sectors) // 2) :])
            elif how == "scattered":
                content.erase([sector for sector in sectors if rng.random() < 0.5])
            elif content is largest:
                content.cut(content.synced_size)
        self.settle()

    def lose_names(self) -> None:
        """Drop each unsynced byte, and each file and directory whose name was not synced, then
        `settle`."""
        for path in self.tree("."):
            if path in self._unsynced_names:
                for below in reversed(self.tree(path)):
                    self._take(below)
        for content in self._contents():
            content.cut(content.synced_size)
        self.settle()

    def settle(self) -> None:
        """Mark all bytes and names that exist now as durable, but replace the bytes of failed syncs
        by zeros."""
        for content in self._contents():
            content.settle()
        self._journal.clear()
        self._unsynced_names.clear()

    def flip_bit(self, segment: Segment, rng: Random) -> bool:
        """Flip one bit in a segment of a user topic; return whether there is one with records."""
        found = [self.files[path] for path in self._segments(segment) if self.files[path].data]
        if found:
            data = rng.choice(found).data
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bool(found)

    def _segments(self, segment: Segment) -> Iterator[str]:
        for directory in sorted(self.directories):
            if posixpath.basename(directory).startswith(INTERNAL):
                continue
            names = [name for name in self.directories[directory] if name.endswith(SEGMENT)]
            last = sorted(names)[-1:]
            chosen = last if segment == "active" else set(names) - {*last}
            yield from (joined(directory, name) for name in sorted(chosen))

    def has_failed(self) -> bool:
        """Return whether bytes of a failed sync are missing on the medium."""
        return any(content.failed for content in self.files.values())

    def _contents(self) -> list[Content]:
        return [self.files[path] for path in sorted(self.files)]


def parent_of(path: str) -> str:
    """Return the directory of a path."""
    return posixpath.dirname(path) or "."


def joined(directory: str, name: str) -> str:
    """Return the path of a name in a directory."""
    return name if directory == "." else f"{directory}/{name}"
