"""One process for one data directory. Source: LogManager.java (lockLogDirs), FileLock.java."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

LOCK_FILE = ".lock"


class DirectoryLocked(Exception):
    """Another process uses the data directory; the message is one sentence for a person."""


class DirectoryLock:
    """Held until `release`, or until the process ends, however it ends."""

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
        """Let another process have the directory."""
        os.close(self._descriptor)
