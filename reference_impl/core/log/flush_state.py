"""Track up to where a log is synced, and whether its files can still be trusted.

Source: UnifiedLog.java (recoveryPoint, flush, maybeHandleIOException), LogDirFailureChannel.java.
An append is acknowledged once the operating system has it; a flush makes it survive a loss of
power. After a failed flush, or a change that could not be completed, the content of the files is
unknown: from then on every append gets the same error, until a restart has recovered them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reference_impl.core.storage import StorageError


class FlushState:
    """The state of one log's files: up to where they are synced, and what failed."""

    def __init__(
        self,
        recovery_point: int,
        now_ms: int,
        note_failure: Callable[[FlushState, StorageError], None],
    ) -> None:
        self.recovery_point = recovery_point
        """The offset below which everything is synced. Recovery reads only what follows."""
        self.directory_is_synced = False
        self.last_flush_ms = now_ms
        self.failure: StorageError | None = None
        self._note_failure = note_failure

    def check(self) -> None:
        """Raise the error that an earlier operation on the files has failed with, if one has."""
        if self.failure is not None:
            raise self.failure

    @contextmanager
    def lost_by_failure(self) -> Iterator[None]:
        """Mark the files as not trusted any more if a StorageError is raised inside the `with`
        block, and raise it further."""
        try:
            yield
        except StorageError as error:
            self._note_failure(self, error)
            raise
