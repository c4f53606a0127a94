"""Histories written by hand for what is promised of records, sent and read."""

from __future__ import annotations

from linearizability.hand_written.rows import (
    BEGINS,
    END,
    LOG,
    LOOK_UP,
    RAW,
    TOPIC,
    WHOLE,
    P,
    Row,
    S,
)

RC, RU = {"isolation": "read_committed"}, {"isolation": "read_uncommitted"}
TXN = {"txn": 1}
COMMIT, ABORT = END("commit", 1), END("abort", 1)

AT_5: Row = {"timestamp_ms": 5, "timestamp_type": "create"}
BY_BROKER: Row = {"timestamp_ms": 9, "timestamp_type": "append"}

VALID: dict[str, dict[str, list[Row]]] = {
    "lost_writes": {
        "all is read": [S(1, 0), S(2, 1), P(1, 0), P(2, 1)],
        "an unpolled tail": [S(1, 0), S(2, 1), P(1, 0)],
        "unknown, never seen": [S(1, 0), S(2), S(3, 2), P(1, 0), P(3, 2)],
        "acks 1 proves nothing": [S(1, 0, acks=1), S(2, 1), P(2, 1)],
        "acks 0 proves nothing": [S(1, None, acks=0, type="ok"), S(2, 1), P(2, 1)],
        "aborted, not given": [S(1, 0, **TXN), ABORT, S(2, 2), P(2, 2)],
        "unknown end, not given": [S(1, 0, **TXN), END("commit", 1, type="info"), S(2, 2), P(2, 2)],
        "an aborted record is no horizon": [S(1, 0), S(2, 1, **TXN), ABORT, P(2, 1, **RU)],
        "below the log start": [S(1, 0), S(2, 1), P(2, 1), WHOLE(2, log_start=1)],
        "a failed poll saw it": [S(1, 0), S(2, 1), P(1, 0, type="info"), P(2, 1)],
        "a group began behind it": [S(1, 0), S(2, 1), S(3, 2), P(2, 1, group="g")],
        "the whole read came first": [WHOLE(0), S(1, 0)],
        "read, and there to the end": [S(1, 0), S(2), P(1, 0), P(2, 1), *LOG(1, 2)],
        "read when the log had been read": [S(1, 0), *LOG(1), S(2), P(2, 1)],
        "read, then deleted": [S(1, 0), P(1, 0), *LOG(None, 2, log_start=1), S(2, 1)],
        "another record stands there": [S(1, 0), S(2), P(2, 1), *LOG(1, 3)],
        "a follower's end": [S(1, 0), S(2), P(2, 1), *LOG(1, replica=2)],
        "hidden by a hanging transaction": [
            S(1, 0, **TXN),
            S(2, 1),
            S(3, 2, txn=2),
            END("commit", 2),
            WHOLE(3, **RC),
        ],
        "topic made anew": [S(1, 0, topic_id="a"), P(2, 5, topic_id="b"), S(2, 5, topic_id="b")],
    },
    "duplicates": {
        "each once": [S(1, 0), S(2, 1), P(1, 0), P(2, 1), P(1, 0, process=2)],
        "no idempotence": [S(1, 0, idempotent=False), P(1, 0), P(1, 1)],
        "the workload sent it twice": [S(1, 0), S(1, 1), P(1, 0), P(1, 1)],
        "two partitions": [S(1, 0), P(1, 0), P(1, 1, partition=1)],
        "an unproven acknowledgement": [S(1, 0, acks=1), P(1, 1)],
    },
    "inconsistent_offsets": {
        "agreed": [S(1, 0), P(1, 0), P(1, 0, process=2), RAW(1, 0), RAW(None, 1, control="commit")],
        "other partitions": [S(1, 0), S(2, 0, partition=1), P(1, 0), P(2, 0, partition=1)],
        "acks 1 was cut off": [S(1, 0, acks=1), S(2, 0), P(2, 0)],
        "above a replica's high watermark": [S(1, 0), RAW(2, 0, replica=2, high_watermark=0)],
        "topic made anew": [P(1, 0, topic_id="a"), P(2, 0, topic_id="b")],
        "the broker set the time": [
            S(1, 0, timestamp_ms=5, checksum=1),
            *[P(1, 0, **BY_BROKER, checksum=1)] * 2,
            P(1, 0),
        ],
    },
    "phantom_records": {
        "sent, then read": [S(1, 0), P(1, 0)],
        "unknown, yet read": [S(1), P(1, 0)],
        "control records": [S(1, 0), P(1, 0), RAW(None, 1, control="commit")],
        "an empty poll": [S(1, 0), P(1, 0), P(None, None)],
        "failed once, sent again": [S(1, type="fail"), S(1, 0), P(1, 0)],
        "as one of its sends": [
            S(1, checksum=1, **AT_5),
            S(1, 0, checksum=2, **AT_5),
            P(1, 0, checksum=2, **AT_5),
        ],
        "the broker set the time": [S(1, 0, timestamp_ms=5), P(1, 0, **BY_BROKER)],
        "nobody recorded who set the time": [S(1, 0, timestamp_ms=5), P(1, 0, timestamp_ms=9)],
        "sender knows no topic id": [
            S(1, 0),
            P(1, 0, topic_id="a"),
            S(2, 0),
            P(2, 0, topic_id="b"),
        ],
    },
    "append_order": {
        "in order": [S(1, 0), S(2, 1)],
        "overlapping": [S(1, 1, t_invoke_ns=0, t_complete_ns=99), S(2, 0, t_invoke_ns=50)],
        "other partitions": [S(1, 5), S(2, 0, partition=1)],
    },
    "poll_order": {
        "forward": [P(1, 0), P(2, 1), P(3, 5)],
        "a new session": [P(1, 4), P(1, 4, session=1), P(1, 0, session=2)],
        "other processes": [P(1, 4), P(1, 0, process=2)],
        "other partitions": [P(1, 4), P(1, 0, partition=1)],
        "empty polls": [P(1, 4), P(None, None), P(2, 5)],
    },
    "poll_skips": {
        "nothing known between": [S(1, 0), S(2), S(3, 2), P(1, 0), P(3, 2)],
        "an aborted record": [
            S(1, 0),
            S(2, 1, **TXN),
            ABORT,
            S(3, 3),
            P(1, 0),
            P(3, 3),
            P(2, 1, process=2, **RU),
        ],
        "a record of unknown outcome": [
            S(1, 0),
            S(2, 1, **TXN),
            S(3, 3),
            P(1, 0),
            P(3, 3),
            P(2, 1, process=2, **RU),
        ],
        "a new session": [S(1, 0), S(2, 1), S(3, 2), P(1, 0), P(3, 2, session=1)],
        "acks 1 was cut off": [S(1, 0), S(2, 1, acks=1), S(3, 2), P(1, 0), P(3, 2)],
        "below the log start": [S(1, 0), S(2, 1), S(3, 2), P(1, 0), P(3, 2), WHOLE(3, log_start=2)],
        "control records": [S(1, 0), P(1, 0), P(2, 2), RAW(None, 1, control="commit")],
        "looked up by time": [
            P(1, 0, timestamp_ms=9),
            P(2, 1, timestamp_ms=7),
            P(3, 2, timestamp_ms=8),
            LOOK_UP(0, 8, session=1),
            LOOK_UP(0, 9, session=2),
        ],
        "looked up by time, and what was before is gone": [
            P(1, 0, timestamp_ms=7),
            P(2, 1, timestamp_ms=8),
            LOOK_UP(1, 7, session=1),
            WHOLE(2, log_start=1),
        ],
        "begun behind it": [S(1, 0), S(2, 1), BEGINS(1), P(2, 1)],
        "begun at an unknown offset": [S(1, 0), S(2, 1), BEGINS(None), P(2, 1)],
        "begun at the end": [S(1, 0), BEGINS(1), S(2, 1), P(2, 1)],
        "begun beyond the end": [S(1, 0), BEGINS(7), P(1, 0), S(2, 1), P(2, 1)],
        "begun below the log start": [S(1, 0), S(2, 1), BEGINS(0), P(2, 1), WHOLE(2, log_start=1)],
    },
    "aborted_reads": {
        "committed": [S(1, 0, **TXN), COMMIT, P(1, 0)],
        "plain": [S(1, 0), S(2, 1, **TXN), P(1, 0)],
        "read_uncommitted may": [S(1, 0, **TXN), ABORT, S(2, 2), P(1, 0, **RU), P(2, 2)],
        "commit answered by an error": [S(1, 0, **TXN), END("commit", 1, type="fail"), P(1, 0)],
        "commit unknown, then aborted": [
            S(1, 0, **TXN),
            END("commit", 1, type="info"),
            ABORT,
            P(1, 0),
        ],
        "never ended": [S(1, 0, **TXN), P(1, 0)],
        "abort unknown": [S(1, 0, **TXN), END("abort", 1, type="info"), P(1, 0)],
        "the marker says commit": [
            S(1, 0, **TXN),
            ABORT,
            P(1, 0),
            RAW(1, 0),
            RAW(None, 1, control="commit"),
        ],
        "the next marker is of another producer": [
            S(1, 0, **TXN),
            P(1, 0),
            RAW(1, 0),
            RAW(None, 1, control="abort", producer_id=8),
        ],
    },
    "own_uncommitted_reads": {
        "another transaction": [S(1, 0, **TXN), COMMIT, S(2, 2, txn=2), P(1, 0, txn=2)],
        "outside of it": [S(1, 0, **TXN), COMMIT, P(1, 0)],
        "read_uncommitted may": [S(1, 0, **TXN), P(1, 0, **TXN, **RU), P(2, 5, **TXN), S(2, 5)],
        "on another partition": [S(1, 0, **TXN), P(1, 0, **TXN, partition=1)],
    },
    "unseen_writes": {
        "all was delivered": [S(1, 0), S(2, 1), P(1, 0), P(2, 1), WHOLE(2)],
        "no complete read": [S(1, 0), S(2, 1), P(1, 0), WHOLE(None, type="info")],
        "to a raw reader, and a raw read": [S(1, 0), RAW(1, 0), WHOLE(1)],
        "below the log start": [S(1, 0), WHOLE(3, log_start=1)],
        "acknowledged after the read began": [WHOLE(None), S(1, 0)],
        "plain, of unknown place": [S(1, None, type="ok"), WHOLE(None)],
        "aborted": [S(1, 0, **TXN), ABORT, WHOLE(None)],
        "of unknown end": [S(1, 0, **TXN), END("commit", 1, type="info"), WHOLE(None)],
        "unknown": [S(1), WHOLE(None)],
    },
    "producer_order": {
        "in order": [S(1, 0, op_id=0), S(2, 1, op_id=0, record_index=1)],
        "of unknown place between": [
            S(1, 0, op_id=0),
            S(2, op_id=0, record_index=1),
            S(3, 1, op_id=0, record_index=2),
        ],
        "no idempotence": [
            S(1, 1, op_id=0, idempotent=False),
            S(2, 0, op_id=0, record_index=1, idempotent=False),
        ],
        "sent twice": [S(1, 1, op_id=0), S(2, 0, op_id=0, record_index=1), S(2, 3)],
        "a new epoch numbers anew": [
            RAW(1, 0, sequence=5),
            RAW(2, 1, sequence=0, producer_epoch=1),
            S(1),
            S(2),
        ],
        "sequences wrap": [RAW(1, 0, sequence=2**31 - 1), RAW(2, 1, sequence=0), S(1)],
        "the first of a producer": [S(1, 1, op_id=0), S(2, 0, op_id=0, record_index=1)],
        "the first behind a failure": [
            S(9, 0),
            S(8, type="fail"),
            S(1, 3, op_id=2),
            S(2, 2, op_id=2, record_index=1),
        ],
        "the first of a producer that is replaced": [
            S(9, 0),
            S(1, 3, op_id=2, session=1),
            S(2, 2, op_id=2, session=1, record_index=1),
        ],
        "the first of a producer id, in two epochs": [
            S(9, 0),
            S(1, 3, op_id=2),
            S(2, 2, op_id=2, record_index=1),
            RAW(9, 0, producer_id=6),
            RAW(2, 2, sequence=1),
            RAW(1, 3, sequence=0, producer_epoch=1),
        ],
        "of a topic that was made anew": [
            S(9, 0, topic_id="old"),
            S(1, 1, op_id=2, topic_id="new"),
            S(2, 0, op_id=2, record_index=1, topic_id="new"),
        ],
    },
    "leader_epochs": {
        "growing": [RAW(n, n, leader_epoch=epoch) for n, epoch in enumerate((0, 0, 4))],
        "unknown": [RAW(1, 0, leader_epoch=3), RAW(2, 1, leader_epoch=-1)],
        "other partitions": [RAW(1, 0, leader_epoch=3), RAW(2, 1, leader_epoch=1, partition=1)],
        "the leader that answered": [P(1, 0, leader_epoch=3), P(2, 1, leader_epoch=2)],
        "above a replica's high watermark": [
            RAW(1, 0, leader_epoch=3, replica=1, high_watermark=0),
            RAW(2, 1, leader_epoch=2),
        ],
    },
}

