"""The exception by which a handler refuses: an error code of the protocol, raised where the reason
is found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reference_impl.core.storage import StorageError
from reference_impl.wire import ErrorCode


@dataclass(frozen=True)
class RecordError:
    """The wrong record of a batch, and the reason (ProduceResponse.BatchIndexAndErrorMessage)."""

    batch_index: int
    message: str


class Refused(Exception):
    """Raised to answer a request, or one part of it, with an error code."""

    def __init__(
        self,
        code: ErrorCode,
        message: str | None = None,
        record_errors: tuple[RecordError, ...] = (),
    ) -> None:
        super().__init__(code.name if message is None else f"{code.name}: {message}")
        self.code = code
        self.message = message
        self.record_errors = record_errors
        self.log_start_offset = -1
        """The log start, sent with the error if a log was about to take a batch."""


def coordinator_error(code: ErrorCode) -> ErrorCode:
    """Return the error for a client whose coordinator could not replicate a record: ask the same
    one later, or look for another (CoordinatorOperationExceptionHelper.java)."""
    if code is ErrorCode.REQUEST_TIMED_OUT:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.NOT_COORDINATOR


@contextmanager
def disk_errors_refused() -> Iterator[None]:
    """Turn a StorageError into KAFKA_STORAGE_ERROR for this one partition, so that the broker
    continues."""
    try:
        yield
    except StorageError as error:
        raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None


TIMED_OUT = Refused(ErrorCode.REQUEST_TIMED_OUT, None)
"""The answer to a request that leaves the controller no time (timeout_ms 0 or below)."""
