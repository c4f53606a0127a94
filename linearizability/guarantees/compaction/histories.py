"""Histories written by hand for `compaction`."""

from linearizability.hand_written.rows import (
    HOUR_NS,
    LATE,
    LOG,
    NIL,
    SECOND_NS,
    TOPIC,
    TXN,
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

VALID: Valid = {
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
}

INVALID: Invalid = {
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
    "moved": ([S(1, 0, **J), S(2, 1, **K), *LOG(1, None, 2, **K)], [("record-moved", (1, 1000))]),
}
