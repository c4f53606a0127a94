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


APPENDED = '{"retention.ms": "60000", "message.timestamp.type": "LogAppendTime"}'
BY_SIZE = '{"retention.ms": "-1", "retention.bytes": "100"}'


def _at(second: int) -> Row:
    return {"t_invoke_ns": second * SECOND_NS, "t_complete_ns": second * SECOND_NS}


VALID: Valid = {
    "a fetch below the new log start is refused": (
        [TOPIC(), S(1, 0), DELETES(1, log_start=1, asked="refused", asked_offset=0)]
    ),
    "nothing is deleted": [TOPIC(), S(1, 0), WHOLE(1)],
    "DeleteRecords moved the log start": (
        [TOPIC(), S(1, 0), S(2, 1), DELETES(1), WHOLE(2, log_start=1)]
    ),
    "a DeleteRecords of unknown outcome may have moved the log start": (
        [TOPIC(), S(1, 0), DELETES(None, type="info"), WHOLE(1, log_start=1)]
    ),
    "the record is deleted after retention.ms": (
        [TOPIC('{"retention.ms": "60000"}'), S(1, 0), WHOLE(1, log_start=1, **LATE)]
    ),
    "the sender's timestamp is older than retention.ms": (
        [TOPIC('{"retention.ms": "60000"}'), S(1, 0, timestamp_ms=-99_999), WHOLE(1, log_start=1)]
    ),
    "the broker replaced the sender's timestamp of the far future": (
        [TOPIC(APPENDED), S(1, 0, timestamp_ms=10**12), WHOLE(1, log_start=1, **LATE)]
    ),
    "the broker may have replaced the sender's timestamp of the far future": [
        TOPIC('{"retention.ms": "60000"}'),
        TOPIC(APPENDED),
        S(1, 0, timestamp_ms=10**12),
        WHOLE(1, log_start=1, **LATE),
    ],
    "the sender's timestamp may have been kept": [
        TOPIC('{"retention.ms": "60000"}'),
        TOPIC(APPENDED),
        S(1, 0, timestamp_ms=-99_999),
        WHOLE(1, log_start=1),
    ],
    "retention.bytes allows the deletion": (
        [TOPIC('{"retention.bytes": "100"}'), S(1, 0), WHOLE(1, log_start=1)]
    ),
    "the settings were changed, and the newer ones allow the deletion": (
        [TOPIC(), TOPIC('{"retention.ms": "60000"}'), S(1, 0), WHOLE(1, log_start=1, **LATE)]
    ),
    "the wall clock was not recorded": [TOPIC(timestamp_ms=None), S(1, 0), WHOLE(1, log_start=1)],
    "the topic's settings are unknown": [S(1, 0), WHOLE(1, log_start=1)],
    "the record is kept as long as its segment may stay": (
        [TOPIC(TIMED), S(1, 0), SAYS(1, log_start=0, **_at(76))]
    ),
    "the record is kept longer because the leader did not answer for a while": [
        TOPIC(TIMED),
        S(1, 0),
        SAYS(1, log_start=0, **_at(50)),
        SAYS(1, log_start=0, **_at(60)),
        SAYS(1, log_start=0, final=True, **_at(86)),
    ],
    "the record is gone, and nobody has written since": (
        [TOPIC(TIMED), S(1, 0), SAYS(1, log_start=1, **LATE)]
    ),
    "the record is kept, and segment.ms is unknown": [
        TOPIC('{"cleanup.policy": "delete", "retention.ms": "60000"}'),
        S(1, 0),
        SAYS(1, log_start=0, **LATE),
    ],
    "a later record in its segment keeps the record": (
        [TOPIC(TIMED), S(1, 0), S(2, 1, timestamp_ms=100_000), SAYS(2, log_start=0, **_at(270))]
    ),
    "the log is as long as retention.bytes": (
        [TOPIC(BY_SIZE), S(1, 0), WHOLE(1, log_start=1, leader_epoch=0, size_bytes=100)]
    ),
    "compaction made the log shorter than retention.bytes": [
        TOPIC('{"cleanup.policy": "compact,delete", "retention.ms": "-1", "retention.bytes": "9"}'),
        S(1, 0),
        WHOLE(1, log_start=1, leader_epoch=0, size_bytes=8),
    ],
    "DeleteRecords made the log shorter than retention.bytes": (
        [TOPIC(BY_SIZE), S(1, 0), DELETES(1), WHOLE(1, log_start=1, leader_epoch=0, size_bytes=99)]
    ),
    "a later leader has a log shorter than retention.bytes": (
        [TOPIC(BY_SIZE), S(1, 0), WHOLE(1, log_start=1, leader_epoch=1, size_bytes=99)]
    ),
    "a new leader has a lower log start": (
        [TOPIC(), DELETES(2, log_start=2, leader_epoch=0), SAYS(3, log_start=1, leader_epoch=1)]
    ),
    "the lower log start was asked for before DeleteRecords was answered": (
        [TOPIC(), DELETES(2, log_start=2, leader_epoch=0, t_complete_ns=99), SAYS(3, log_start=1)]
    ),
}

