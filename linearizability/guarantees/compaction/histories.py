"""Histories written by hand for `compaction`."""

from linearizability.hand_written.rows import (
    HOUR_NS,
    LATE,
    LOG,
    NIL,
    SECOND_NS,
    TOPIC,
    TXN,
    UNKNOWN,
    WHOLE,
    Invalid,
    K,
    Row,
    S,
    Valid,
)

J: Row = {"key": "j"}


FINAL: Row = {"final": True}


COMPACT = '{"cleanup.policy": "compact", "delete.retention.ms": "60000"}'


BRIEF = '{"cleanup.policy": "compact", "delete.retention.ms": "1000"}'

OPEN_AT_1 = {"last_stable_offset": 1}
"""The last stable offset of a leader whose second record is of an open transaction."""

VALID: Valid = {
    "compaction removed a record below the open transaction": (
        [S(1, 0, **K), S(2, 1, **K, **TXN), S(3, 2, **K), *LOG(None, 2, 3, **K, **OPEN_AT_1)]
    ),
    "an aborted record was removed, and the last stable offset is behind it": [
        S(1, 0, **K),
        S(2, 1, **K, **TXN),
        {"f": "abort", "txn": 1},
        *LOG(1, None, **K, last_stable_offset=2),
    ],
    "a follower lacks a record above its last stable offset": (
        [S(1, 0, **K), S(2, 1, **K), *LOG(1, 2, **K), *LOG(None, 2, replica=2, **K, **OPEN_AT_1)]
    ),
    "both values of the key are still there": [S(1, 0, **K), S(2, 1, **K), *LOG(1, 2, **K)],
    "compaction removed the older value of the key": (
        [S(1, 0, **K), S(2, 1, **K), *LOG(None, 2, **K)]
    ),
    "another key's last value stays": [S(1, 0, **K), S(2, 1, **J), S(3, 2, **K), *LOG(None, 2, 3)],
    "the last value is above the high watermark of the read": [S(1, 0, **K), WHOLE(0)],
    "the last value was acknowledged after the read began": [WHOLE(1), S(1, 0, **K)],
    "the log start has passed the last value": [S(1, 0, **K), WHOLE(1, log_start=1)],
    "a tombstone is gone long after delete.retention.ms": (
        [TOPIC(COMPACT), S(1, 0, **NIL), WHOLE(1, **LATE)]
    ),
    "a tombstone is gone; the topic's settings are unknown": [S(1, 0, **NIL), WHOLE(1)],
    "the value and, after delete.retention.ms, its tombstone are gone": (
        [TOPIC(BRIEF), S(1, 0, **K), S(2, 1, **NIL), *LOG(None, None, **LATE)]
    ),
    "the value and its tombstone are removed during one read": [
        TOPIC(BRIEF),
        S(1, 0, **K),
        S(2, 1, **NIL),
        *LOG(1, None, **K, **(LATE | {"t_complete_ns": HOUR_NS + 2 * SECOND_NS})),
    ],
    "a newer value follows the tombstone": (
        [TOPIC(BRIEF), S(1, 0, **NIL), S(2, 1, **K), *LOG(None, 2, **K, **LATE)]
    ),
    "a tombstone of unknown offset may have replaced the value": (
        [S(1, 0, **K), S(2, **NIL), WHOLE(2, **FINAL)]
    ),
    "a send without an answer may have replaced the value": [S(1, 0, **K), S(2, **K), WHOLE(2)],
    "an aborted record of the key above the last value is gone": (
        [S(1, 0, **K), S(2, 1, **K, **TXN), {"f": "abort", "txn": 1}, *LOG(1, None, **K)]
    ),
    "a record whose commit may have been accepted may have replaced the value": (
        [S(1, 0, **K), S(2, 1, **K, **TXN), UNKNOWN, *LOG(None, 2, **K)]
    ),
    "an open transaction's record of the key is above the last value": (
        [S(1, 0, **K), S(2, 1, **K, **TXN), *LOG(1, 2, **K)]
    ),
    "the value was acknowledged with acks=1 only": (
        [S(1, 0, **K, acks=1), S(2, 1, **J), *LOG(None, 2, **J)]
    ),
    "a follower has the record at another offset above its high watermark": (
        [S(1, 1, **K), *LOG(None, 1, **K), *LOG(1, replica=2, high_watermark=0, **K)]
    ),
}

INVALID: Invalid = {
    "a record of an open transaction was removed": (
        [S(1, 0, **K), S(2, 1, **K, **TXN), *LOG(1, None, **K, **OPEN_AT_1)],
        [("removed-above-stable", (1, 1000))],
    ),
    "a record above an open transaction was removed": (
        [
            S(1, 0, **J),
            S(2, 1, **J, **TXN),
            S(3, 2, **K),
            S(4, 3, **K),
            *LOG(1, 2, None, 4, **K, **OPEN_AT_1),
        ],
        [("removed-above-stable", (2, 1000))],
    ),
    "a young tombstone above an open transaction was removed, which no wrong clock explains": (
        [
            TOPIC(COMPACT),
            S(1, 0, **J),
            S(2, 1, **J, **TXN),
            S(3, 2, **NIL),
            *LOG(1, 2, None, **J, **OPEN_AT_1),
        ],
        [("removed-above-stable", (3, 1000))],
    ),
    "the last value of a key is gone": (
        [S(1, 0, **K), S(2, 1, **J), *LOG(None, 2, **J)],
        [("last-value-lost", (0, 1000))],
    ),
    "the last value of a key is gone from a follower": (
        [S(1, 0, **K), *LOG(1, **K), *LOG(None, replica=2, **K)],
        [("last-value-lost", (0, 1000))],
    ),
    "the last committed value is gone; only an aborted one follows it": (
        [S(1, 0, **K), S(2, 1, **K, **TXN), {"f": "abort", "txn": 1}, *LOG(None, 2, **K)],
        [("last-value-lost", (0, 1000))],
    ),
    "the last value is gone; the send that might replace it never arrived": (
        [S(1, 0, **K), S(2, **K), WHOLE(2, **FINAL)],
        [("last-value-lost", (0, 2))],
    ),
    "the last value is gone; only a record of an open transaction follows it": (
        [S(1, 0, **K), S(2, 1, **K, **TXN), *LOG(None, 2, **K)],
        [("last-value-lost", (0, 1000))],
    ),
    "a tombstone is gone before delete.retention.ms": (
        [TOPIC(COMPACT), S(1, 0, **NIL), WHOLE(1)],
        [("tombstone-lost-early", (1, 2))],
    ),
    "a tombstone is gone a day before delete.retention.ms": (
        [TOPIC('{"cleanup.policy": "compact"}'), S(1, 0, **NIL), WHOLE(1)],
        [("tombstone-lost-hours-early", (1, 2))],
    ),
    "a deleted value is back after its tombstone was removed": (
        [TOPIC(BRIEF), S(1, 0, **K), S(2, 1, **NIL), *LOG(1, None, **K, **LATE)],
        [("key-resurrected", (2, 1000))],
    ),
    "compaction moved a record to another offset": (
        [S(1, 0, **J), S(2, 1, **K), *LOG(1, None, 2, **K)],
        [("record-moved", (1, 1000))],
    ),
}
