"""Histories written by hand for `replica_agreement`."""

from linearizability.hand_written.rows import LOG, NIL, RAW, Invalid, K, S, Valid

VALID: Valid = {
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
}

INVALID: Invalid = {
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
}
