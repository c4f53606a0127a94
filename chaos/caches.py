"""Where set-up puts what it builds or brings: jars, executables. One place, so that all agree."""

from __future__ import annotations

import os
from pathlib import Path

ENVIRONMENT_VARIABLE = "TOUCHSTONE_CACHE"


def cache_directory() -> Path:
    """The project's .cache folder, unless TOUCHSTONE_CACHE names another."""
    if named := os.environ.get(ENVIRONMENT_VARIABLE):
        return Path(named).resolve()
    return Path(__file__).resolve().parent.parent / ".cache"


def executable(name: str) -> Path | None:
    """An executable that set-up built, or None."""
    path = cache_directory() / "bin" / name
    return path if os.access(path, os.X_OK) and path.is_file() else None
