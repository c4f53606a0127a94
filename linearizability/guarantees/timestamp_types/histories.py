"""Histories written by hand for `timestamp_types`."""

from linearizability.hand_written.rows import RAW, TOPIC, Invalid, P, Row, Valid

CREATED: Row = {"timestamp_type": "create"}


APPENDED: Row = {"timestamp_type": "append"}


BY_BROKER = '{"message.timestamp.type": "LogAppendTime"}'


BY_SENDER = '{"message.timestamp.type": "CreateTime"}'

VALID: Valid = {
    "LogAppendTime: the broker set the timestamp": [TOPIC(BY_BROKER), P(1, 0, **APPENDED)],
    "CreateTime: the sender set the timestamp": [TOPIC(BY_SENDER), P(1, 0, **CREATED)],
    "the timestamp type was not recorded": [TOPIC(BY_BROKER), P(1, 0)],
    "message.timestamp.type is unknown": [TOPIC(), P(1, 0, **APPENDED)],
    "message.timestamp.type was changed": [TOPIC(BY_BROKER), TOPIC(BY_SENDER), P(1, 0, **CREATED)],
    "a marker keeps its own timestamp type": (
        [TOPIC(BY_BROKER), RAW(None, 0, control="commit", **CREATED)]
    ),
    "a follower has another type above its high watermark": (
        [TOPIC(BY_BROKER), RAW(1, 3, replica=2, high_watermark=1, **CREATED)]
    ),
    "the topic's row is of another partition": [TOPIC(BY_BROKER), P(1, 0, partition=1, **CREATED)],
}

INVALID: Invalid = {
    "LogAppendTime: two records keep the sender's timestamp": (
        [TOPIC(BY_BROKER), P(1, 0, **APPENDED), P(2, 1, **CREATED), P(3, 2, **CREATED)],
        [("wrong-timestamp-type", (0, 2))],
    ),
    "CreateTime: the broker overwrote the timestamp": (
        [TOPIC(BY_SENDER), P(1, 0, **APPENDED)],
        [("wrong-timestamp-type", (0, 1))],
    ),
    "LogAppendTime: a follower's record keeps the sender's timestamp": (
        [TOPIC(BY_BROKER), RAW(1, 0, replica=2, high_watermark=1, **CREATED)],
        [("wrong-timestamp-type", (0, 1000))],
    ),
}
