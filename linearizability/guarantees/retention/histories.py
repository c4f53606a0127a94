"""Histories written by hand for `retention`."""

from linearizability.hand_written.rows import (
    DELETES,
    LATE,
    SAYS,
    SECOND_NS,
    TOPIC,
    WHOLE,
    Invalid,
    Row,
    S,
    Valid,
)

TIMED = (
    '{"cleanup.policy": "delete", "retention.ms": "60000", "segment.ms": "10000",'
    ' "log.retention.check.interval.ms": "1000", "log.initial.task.delay.ms": "1000"}'
)


BY_SIZE = '{"retention.ms": "-1", "retention.bytes": "100"}'


def _at(second: int) -> Row:
    return {"t_invoke_ns": second * SECOND_NS, "t_complete_ns": second * SECOND_NS}


VALID: Valid = {
    "nothing is deleted": [TOPIC(), S(1, 0), WHOLE(1)],
    "DeleteRecords": [TOPIC(), S(1, 0), S(2, 1), DELETES(1), WHOLE(2, log_start=1)],
    "maybe DeleteRecords": [TOPIC(), S(1, 0), DELETES(None, type="info"), WHOLE(1, log_start=1)],
    "by time": [TOPIC('{"retention.ms": "60000"}'), S(1, 0), WHOLE(1, log_start=1, **LATE)],
    "by a time of its sender's": [
        TOPIC('{"retention.ms": "60000"}'),
        S(1, 0, timestamp_ms=-99_999),
        WHOLE(1, log_start=1),
    ],
    "by size": [TOPIC('{"retention.bytes": "100"}'), S(1, 0), WHOLE(1, log_start=1)],
    "the settings were changed": [
        TOPIC(),
        TOPIC('{"retention.ms": "60000"}'),
        S(1, 0),
        WHOLE(1, log_start=1, **LATE),
    ],
    "nobody knows the wall clock": [TOPIC(timestamp_ms=None), S(1, 0), WHOLE(1, log_start=1)],
    "settings unknown": [S(1, 0), WHOLE(1, log_start=1)],
    "kept as long as its segment may stay": [
        TOPIC(TIMED),
        S(1, 0),
        SAYS(1, log_start=0, **_at(76)),
    ],
    "kept by a leader that answered nobody for a while": [
        TOPIC(TIMED),
        S(1, 0),
        SAYS(1, log_start=0, **_at(50)),
        SAYS(1, log_start=0, **_at(60)),
        SAYS(1, log_start=0, final=True, **_at(86)),
    ],
    "gone, and nobody has written since": [TOPIC(TIMED), S(1, 0), SAYS(1, log_start=1, **LATE)],
    "kept, and when a segment closes is not told": [
        TOPIC('{"cleanup.policy": "delete", "retention.ms": "60000"}'),
        S(1, 0),
        SAYS(1, log_start=0, **LATE),
    ],
    "kept by the time of another in its segment": [
        TOPIC(TIMED),
        S(1, 0),
        S(2, 1, timestamp_ms=100_000),
        SAYS(2, log_start=0, **_at(270)),
    ],
    "as long as retention.bytes": [
        TOPIC(BY_SIZE),
        S(1, 0),
        WHOLE(1, log_start=1, leader_epoch=0, size_bytes=100),
    ],
    "shorter than retention.bytes by DeleteRecords": [
        TOPIC(BY_SIZE),
        S(1, 0),
        DELETES(1),
        WHOLE(1, log_start=1, leader_epoch=0, size_bytes=99),
    ],
    "cut short by a later leader": [
        TOPIC(BY_SIZE),
        S(1, 0),
        WHOLE(1, log_start=1, leader_epoch=1, size_bytes=99),
    ],
    "a new leader knows less": [
        TOPIC(),
        DELETES(2, log_start=2, leader_epoch=0),
        SAYS(3, log_start=1, leader_epoch=1),
    ],
    "asked before it was answered": [
        TOPIC(),
        DELETES(2, log_start=2, leader_epoch=0, t_complete_ns=99),
        SAYS(3, log_start=1),
    ],
}

INVALID: Invalid = {
    "for no reason": (
        [TOPIC(), S(1, 0), WHOLE(1, log_start=1)],
        [("deleted-hours-too-early", (1, 2))],
    ),
    "too early": (
        [TOPIC('{"retention.ms": "9999999"}'), S(1, 0), WHOLE(1, log_start=1, **LATE)],
        [("deleted-hours-too-early", (1, 2))],
    ),
    "too early by less than an hour": (
        [TOPIC('{"retention.ms": "4000000"}'), S(1, 0), WHOLE(1, log_start=1, **LATE)],
        [("deleted-too-early", (1, 2))],
    ),
    "too early by as much as its time": (
        [TOPIC('{"retention.ms": "1000"}'), S(1, 0), WHOLE(1, log_start=1)],
        [("deleted-too-early", (1, 2))],
    ),
    "kept for longer than its segment may stay": (
        [TOPIC(TIMED), S(1, 0), SAYS(1, log_start=0, **_at(77))],
        [("kept-too-long", (1, 2))],
    ),
    "kept for longer than a leader answered nobody, too": (
        [
            TOPIC(TIMED),
            S(1, 0),
            SAYS(1, log_start=0, **_at(50)),
            SAYS(1, log_start=0, **_at(60)),
            SAYS(1, log_start=0, final=True, **_at(87)),
        ],
        [("kept-too-long", (1, 4))],
    ),
    "shorter than retention.bytes": (
        [TOPIC(BY_SIZE), S(1, 0), WHOLE(1, log_start=1, leader_epoch=0, size_bytes=99)],
        [("deleted-below-size", (2,))],
    ),
    "kept for ever": (
        [TOPIC('{"retention.ms": "-1"}'), S(1, 0), WHOLE(1, log_start=1, **LATE)],
        [("deleted-though-kept", (1, 2))],
    ),
    "compacted only": (
        [
            TOPIC('{"cleanup.policy": "compact", "retention.ms": "60000"}'),
            S(1, 0),
            WHOLE(1, log_start=1, **LATE),
        ],
        [("deleted-though-kept", (1, 2))],
    ),
    "more than DeleteRecords asked for": (
        [TOPIC(), S(1, 0), S(2, 1), DELETES(1), WHOLE(2, log_start=2)],
        [("deleted-hours-too-early", (2, 4))],
    ),
    "above a deletion of everything": (
        [TOPIC(), S(1, 0), S(2, 1), DELETES(None, log_start=1), WHOLE(2, log_start=2)],
        [("deleted-hours-too-early", (2, 4))],
    ),
    "before its deletion was asked for": (
        [TOPIC(), S(1, 0), WHOLE(1, log_start=1), DELETES(1)],
        [("deleted-hours-too-early", (1, 2))],
    ),
    "refused": (
        [TOPIC(), S(1, 0), DELETES(1, type="fail"), WHOLE(1, log_start=1)],
        [("deleted-hours-too-early", (1, 3))],
    ),
    "it comes back": (
        [TOPIC(), S(1, 0), DELETES(1, log_start=1, leader_epoch=0), SAYS(3, log_start=0)],
        [("log-start-goes-back", (2, 3))],
    ),
}
