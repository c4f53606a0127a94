"""Histories written by hand for `inconsistent_offsets`."""

from linearizability.hand_written.rows import AT_5, BY_BROKER, RAW, Invalid, P, S, Valid

VALID: Valid = {
    "all readers receive the acknowledged record": (
        [S(1, 0), P(1, 0), P(1, 0, process=2), RAW(1, 0), RAW(None, 1, control="commit")]
    ),
    "the other record is in another partition": (
        [S(1, 0), S(2, 0, partition=1), P(1, 0), P(2, 0, partition=1)]
    ),
    "a new leader's record replaced one acknowledged with acks=1": (
        [S(1, 0, acks=1), S(2, 0), P(2, 0)]
    ),
    "a follower's record differs above its high watermark": (
        [S(1, 0), RAW(2, 0, replica=2, high_watermark=0)]
    ),
    "the topic was deleted and created again": [P(1, 0, topic_id="a"), P(2, 0, topic_id="b")],
    "the broker set the timestamp (LogAppendTime)": (
        [S(1, 0, timestamp_ms=5, checksum=1), *[P(1, 0, **BY_BROKER, checksum=1)] * 2, P(1, 0)]
    ),
}

INVALID: Invalid = {
    "two readers receive different records at one offset": (
        [S(1, 0), P(1, 0), P(2, 0, process=2)],
        [("inconsistent-offset", (0, 2))],
    ),
    "a reader receives another record than the acknowledged one": (
        [S(1, 0), P(2, 0)],
        [("inconsistent-offset", (0, 1))],
    ),
    "an offset holds a record for one reader, a marker for another": (
        [P(1, 0), RAW(None, 0, control="abort")],
        [("inconsistent-offset", (0, 1000))],
    ),
    "an offset holds an unreadable record for one reader": (
        [P(1, 0), P(None, 0)],
        [("inconsistent-offset", (0, 1))],
    ),
    "only the reader recorded the topic id, and it receives another record": (
        [S(1, 0), P(2, 0, topic_id="a")],
        [("inconsistent-offset", (0, 1))],
    ),
    "a follower's record differs below its high watermark": (
        [S(1, 0), RAW(2, 0, replica=2, high_watermark=1)],
        [("inconsistent-offset", (0, 1000))],
    ),
    "a second read returns other headers": (
        [S(1, 0), P(1, 0, checksum=1), P(1, 0, checksum=2)],
        [("record-changed", (1, 2))],
    ),
    "a follower has the record with another key": (
        [S(1, 0, key="k"), RAW(1, 0, key="j", replica=2, high_watermark=1)],
        [("record-changed", (0, 1000))],
    ),
    "a second read returns another LogAppendTime": (
        [P(1, 0, **BY_BROKER), P(1, 0, timestamp_ms=10, timestamp_type="append")],
        [("record-changed", (0, 1))],
    ),
    "a second read returns another timestamp type": (
        [P(1, 0, **AT_5), P(1, 0, timestamp_ms=5, timestamp_type="append")],
        [("record-changed", (0, 1))],
    ),
}
