"""Records with keys and times that a case chooses, so that it decides where segments end.

A segment ends where a batch is more than `segment.ms` younger than the segment's first one, by the
times in the records (KIP-33): steps of `STEP_MS` put every batch into a segment of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.case import expect, expect_that
from conformance.cases.list_offsets.test_list_offsets import EARLIEST, list_offset
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import Record, RecordBatch

HOUR_MS = 3_600_000
STEP_MS = 10_000
CLEANED_S = 20.0
"""The seconds within which a cleaner that looks for work all the time must have cleaned."""
ROLLING = {"segment.ms": "1000"}
COMPACTED = {**ROLLING, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}

KeyValue = tuple[bytes, bytes | None]
Kept = tuple[int, bytes | None, bytes | None]
"""(offset, key, value) of a record."""


def now_ms() -> int:
    """Return the time of this machine, which is that of a target started here."""
    return int(time.time() * 1000)


def keyed(pairs: list[KeyValue], at_ms: int, **fields: Any) -> bytes:
    """Encode one batch whose records all have one timestamp."""
    records = [Record(value, key, offset_delta=n) for n, (key, value) in enumerate(pairs)]
    return RecordBatch(records, base_timestamp=at_ms, max_timestamp=at_ms, **fields).encode()


def write(wire: Wire, topic: Topic, *pairs: KeyValue, at_ms: int, **fields: Any) -> int:
    """Produce one batch, which must succeed; return its base offset."""
    answer = wire.produce(topic, keyed(list(pairs), at_ms, **fields))
    expect(answer.error_code, 0, "produce error")
    return int(answer.base_offset)


def write_apart(wire: Wire, topic: Topic, *pairs: KeyValue, from_ms: int) -> int:
    """Produce batches of one record, each in a segment of its own. Return the time for the next
    one."""
    for number, pair in enumerate(pairs):
        write(wire, topic, pair, at_ms=from_ms + number * STEP_MS)
    return from_ms + len(pairs) * STEP_MS


def log_start(wire: Wire, topic: Topic) -> int:
    """Return the earliest offset."""
    return int(list_offset(wire, topic, EARLIEST, wire.version("ListOffsets")).offset)


def kept(wire: Wire, topic: Topic) -> list[Kept]:
    """Return every data record left in a partition, from the log start on."""
    return [
        (offset, record.key, record.value)
        for batch in wire.batches(topic, log_start(wire, topic))
        if not batch.is_control
        for offset, record in batch.offsets()
    ]


def wait_until_kept(wire: Wire, topic: Topic, expected: Sequence[Kept], what: str) -> None:
    """Wait until exactly these records are left."""
    eventually(
        lambda: kept(wire, topic),
        lambda found: found == list(expected),
        f"{what}: {expected} is left",
        CLEANED_S,
    )


def wait_for_log_start(wire: Wire, topic: Topic, offset: int) -> None:
    """Wait until the log starts at an offset, and see that it never was beyond."""
    found = eventually(
        lambda: log_start(wire, topic),
        lambda start: start >= offset,
        f"the log start moves to {offset}",
        CLEANED_S,
    )
    expect_that(found == offset, "log start", offset, found)


def topic_with(wire: Wire, base: Mapping[str, str], **config: str) -> Topic:
    """Create a topic with these configurations; `_` stands for `.` in the names of the later
    ones."""
    named = {name.replace("_", "."): value for name, value in config.items()}
    return wire.create_topic(config={**base, **named})
