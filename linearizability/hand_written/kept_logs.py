"""Histories written by hand for what replicas, compaction and retention must keep."""

from __future__ import annotations

from linearizability.hand_written.rows import DELETES, LOG, RAW, SAYS, TOPIC, WHOLE, P, Row, S

K: Row = {"key": "k"}
J: Row = {"key": "j"}
NIL: Row = {"key": "k", "tombstone": True}
FINAL: Row = {"final": True}
TXN = {"txn": 1}
COMPACT = '{"cleanup.policy": "compact", "delete.retention.ms": "60000"}'
BRIEF = '{"cleanup.policy": "compact", "delete.retention.ms": "1000"}'
HOUR_NS = 3_600_000_000_000
TIMED = (
    '{"cleanup.policy": "delete", "retention.ms": "60000", "segment.ms": "10000",'
    ' "log.retention.check.interval.ms": "1000", "log.initial.task.delay.ms": "1000"}'
)
BY_SIZE = '{"retention.ms": "-1", "retention.bytes": "100"}'
SECOND_NS = 1_000_000_000
LATE: Row = {"t_invoke_ns": HOUR_NS, "t_complete_ns": HOUR_NS}


def _at(second: int) -> Row:
    return {"t_invoke_ns": second * SECOND_NS, "t_complete_ns": second * SECOND_NS}


CREATED: Row = {"timestamp_type": "create"}
APPENDED: Row = {"timestamp_type": "append"}
BY_BROKER = '{"message.timestamp.type": "LogAppendTime"}'
BY_SENDER = '{"message.timestamp.type": "CreateTime"}'

VALID: dict[str, dict[str, list[Row]]] = {
    "timestamp_types": {
        "the broker's": [TOPIC(BY_BROKER), P(1, 0, **APPENDED)],
        "the sender's": [TOPIC(BY_SENDER), P(1, 0, **CREATED)],
        "nobody recorded it": [TOPIC(BY_BROKER), P(1, 0)],
        "the setting is not told": [TOPIC(), P(1, 0, **APPENDED)],
        "the setting was changed": [TOPIC(BY_BROKER), TOPIC(BY_SENDER), P(1, 0, **CREATED)],
        "a marker": [TOPIC(BY_BROKER), RAW(None, 0, control="commit", **CREATED)],
        "above a follower's high watermark": [
            TOPIC(BY_BROKER),
            RAW(1, 3, replica=2, high_watermark=1, **CREATED),
        ],
        "another partition": [TOPIC(BY_BROKER), P(1, 0, partition=1, **CREATED)],
    },
    "replica_agreement": {
        "the same": [*LOG(1, 2), *LOG(1, 2, replica=2), *LOG(1, 2, replica=3)],
        "a follower knows of less": [*LOG(1, 2), *LOG(1, replica=2)],
        "above a follower's high watermark": [
            *LOG(1, 2),
            *LOG(1, replica=2),
            RAW(3, 1, replica=2, high_watermark=1, final=True),
        ],
        "deleted on one of them": [*LOG(1, 2), *LOG(None, 2, replica=2, log_start=1)],
        "read while faults went on": [*LOG(1, 2, final=False), *LOG(1, 3, replica=2, final=False)],
        "another reading, the same": [*LOG(1, 2), *LOG(1, 2, 3, replica=2, op_id=1001)],
        "another reading, before the final phase": [
            *LOG(1, 2, final=False),
            *LOG(1, 3, replica=2, op_id=1001),
        ],
        "another reading, compacted since": [
            *LOG(1, 2, 3, **K),
            *LOG(None, None, 3, replica=2, op_id=1001, **K),
        ],
        "one replica, read twice": [*LOG(1, replica=2), *LOG(1, 2, replica=2, op_id=1001)],
        "not read to the end": [*LOG(1, 2), *LOG(1, None, replica=2, type="info")],
        "compacted here first": [*LOG(1, 2, **K), *LOG(None, 2, replica=2, **K)],
        "compacted here first, and a follower knows of less": [
            *LOG(None, 2, **K),
            *LOG(1, replica=2, **K),
        ],
        "a tombstone is gone here first": [*LOG(1, **NIL), *LOG(None, replica=2, **NIL)],
        "other partitions": [*LOG(1, 2), *LOG(1, 3, replica=2, partition=1)],
    },
    "compaction": {
        "nothing is compacted": [S(1, 0, **K), S(2, 1, **K), *LOG(1, 2, **K)],
        "the first value went": [S(1, 0, **K), S(2, 1, **K), *LOG(None, 2, **K)],
        "of another key": [S(1, 0, **K), S(2, 1, **J), S(3, 2, **K), *LOG(None, 2, 3)],
        "behind what was read": [S(1, 0, **K), WHOLE(0)],
        "acknowledged after the read began": [WHOLE(1), S(1, 0, **K)],
        "deleted by time": [S(1, 0, **K), WHOLE(1, log_start=1)],
        "a tombstone, long ago": [TOPIC(COMPACT), S(1, 0, **NIL), WHOLE(1, **LATE)],
        "a tombstone, settings unknown": [S(1, 0, **NIL), WHOLE(1)],
        "a tombstone has gone with the value": [
            TOPIC(BRIEF),
            S(1, 0, **K),
            S(2, 1, **NIL),
            *LOG(None, None, **LATE),
        ],
        "a value goes during a read, and its tombstone, too": [
            TOPIC(BRIEF),
            S(1, 0, **K),
            S(2, 1, **NIL),
            *LOG(1, None, **K, **(LATE | {"t_complete_ns": HOUR_NS + 2 * SECOND_NS})),
        ],
        "above its tombstone a value returns": [
            TOPIC(BRIEF),
            S(1, 0, **NIL),
            S(2, 1, **K),
            *LOG(None, 2, **K, **LATE),
        ],
        "under a tombstone of unknown place": [S(1, 0, **K), S(2, **NIL), WHOLE(2, **FINAL)],
        "under a record that is on its way": [S(1, 0, **K), S(2, **K), WHOLE(2)],
        "above it an aborted record": [
            S(1, 0, **K),
            S(2, 1, **K, **TXN),
            {"f": "abort", "txn": 1},
            *LOG(1, None, **K),
        ],
        "acks 1 proves nothing": [S(1, 0, **K, acks=1), S(2, 1, **J), *LOG(None, 2, **J)],
        "elsewhere on a follower, which will cut it off": [
            S(1, 1, **K),
            *LOG(None, 1, **K),
            *LOG(1, replica=2, high_watermark=0, **K),
        ],
    },
    "retention": {
        "nothing is deleted": [TOPIC(), S(1, 0), WHOLE(1)],
        "DeleteRecords": [TOPIC(), S(1, 0), S(2, 1), DELETES(1), WHOLE(2, log_start=1)],
        "maybe DeleteRecords": [
            TOPIC(),
            S(1, 0),
            DELETES(None, type="info"),
            WHOLE(1, log_start=1),
        ],
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
    },
}

