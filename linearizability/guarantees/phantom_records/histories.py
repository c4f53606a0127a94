"""Histories written by hand for `phantom_records`."""

from linearizability.hand_written.rows import AT_5, BY_BROKER, RAW, Invalid, P, S, Valid

VALID: Valid = {
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
    "sender knows no topic id": [S(1, 0), P(1, 0, topic_id="a"), S(2, 0), P(2, 0, topic_id="b")],
}

INVALID: Invalid = {
    "another checksum": ([S(1, 0, checksum=1), P(1, 0, checksum=2)], [("altered-record", (0, 1))]),
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
}
