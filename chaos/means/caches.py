"""Find the executables that set-up has built or downloaded."""

from __future__ import annotations

import os
from pathlib import Path

from linearizability.caches import cache_directory

__all__ = ["cache_directory", "executable"]


def executable(name: str) -> Path | None:
    """Return the path of the executable with this name that set-up has built, or None if it is
    missing."""
    path = cache_directory() / "bin" / name
    return path if os.access(path, os.X_OK) and path.is_file() else None