INVALID: dict[str, dict[str, tuple[list[Row], list[tuple[str, tuple[int, ...]]]]]] = {
    "timestamp_types": {
        "not stamped by the broker": (
            [TOPIC(BY_BROKER), P(1, 0, **APPENDED), P(2, 1, **CREATED), P(3, 2, **CREATED)],
            [("wrong-timestamp-type", (0, 2))],
        ),
        "the sender's time is lost": (
            [TOPIC(BY_SENDER), P(1, 0, **APPENDED)],
            [("wrong-timestamp-type", (0, 1))],
        ),
        "on a follower": (
            [TOPIC(BY_BROKER), RAW(1, 0, replica=2, high_watermark=1, **CREATED)],
            [("wrong-timestamp-type", (0, 1000))],
        ),
    },
    "replica_agreement": {
        "a record is missing": (
            [*LOG(1, 2, 3), *LOG(1, None, 3, replica=2)],
            [("replica-lacks-records", (1000,))],
        ),
        "a record too many": (
            [*LOG(1, None, 3), *LOG(1, 2, 3, replica=2)],
            [("replica-has-more-records", (1000,))],
        ),
        "another record": ([*LOG(1, 2), *LOG(1, 3, replica=2)], [("replica-differs", (1000,))]),
        "another record in another reading": (
            [*LOG(1, 2), *LOG(1, 3, replica=2, op_id=1001)],
            [("replica-differs", (1000, 1001))],
        ),
        "missing in another reading": (
            [*LOG(1, 2, 3), *LOG(1, None, 3, replica=2, op_id=1001)],
            [("replica-lacks-records", (1000, 1001))],
        ),
        "two followers, and no leader": (
            [*LOG(1, 2, replica=3), *LOG(1, 3, replica=2)],
            [("replica-differs", (1000,))],
        ),
        "another epoch": (
            [*LOG(1, leader_epoch=1), *LOG(1, replica=2, leader_epoch=2)],
            [("replica-differs", (1000,))],
        ),
        "another batch": (
            [*LOG(1, 2, batch_base_offset=0), *LOG(1, 2, replica=2, batch_base_offset=1)],
            [("replica-differs", (1000,))],
        ),
        "the last of its key": (
            [S(1, 0, **K), *LOG(1, **K), *LOG(None, replica=2, **K)],
            [("replica-lacks-records", (1000,))],
        ),
        "compacted, another record": (
            [*LOG(1, 2, **K), *LOG(None, 3, replica=2, **K)],
            [("replica-differs", (1000,))],
        ),
    },
    "compaction": {
        "the last value": (
            [S(1, 0, **K), S(2, 1, **J), *LOG(None, 2, **J)],
            [("last-value-lost", (0, 1000))],
        ),
        "on a follower alone": (
            [S(1, 0, **K), *LOG(1, **K), *LOG(None, replica=2, **K)],
            [("last-value-lost", (0, 1000))],
        ),
        "for an aborted record": (
            [S(1, 0, **K), S(2, 1, **K, **TXN), {"f": "abort", "txn": 1}, *LOG(None, 2, **K)],
            [("last-value-lost", (0, 1000))],
        ),
        "for a record that never came": (
            [S(1, 0, **K), S(2, **K), WHOLE(2, **FINAL)],
            [("last-value-lost", (0, 2))],
        ),
        "a tombstone, at once": (
            [TOPIC(COMPACT), S(1, 0, **NIL), WHOLE(1)],
            [("tombstone-lost-early", (1, 2))],
        ),
        "a tombstone, a day before its time": (
            [TOPIC('{"cleanup.policy": "compact"}'), S(1, 0, **NIL), WHOLE(1)],
            [("tombstone-lost-hours-early", (1, 2))],
        ),
        "a value is back whose tombstone has gone": (
            [TOPIC(BRIEF), S(1, 0, **K), S(2, 1, **NIL), *LOG(1, None, **K, **LATE)],
            [("key-resurrected", (2, 1000))],
        ),
        "moved": (
            [S(1, 0, **J), S(2, 1, **K), *LOG(1, None, 2, **K)],
            [("record-moved", (1, 1000))],
        ),
    },
    "retention": {
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
    },
}
