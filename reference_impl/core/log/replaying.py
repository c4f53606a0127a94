"""Read the logs in which the broker keeps its own state: metadata, groups, transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.wire import Malformed


@contextmanager
def replaying(directory: str, offset: int) -> Iterator[None]:
    """Turn the error of a record that cannot be decoded inside the `with` block into a CorruptLog
    that names the log and the offset."""
    try:
        yield
    except Malformed as error:
        raise CorruptLog(
            directory,
            f"the batch at offset {offset} cannot be understood: {error}; restore the directory"
            " from a copy, or start with the version that wrote it",
        ) from error
