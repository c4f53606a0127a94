"""Histories written by hand for `replica_agreement`."""

from linearizability.hand_written.rows import LOG, NIL, RAW, Invalid, K, S, Valid

VALID: Valid = {
    "three replicas have the same records": (
        [*LOG(1, 2), *LOG(1, 2, replica=2), *LOG(1, 2, replica=3)]
    ),
    "a follower has a lower high watermark": [*LOG(1, 2), *LOG(1, replica=2)],
    "a follower's record differs above its high watermark": (
        [*LOG(1, 2), *LOG(1, replica=2), RAW(3, 1, replica=2, high_watermark=1, final=True)]
    ),
    "one replica has a higher log start": [*LOG(1, 2), *LOG(None, 2, replica=2, log_start=1)],
    "the replicas were read during faults": (
        [*LOG(1, 2, final=False), *LOG(1, 3, replica=2, final=False)]
    ),
    "two reads show the same records": [*LOG(1, 2), *LOG(1, 2, 3, replica=2, op_id=1001)],
    "one of the reads came before the final phase": (
        [*LOG(1, 2, final=False), *LOG(1, 3, replica=2, op_id=1001)]
    ),
    "compaction removed records between two reads": (
        [*LOG(1, 2, 3, **K), *LOG(None, None, 3, replica=2, op_id=1001, **K)]
    ),
    "one replica is read twice and has grown": (
        [*LOG(1, replica=2), *LOG(1, 2, replica=2, op_id=1001)]
    ),
    "a follower's log was not read to its end": [*LOG(1, 2), *LOG(1, None, replica=2, type="info")],
    "a follower compacted its log first": [*LOG(1, 2, **K), *LOG(None, 2, replica=2, **K)],
    "the leader compacted its log first, and the follower's high watermark is lower": (
        [*LOG(None, 2, **K), *LOG(1, replica=2, **K)]
    ),
    "a follower removed a tombstone first": [*LOG(1, **NIL), *LOG(None, replica=2, **NIL)],
    "the other record is in another partition": [*LOG(1, 2), *LOG(1, 3, replica=2, partition=1)],
}

INVALID: Invalid = {
    "a follower lacks a record": (
        [*LOG(1, 2, 3), *LOG(1, None, 3, replica=2)],
        [("replica-lacks-records", (1000,))],
    ),
    "a follower has a record that the leader lacks": (
        [*LOG(1, None, 3), *LOG(1, 2, 3, replica=2)],
        [("replica-has-more-records", (1000,))],
    ),
    "a follower has another record at an offset": (
        [*LOG(1, 2), *LOG(1, 3, replica=2)],
        [("replica-differs", (1000,))],
    ),
    "a follower has another record, seen by a second read": (
        [*LOG(1, 2), *LOG(1, 3, replica=2, op_id=1001)],
        [("replica-differs", (1000, 1001))],
    ),
    "a follower lacks a record, seen by a second read": (
        [*LOG(1, 2, 3), *LOG(1, None, 3, replica=2, op_id=1001)],
        [("replica-lacks-records", (1000, 1001))],
    ),
    "two followers differ, and the leader was not read": (
        [*LOG(1, 2, replica=3), *LOG(1, 3, replica=2)],
        [("replica-differs", (1000,))],
    ),
    "a follower has a record with another leader epoch": (
        [*LOG(1, leader_epoch=1), *LOG(1, replica=2, leader_epoch=2)],
        [("replica-differs", (1000,))],
    ),
    "a follower has a record in another batch": (
        [*LOG(1, 2, batch_base_offset=0), *LOG(1, 2, replica=2, batch_base_offset=1)],
        [("replica-differs", (1000,))],
    ),
    "a follower lacks the last value of a key": (
        [S(1, 0, **K), *LOG(1, **K), *LOG(None, replica=2, **K)],
        [("replica-lacks-records", (1000,))],
    ),
    "a follower of a compacted topic has another record": (
        [*LOG(1, 2, **K), *LOG(None, 3, replica=2, **K)],
        [("replica-differs", (1000,))],
    ),
}
