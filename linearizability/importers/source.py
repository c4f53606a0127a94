"""Read a text file line by line, and refuse in one sentence what cannot be read.

A history may be larger than memory, so only one line is held at a time.
"""

from __future__ import annotations

import os
import stat
from codecs import getincrementaldecoder
from collections.abc import Iterator
from pathlib import Path
from reprlib import Repr
from typing import Any, BinaryIO

from linearizability.history import HistoryError

BOM = b"\xef\xbb\xbf"
BLOCK = 1 << 20

_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxlist, _SHORT.maxdict = 4, 60, 6, 6


def shown(value: Any) -> str:
    """Return the value for a message: short, whatever its size and depth."""
    if isinstance(value, int) and abs(value) >= 10**60:
        return "a number of more than 60 digits"
    return f"{_SHORT.repr(value):.60}"


def refused(path: Path, error: OSError | ValueError) -> HistoryError:
    """Return the refusal of a path that the operating system does not open."""
    if isinstance(error, FileNotFoundError):
        return HistoryError(
            f"{path}: no such history; give a .edn or .jsonl file, a run directory or a .parquet"
        )
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return HistoryError(f"{path}: cannot be read ({why})")


def require_regular(path: Path) -> None:
    """Raise HistoryError unless the path leads to a regular file: a pipe or a device might never
    end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise refused(path, error) from error
    if not stat.S_ISREG(mode):
        raise HistoryError(f"{path}: is not a regular file; write the history to one first")


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of each line, its line feed included. Raise HistoryError for a file that
    is no UTF-8, before its first line."""
    require_regular(path)
    try:
        with path.open("rb") as file:
            _require_text(file, path)
            file.seek(0)
            for number, raw in enumerate(file, 1):
                yield number, (raw.removeprefix(BOM) if number == 1 else raw).decode()
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
    return HistoryError(f"{path}: byte {byte} is not UTF-8 text")
