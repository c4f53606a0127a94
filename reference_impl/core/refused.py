"""The exception by which a handler refuses a request with an error code of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reference_impl.core.storage import StorageError
from reference_impl.wire import ErrorCode


@dataclass(frozen=True)
class RecordError:
    """A wrong record of a batch, and the reason (ProduceResponse.BatchIndexAndErrorMessage)."""

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
        """The log start offset to send with the error, if the log was about to accept the batch;
        else -1."""


def coordinator_error(code: ErrorCode) -> ErrorCode:
    """Return the error to send to a client when its coordinator could not replicate a record:
    COORDINATOR_NOT_AVAILABLE after a time-out, else NOT_COORDINATOR. After either, the client looks
    for its coordinator and tries again (CoordinatorOperationExceptionHelper.java)."""
    if code is ErrorCode.REQUEST_TIMED_OUT:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.NOT_COORDINATOR


@contextmanager
def disk_errors_refused() -> Iterator[None]:
    """Raise Refused(KAFKA_STORAGE_ERROR) instead of a StorageError inside the `with` block: only
    this partition fails, and the broker continues."""
    try:
        yield
    except StorageError as error:
        raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None


TIMED_OUT = Refused(ErrorCode.REQUEST_TIMED_OUT, None)
"""The error for a request whose timeout_ms is 0 or negative, so that the controller has no time for
it."""
