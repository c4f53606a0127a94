"""Histories written by hand for `inconsistent_offsets`."""

from linearizability.hand_written.rows import AT_5, BY_BROKER, RAW, Invalid, P, S, Valid

VALID: Valid = {
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
}

INVALID: Invalid = {
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
}
