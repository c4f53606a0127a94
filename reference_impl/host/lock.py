"""Let only one process use a data directory. Source: LogManager.java (lockLogDirs),
FileLock.java."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

LOCK_FILE = ".lock"


class DirectoryLocked(Exception):
    """Another process uses the data directory; the message is one sentence."""


class DirectoryLock:
    """A lock on a data directory, which is created if necessary. It is held until `release` or
    until the process ends for any reason. Raise DirectoryLocked if another process holds it,
    OSError if the directory or its lock file cannot be created."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise DirectoryLocked(
                f"the data directory {directory} is in use by another broker; stop that one, or"
                " give another directory with --data"
            ) from None

    def release(self) -> None:
        """Release the lock, so that another process can use the directory."""
        os.close(self._descriptor)
