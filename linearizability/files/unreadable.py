"""Explain in one sentence why a file cannot be read, and shorten values for messages."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from reprlib import Repr
from typing import Any

from linearizability.errors import HistoryError

_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxlist, _SHORT.maxdict = 4, 60, 6, 6


def shown(value: Any) -> str:
    """Return the value for a message, shortened to 60 characters, whatever its size and depth."""
    if isinstance(value, int) and abs(value) >= 10**60:
        return "a number of more than 60 digits"
    return f"{_SHORT.repr(value):.60}"


def refused(path: Path, error: OSError | ValueError) -> HistoryError:
    """Return the error for a path that the operating system cannot open."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return HistoryError(
            f"{path}: no such history; give a run directory, a .parquet, .edn or .jsonl file"
        )
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return HistoryError(f"{path}: cannot be read ({why})")


def require_regular(path: Path) -> None:
    """Raise HistoryError unless the path exists, its status can be read, and it leads to a regular
    file: a pipe or a device might never end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise refused(path, error) from error
    if not stat.S_ISREG(mode):
        raise HistoryError(f"{path}: is not a regular file; write the history to one first")
