"""Find the folder that holds the files which set-up has built or downloaded: jars, executables, a
Java runtime.

A checkout keeps it in its own `.cache`; an installed Touchstone keeps it in the user's cache, since
its own folder belongs to the package manager and may be read-only.
"""

from __future__ import annotations

import os
from pathlib import Path

ENVIRONMENT_VARIABLE = "TOUCHSTONE_CACHE"
_TREE = Path(__file__).resolve().parent.parent


def is_checkout() -> bool:
    """Return whether this code runs from a source tree rather than from an installed package."""
    return (_TREE / "pyproject.toml").is_file()


def cache_directory() -> Path:
    """Return $TOUCHSTONE_CACHE if it is set, else the checkout's `.cache`, else the user's cache.

    The user's cache follows the XDG Base Directory Specification: $XDG_CACHE_HOME/touchstone, or
    ~/.cache/touchstone where that variable is unset or empty.
    """
    if named := os.environ.get(ENVIRONMENT_VARIABLE):
        return Path(named).resolve()
    if is_checkout():
        return _TREE / ".cache"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home).resolve() / "touchstone"