INVALID: Invalid = {
    "a fetch below the new log start is answered": (
        [TOPIC(), S(1, 0), DELETES(1, log_start=1, asked="answered", asked_offset=0)],
        [("answered-below-log-start", (2,))],
    ),
    "a record is deleted at once": (
        [TOPIC(), S(1, 0), WHOLE(1, log_start=1)],
        [("deleted-hours-too-early", (1, 2))],
    ),
    "a record is deleted more than an hour too early": (
        [TOPIC('{"retention.ms": "9999999"}'), S(1, 0), WHOLE(1, log_start=1, **LATE)],
        [("deleted-hours-too-early", (1, 2))],
    ),
    "a record is deleted less than an hour too early": (
        [TOPIC('{"retention.ms": "4000000"}'), S(1, 0), WHOLE(1, log_start=1, **LATE)],
        [("deleted-too-early", (1, 2))],
    ),
    "a record is deleted at once, with a retention.ms of one second": (
        [TOPIC('{"retention.ms": "1000"}'), S(1, 0), WHOLE(1, log_start=1)],
        [("deleted-too-early", (1, 2))],
    ),
    "a record is deleted at once, but only its sender's timestamp is old": (
        [TOPIC(APPENDED), S(1, 0, timestamp_ms=-99_999), WHOLE(1, log_start=1)],
        [("deleted-too-early", (1, 2))],
    ),
    "a record is kept for too long, and the broker replaced a later timestamp": (
        [
            TOPIC(TIMED[:-1] + ', "message.timestamp.type": "LogAppendTime"}'),
            S(1, 0),
            S(2, 1, timestamp_ms=100_000),
            SAYS(2, log_start=0, **_at(77)),
        ],
        [("kept-too-long", (1, 3))],
    ),
    "a record is kept for longer than its segment may stay": (
        [TOPIC(TIMED), S(1, 0), SAYS(1, log_start=0, **_at(77))],
        [("kept-too-long", (1, 2))],
    ),
    "a record is kept for too long, even for a leader that did not answer": (
        [
            TOPIC(TIMED),
            S(1, 0),
            SAYS(1, log_start=0, **_at(50)),
            SAYS(1, log_start=0, **_at(60)),
            SAYS(1, log_start=0, final=True, **_at(87)),
        ],
        [("kept-too-long", (1, 4))],
    ),
    "deletion made the log shorter than retention.bytes": (
        [TOPIC(BY_SIZE), S(1, 0), WHOLE(1, log_start=1, leader_epoch=0, size_bytes=99)],
        [("deleted-below-size", (2,))],
    ),
    "a record is deleted although retention.ms is -1": (
        [TOPIC('{"retention.ms": "-1"}'), S(1, 0), WHOLE(1, log_start=1, **LATE)],
        [("deleted-though-kept", (1, 2))],
    ),
    "time deletes a record of a topic that is only compacted": (
        [
            TOPIC('{"cleanup.policy": "compact", "retention.ms": "60000"}'),
            S(1, 0),
            WHOLE(1, log_start=1, **LATE),
        ],
        [("deleted-though-kept", (1, 2))],
    ),
    "more is deleted than DeleteRecords asked for": (
        [TOPIC(), S(1, 0), S(2, 1), DELETES(1), WHOLE(2, log_start=2)],
        [("deleted-hours-too-early", (2, 4))],
    ),
    "a record above a DeleteRecords of everything is deleted": (
        [TOPIC(), S(1, 0), S(2, 1), DELETES(None, log_start=1), WHOLE(2, log_start=2)],
        [("deleted-hours-too-early", (2, 4))],
    ),
    "a record is deleted before DeleteRecords was sent": (
        [TOPIC(), S(1, 0), WHOLE(1, log_start=1), DELETES(1)],
        [("deleted-hours-too-early", (1, 2))],
    ),
    "a record is deleted although DeleteRecords was refused": (
        [TOPIC(), S(1, 0), DELETES(1, type="fail"), WHOLE(1, log_start=1)],
        [("deleted-hours-too-early", (1, 3))],
    ),
    "the log start goes back after DeleteRecords": (
        [TOPIC(), S(1, 0), DELETES(1, log_start=1, leader_epoch=0), SAYS(3, log_start=0)],
        [("log-start-goes-back", (2, 3))],
    ),
}
