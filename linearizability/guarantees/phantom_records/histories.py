"""Histories written by hand for `phantom_records`."""

from linearizability.hand_written.rows import AT_5, BY_BROKER, RAW, Invalid, P, S, Valid

VALID: Valid = {
    "an acknowledged record is read": [S(1, 0), P(1, 0)],
    "a record of unknown outcome is read": [S(1), P(1, 0)],
    "a raw read returns a marker": [S(1, 0), P(1, 0), RAW(None, 1, control="commit")],
    "a poll returns nothing": [S(1, 0), P(1, 0), P(None, None)],
    "the value was refused once, then sent again": [S(1, type="fail"), S(1, 0), P(1, 0)],
    "the record equals one of the two sends of its value": (
        [S(1, checksum=1, **AT_5), S(1, 0, checksum=2, **AT_5), P(1, 0, checksum=2, **AT_5)]
    ),
    "the broker set the timestamp (LogAppendTime)": [S(1, 0, timestamp_ms=5), P(1, 0, **BY_BROKER)],
    "the timestamp differs, and its type is unknown": (
        [S(1, 0, timestamp_ms=5), P(1, 0, timestamp_ms=9)]
    ),
    "only the readers recorded the topic id": (
        [S(1, 0), P(1, 0, topic_id="a"), S(2, 0), P(2, 0, topic_id="b")]
    ),
}

INVALID: Invalid = {
    "a record is read with another checksum than it was sent with": (
        [S(1, 0, checksum=1), P(1, 0, checksum=2)],
        [("altered-record", (0, 1))],
    ),
    "a record is read with another timestamp than it was sent with": (
        [S(1, 0, timestamp_ms=4), P(1, 0, **AT_5)],
        [("altered-record", (0, 1))],
    ),
    "a value is read as a tombstone": (
        [S(1, 0, key="k", tombstone=False), P(1, 0, key="k", tombstone=True)],
        [("altered-record", (0, 1))],
    ),
    "a reader receives a value that nobody sent": ([S(1, 0), P(2, 0)], [("phantom-record", (1,))]),
    "a reader receives a value though nothing was sent": ([P(2, 0)], [("phantom-record", (0,))]),
    "a record is read in another partition": (
        [S(1, 0), P(1, 0, partition=1)],
        [("wrong-partition", (0, 1))],
    ),
    "a record is read in another topic": (
        [S(1, 0), P(1, 0, topic="u")],
        [("wrong-partition", (0, 1))],
    ),
    "a record is read in a later topic of the same name": (
        [S(1, 0, topic_id="a"), P(1, 0, topic_id="b")],
        [("wrong-partition", (0, 1))],
    ),
    "a record has an unreadable value": ([S(1, 0), P(None, 0)], [("unreadable-record", (1,))]),
    "a record that was certainly refused is read": (
        [S(1, type="fail"), P(1, 0)],
        [("refused-record", (0, 1))],
    ),
}
