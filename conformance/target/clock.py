"""The wall clock of the target, which may be wrong by hours; no case may depend on it."""

from __future__ import annotations

import time

from conformance.case import expect
from conformance.wire import Wire, batch
from reference_impl.wire import ErrorCode

_AHEAD_MS: dict[tuple[str, int], int] = {}
"""Address -> the milliseconds by which the clock there is ahead of ours."""


def now_ms(wire: Wire) -> int:
    """Return the time by the target's clock in milliseconds. That of a target started here is ours;
    another shows its own in the append time of a record, for which a topic is made, once per
    address; if it tells no such time, its clock counts as ours."""
    if not wire.is_shared:
        return local_ms()
    address = wire.addresses[0]
    if address not in _AHEAD_MS:
        topic = wire.create_topic(config={"message.timestamp.type": "LogAppendTime"})
        answer = wire.produce(topic, batch(b"a").encode())
        expect(answer.error_code, ErrorCode.NONE, "produce error")
        told_ms = int(answer.log_append_time_ms)
        _AHEAD_MS[address] = told_ms - local_ms() if told_ms >= 0 else 0
    return local_ms() + _AHEAD_MS[address]


def local_ms() -> int:
    """Return the time by our clock in milliseconds since 1970."""
    return int(time.time() * 1000)
