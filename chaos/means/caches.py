"""Find the executables that set-up builds or brings."""

from __future__ import annotations

import os
from pathlib import Path

from linearizability.caches import cache_directory

__all__ = ["cache_directory", "executable"]


def executable(name: str) -> Path | None:
    """Return the executable of this name that set-up built, or None where it is missing."""
    path = cache_directory() / "bin" / name
    return path if os.access(path, os.X_OK) and path.is_file() else None
