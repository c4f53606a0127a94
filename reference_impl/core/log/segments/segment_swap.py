"""Replace segments by the cleaned segment that was made from them, in a way that survives a crash.

Source: LocalLog.replaceSegments, LogLoader.java (removeTempFilesAndCollectSwapFiles,
minSwapFileOffset). After a crash, the names of the files tell which step was interrupted:

1. `.cleaned`: the new segment is being written. A start deletes such files.
2. All of it is durable: its files become `.swap`, the `.log` last. From here on the exchange is
   decided, and a start completes it.
3. The old segments are deleted, then the new files lose their suffix, the `.log` last.

A start deletes the old segments whose offsets lie within the `.log.swap`. An old segment after its
last batch, of which no record was kept, may so survive a crash. That does no harm: the next
cleaning reads the segment again, since the progress of this one was not noted either.
"""

from __future__ import annotations

from collections.abc import Iterable

from reference_impl.core.log.batch_scan import scan_headers
from reference_impl.core.log.segments.segment import INDEX_SUFFIXES, LOG_SUFFIX, segment_path
from reference_impl.core.log.segments.transaction_index import TRANSACTION_INDEX_SUFFIX
from reference_impl.core.storage import Storage

CLEANED, SWAP = ".cleaned", ".swap"
_LOG_LAST = (*INDEX_SUFFIXES, LOG_SUFFIX)


def discard(storage: Storage, directory: str, base_offset: int) -> None:
    """Delete the `.cleaned` files at this base offset, if there are any: the segment will not be
    used."""
    for suffix in _LOG_LAST:
        storage.delete(segment_path(directory, base_offset, suffix + CLEANED))


def commit(storage: Storage, directory: str, base_offset: int, old: Iterable[int]) -> None:
    """Replace the old segments, whose files are closed, by the new one, whose `.cleaned` files are
    durable."""
    for suffix in _LOG_LAST:
        path = segment_path(directory, base_offset, suffix)
        if storage.exists(path + CLEANED):
            storage.rename(path + CLEANED, path + SWAP)
    stale = segment_path(directory, base_offset, TRANSACTION_INDEX_SUFFIX)
    if not storage.exists(stale + SWAP):
        storage.delete(stale)
    _complete(storage, directory, base_offset, old)


def _complete(storage: Storage, directory: str, base_offset: int, old: Iterable[int]) -> None:
    for base in old:
        if base != base_offset:
            for suffix in _LOG_LAST:
                storage.delete(segment_path(directory, base, suffix))
    for suffix in _LOG_LAST:
        path = segment_path(directory, base_offset, suffix)
        if storage.exists(path + SWAP):
            storage.rename(path + SWAP, path)
    storage.sync_directory(directory)


def recover(storage: Storage, directory: str) -> None:
    """After a crash, complete the replacements that were decided, and delete the files of the
    others."""
    names = storage.list(directory)
    bases = _bases(names, LOG_SUFFIX)
    for base in _bases(names, LOG_SUFFIX + SWAP):
        end = _end_of(storage, segment_path(directory, base, LOG_SUFFIX + SWAP), base)
        _complete(storage, directory, base, [each for each in bases if base < each < end])
    for name in storage.list(directory):
        if name.endswith((CLEANED, SWAP)):
            storage.delete(f"{directory}/{name}")


def _bases(names: Iterable[str], suffix: str) -> list[int]:
    stems = [name.removesuffix(suffix) for name in names if name.endswith(suffix)]
    return [int(stem) for stem in stems if stem.isdecimal()]


def _end_of(storage: Storage, path: str, base_offset: int) -> int:
    file = storage.open(path)
    end = base_offset
    for header, _ in scan_headers(file, 0, file.size()):
        end = header.last_offset + 1
    file.close()
    return end
