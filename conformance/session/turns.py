"""Let one process use the target alone, or several at the same time, by locks on files that the
kernel releases if a process dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Turns:
    """The lock on one target that all processes share which have opened the same folder."""

    def __init__(self, folder: Path) -> None:
        """Open the files of the lock in this folder, and create those that are missing."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._queue = os.open(folder / "queue", flags, 0o600)
        """The lock that a process holds while it waits to be alone, so that no others begin
        meanwhile."""
        self._target = os.open(folder / "target", flags, 0o600)

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Use the target beside others, once nobody uses it alone or waits to."""
        try:
            with self._held(self._queue):
                fcntl.flock(self._target, fcntl.LOCK_SH)
            yield
        finally:
            fcntl.flock(self._target, fcntl.LOCK_UN)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Use the target alone, once all others have finished with it."""
        with self._held(self._queue), self._held(self._target):
            yield

    @contextmanager
    def _held(self, file: int) -> Iterator[None]:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
