"""Read a text file line by line. Refuse a file that is not UTF-8 text.

A history may be larger than memory, so only a block of lines is held at a time.
"""

from __future__ import annotations

import gc
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from linearizability.errors import HistoryError
from linearizability.files.unreadable import refused, require_regular

BOM = b"\xef\xbb\xbf"
BLOCK = 1 << 20


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text) of each line, its line feed included, without a byte-order mark.
    Raise HistoryError before the first line if the file is not UTF-8, or not a regular file."""
    for first, some in blocks(path):
        for number, line in enumerate(some, first):
            yield number, line.decode()


def blocks(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Yield (number of the first line, lines) for about every BLOCK bytes of whole lines, without a
    byte-order mark. Raise HistoryError before the first line if the file is not UTF-8, or not a
    regular file."""
    require_regular(path)
    try:
        with path.open("rb") as file:
            _require_text(file, path)
            file.seek(0)
            first = 1
            while some := file.readlines(BLOCK):
                if first == 1:
                    some[0] = some[0].removeprefix(BOM)
                yield first, some
                first += len(some)
    except OSError as error:
        raise refused(path, error) from error


def _require_text(file: BinaryIO, path: Path) -> None:
    decoder = getincrementaldecoder("utf-8")()
    start = 0
    while block := file.read(BLOCK):
        kept, _ = decoder.getstate()
        try:
            decoder.decode(block)
        except UnicodeDecodeError as error:
            raise _no_text(path, start - len(kept) + error.start) from error
        start += len(block)
    kept, _ = decoder.getstate()
    if kept:
        raise _no_text(path, start - len(kept))


def _no_text(path: Path, byte: int) -> HistoryError:
    return HistoryError(f"{path}: byte {byte} is not UTF-8 text; convert the file to UTF-8")


@contextmanager
def without_collection() -> Iterator[None]:
    """Switch the garbage collector's cycle search off inside the `with` block: it would scan the
    parsed values, which have no cycles, again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