INVALID: dict[str, dict[str, tuple[list[Row], list[tuple[str, tuple[int, ...]]]]]] = {
    "lost_writes": {
        "passed over": ([S(1, 0), S(2, 1), P(2, 1)], [("lost-write", (0, 2))]),
        "committed, passed over": (
            [S(1, 0, **TXN), COMMIT, S(2, 2), P(2, 2)],
            [("lost-write", (0, 3))],
        ),
        "by its marker committed": (
            [
                S(1, 0, **TXN),
                S(4, 3, **TXN, partition=1),
                S(2, 2),
                P(2, 2),
                RAW(4, 3, partition=1),
                RAW(None, 4, partition=1, control="commit"),
            ],
            [("lost-write", (0, 3))],
        ),
        "absent inside a whole read": ([S(1, 0), WHOLE(3)], [("lost-write", (0, 1))]),
        "a tail that was read once": (
            [S(1, 0), S(2), P(2, 1), *LOG(1)],
            [("vanished-record", (2, 1000))],
        ),
        "acknowledged, gone from a final read, read later": (
            [S(1, 0), S(2, 1), *LOG(1), P(2, 1, op_id=1001)],
            [("vanished-record", (1, 1000))],
        ),
        "read once, then a hole": (
            [S(1, 0), S(3, 2), S(2), P(2, 1), *LOG(1, None, 3)],
            [("vanished-record", (3, 1000))],
        ),
        "acknowledged, read once": (
            [S(1, 0), S(2, 1), P(2, 1), *LOG(1)],
            [("vanished-record", (2, 1000))],
        ),
        "absent at the end": ([S(1, 0), S(2, 1), P(1, 0), WHOLE(1)], [("lost-write", (1, 3))]),
        "a group passed it": (
            [S(1, 0), S(2, 1), S(3, 2), P(1, 0, group="g"), P(3, 2, group="g")],
            [("lost-write", (1, 4))],
        ),
        "read elsewhere only": (
            [S(1, 0), S(2, 1), P(2, 1), P(1, 0, partition=1)],
            [("lost-write", (0, 2))],
        ),
    },
    "duplicates": {
        "read twice": ([S(1, 0), P(1, 0), P(1, 4)], [("duplicate", (0, 2))]),
        "acknowledged elsewhere": ([S(1, 0), P(1, 3)], [("duplicate", (0, 1))]),
        "of unknown outcome": ([S(1), P(1, 0), P(1, 3)], [("duplicate", (0, 1, 2))]),
    },
    "inconsistent_offsets": {
        "two readers": ([S(1, 0), P(1, 0), P(2, 0, process=2)], [("inconsistent-offset", (0, 2))]),
        "acknowledged otherwise": ([S(1, 0), P(2, 0)], [("inconsistent-offset", (0, 1))]),
        "a control record": (
            [P(1, 0), RAW(None, 0, control="abort")],
            [("inconsistent-offset", (0, 1000))],
        ),
        "unreadable for one": ([P(1, 0), P(None, 0)], [("inconsistent-offset", (0, 1))]),
        "topic id known to the reader alone": (
            [S(1, 0), P(2, 0, topic_id="a")],
            [("inconsistent-offset", (0, 1))],
        ),
        "a replica, below its high watermark": (
            [S(1, 0), RAW(2, 0, replica=2, high_watermark=1)],
            [("inconsistent-offset", (0, 1000))],
        ),
        "headers were lost before the second read": (
            [S(1, 0), P(1, 0, checksum=1), P(1, 0, checksum=2)],
            [("record-changed", (1, 2))],
        ),
        "another key on a replica": (
            [S(1, 0, key="k"), RAW(1, 0, key="j", replica=2, high_watermark=1)],
            [("record-changed", (0, 1000))],
        ),
        "the broker's time moved": (
            [P(1, 0, **BY_BROKER), P(1, 0, timestamp_ms=10, timestamp_type="append")],
            [("record-changed", (0, 1))],
        ),
        "whose time it is changed": (
            [P(1, 0, **AT_5), P(1, 0, timestamp_ms=5, timestamp_type="append")],
            [("record-changed", (0, 1))],
        ),
    },
    "phantom_records": {
        "another checksum": (
            [S(1, 0, checksum=1), P(1, 0, checksum=2)],
            [("altered-record", (0, 1))],
        ),
        "another time": ([S(1, 0, timestamp_ms=4), P(1, 0, **AT_5)], [("altered-record", (0, 1))]),
        "a value became a tombstone": (
            [S(1, 0, key="k", tombstone=False), P(1, 0, key="k", tombstone=True)],
            [("altered-record", (0, 1))],
        ),
        "nobody sent it": ([S(1, 0), P(2, 0)], [("phantom-record", (1,))]),
        "nobody sent anything": ([P(2, 0)], [("phantom-record", (0,))]),
        "wrong partition": ([S(1, 0), P(1, 0, partition=1)], [("wrong-partition", (0, 1))]),
        "wrong topic": ([S(1, 0), P(1, 0, topic="u")], [("wrong-partition", (0, 1))]),
        "the topic's namesake": (
            [S(1, 0, topic_id="a"), P(1, 0, topic_id="b")],
            [("wrong-partition", (0, 1))],
        ),
        "unreadable": ([S(1, 0), P(None, 0)], [("unreadable-record", (1,))]),
        "certainly refused": ([S(1, type="fail"), P(1, 0)], [("refused-record", (0, 1))]),
    },
    "append_order": {
        "later stands lower": ([S(1, 5), S(2, 4)], [("append-order", (0, 1))]),
        "one offset twice": ([S(1, 5), S(2, 5)], [("same-offset", (0, 1))]),
        "what stands behind it had been read": (
            [S(1), P(1, 5), S(2, 4)],
            [("read-before-append", (1, 2))],
        ),
    },
    "poll_order": {
        "back": ([P(1, 4), P(2, 3)], [("poll-goes-back", (0, 1))]),
        "again": ([P(1, 4), P(1, 4)], [("poll-repeats", (0, 1))]),
        "inside one operation": (
            [P(1, 4, op_id=7), P(2, 3, op_id=7, record_index=1)],
            [("poll-goes-back", (7,))],
        ),
        "in a failed operation": ([P(1, 4), P(2, 3, type="fail")], [("poll-goes-back", (0, 1))]),
    },
    "poll_skips": {
        "a record with a key, of a topic that is not compacted": (
            [
                TOPIC('{"cleanup.policy": "delete"}'),
                S(1, 0, key="k"),
                S(2, 1, key="k"),
                S(3, 2, key="k"),
                P(1, 0, key="k"),
                P(3, 2, key="k"),
            ],
            [("poll-skip", (2, 4, 5))],
        ),
        "a rewind was ignored": (
            [S(1, 0), S(2, 1), P(1, 0), BEGINS(0, session=1), P(2, 1, session=1)],
            [("poll-skip", (0, 3, 4))],
        ),
        "begun behind what the group had committed": (
            [S(1, 0), BEGINS(None, asked="committed", asked_offset=0), S(2, 1), P(2, 1)],
            [("poll-skip", (0, 1, 3))],
        ),
        "the earliest was not the log start": (
            [S(1, 0), S(2, 1), BEGINS(1, asked="earliest", log_start=0), P(2, 1)],
            [("poll-skip", (0, 2, 3)), ("begins-late", (2,))],
        ),
        "a look-up by time passed over the record of that time": (
            [P(1, 0, timestamp_ms=7), P(2, 1, timestamp_ms=8), LOOK_UP(1, 7, session=1)],
            [("wrong-look-up", (0, 2))],
        ),
        "a look-up by time ended at an older record": (
            [P(1, 0, timestamp_ms=7), P(2, 1, timestamp_ms=8), LOOK_UP(0, 8, session=1)],
            [("wrong-look-up", (0, 2))],
        ),
        "begun before its start": (
            [S(1, 0), S(2, 1), BEGINS(1), P(1, 0)],
            [("begins-early", (2, 3))],
        ),
        "an acknowledged record": (
            [S(1, 0), S(2, 1), S(3, 2), P(1, 0), P(3, 2)],
            [("poll-skip", (1, 3, 4))],
        ),
        "one that another was given": (
            [S(1, 0), S(2), S(3, 2), P(1, 0), P(3, 2), P(2, 1, process=2)],
            [("poll-skip", (3, 4, 5))],
        ),
        "a committed record": (
            [S(1, 0), S(2, 1, **TXN), COMMIT, S(3, 3), P(1, 0), P(3, 3)],
            [("poll-skip", (1, 4, 5))],
        ),
        "read_uncommitted, an aborted record": (
            [S(1, 0), S(2, 1, **TXN), ABORT, S(3, 3), P(1, 0, **RU), P(3, 3, **RU)],
            [("poll-skip", (1, 4, 5))],
        ),
        "of unknown outcome, given to another": (
            [S(1, 0), S(2, 1, **TXN), S(3, 3), P(1, 0), P(3, 3), P(2, 1, process=2)],
            [("poll-skip", (1, 3, 4))],
        ),
    },
    "aborted_reads": {
        "abort acknowledged": ([S(1, 0, **TXN), ABORT, P(1, 0)], [("aborted-read", (0, 2))]),
        "by its marker": (
            [S(1, 0, **TXN), P(1, 0), RAW(1, 0), RAW(None, 1, control="abort")],
            [("aborted-read", (0, 1))],
        ),
        "by the marker in another partition": (
            [
                S(1, 0, **TXN),
                S(2, 0, **TXN, partition=1),
                P(1, 0),
                RAW(2, 0, partition=1),
                RAW(None, 1, partition=1, control="abort"),
            ],
            [("aborted-read", (0, 2))],
        ),
        "the reader itself failed": (
            [S(1, 0, **TXN), ABORT, P(1, 0, type="fail")],
            [("aborted-read", (0, 2))],
        ),
        "of unknown sends": ([S(1, **TXN), ABORT, P(1, 0)], [("aborted-read", (0, 2))]),
    },
    "own_uncommitted_reads": {
        "then committed": (
            [S(1, 0, **TXN), P(1, 0, **TXN), COMMIT],
            [("own-uncommitted-read", (0, 1))],
        ),
        "then aborted": (
            [S(1, **TXN), P(1, 0, **TXN, type="fail"), ABORT],
            [("own-uncommitted-read", (0, 1))],
        ),
    },
    "unseen_writes": {
        "the tail": ([S(1, 0), S(2, 1), P(1, 0), WHOLE(None)], [("unseen-write", (1,))]),
        "of a transaction, of unknown place": (
            [S(1, None, type="ok", **TXN), COMMIT, WHOLE(None)],
            [("unseen-write", (0,))],
        ),
        "inside what was read": ([S(1, 0), WHOLE(1)], [("unseen-write", (0,))]),
        "to a failed poll alone": (
            [S(1, 0), P(1, 0, type="fail"), WHOLE(None)],
            [("unseen-write", (0,))],
        ),
        "to a raw reader alone": (
            [S(1, 0), RAW(1, 0), WHOLE(1, client="java")],
            [("unseen-write", (0,))],
        ),
    },
    "producer_order": {
        "acknowledged": (
            [S(9, 0), S(1, 2, op_id=1), S(2, 1, op_id=1, record_index=1)],
            [("sends-reordered", (1,))],
        ),
        "unknown, then read": (
            [S(9, 0), S(1, op_id=1), S(2, op_id=1, record_index=1), P(2, 1), P(1, 2)],
            [("sends-reordered", (1,))],
        ),
        "by a producer id that had written": (
            [
                S(8),
                S(1, 3, op_id=2, session=1),
                S(2, 2, op_id=2, session=1, record_index=1),
                RAW(8, 0),
                RAW(2, 2, producer_epoch=1, sequence=0),
                RAW(1, 3),
            ],
            [("sends-reordered", (2,))],
        ),
        "by one who waits for each answer": (
            [S(1, 1, op_id=0, client="jepsen"), S(2, 0, op_id=0, record_index=1, client="jepsen")],
            [("sends-reordered", (0,))],
        ),
        "by sequence": (
            [S(1), S(2), RAW(1, 0, sequence=1), RAW(2, 1, sequence=0, op_id=1001)],
            [("sequence-goes-back", (1000, 1001))],
        ),
    },
    "leader_epochs": {
        "within a read": (
            [RAW(1, 0, leader_epoch=2), RAW(2, 3, leader_epoch=1)],
            [("epoch-goes-back", (1000,))],
        ),
        "between reads": (
            [RAW(1, 0, leader_epoch=2), RAW(None, 1, leader_epoch=1, op_id=7, control="abort")],
            [("epoch-goes-back", (7, 1000))],
        ),
    },
}
