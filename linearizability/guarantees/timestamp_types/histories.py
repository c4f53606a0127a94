"""Histories written by hand for `timestamp_types`."""

from linearizability.hand_written.rows import RAW, TOPIC, Invalid, P, Row, Valid

CREATED: Row = {"timestamp_type": "create"}


APPENDED: Row = {"timestamp_type": "append"}


BY_BROKER = '{"message.timestamp.type": "LogAppendTime"}'


BY_SENDER = '{"message.timestamp.type": "CreateTime"}'

VALID: Valid = {
    "the broker's": [TOPIC(BY_BROKER), P(1, 0, **APPENDED)],
    "the sender's": [TOPIC(BY_SENDER), P(1, 0, **CREATED)],
    "nobody recorded it": [TOPIC(BY_BROKER), P(1, 0)],
    "the setting is not told": [TOPIC(), P(1, 0, **APPENDED)],
    "the setting was changed": [TOPIC(BY_BROKER), TOPIC(BY_SENDER), P(1, 0, **CREATED)],
    "a marker": [TOPIC(BY_BROKER), RAW(None, 0, control="commit", **CREATED)],
    "above a follower's high watermark": [
        TOPIC(BY_BROKER),
        RAW(1, 3, replica=2, high_watermark=1, **CREATED),
    ],
    "another partition": [TOPIC(BY_BROKER), P(1, 0, partition=1, **CREATED)],
}

INVALID: Invalid = {
    "not stamped by the broker": (
        [TOPIC(BY_BROKER), P(1, 0, **APPENDED), P(2, 1, **CREATED), P(3, 2, **CREATED)],
        [("wrong-timestamp-type", (0, 2))],
    ),
    "the sender's time is lost": (
        [TOPIC(BY_SENDER), P(1, 0, **APPENDED)],
        [("wrong-timestamp-type", (0, 1))],
    ),
    "on a follower": (
        [TOPIC(BY_BROKER), RAW(1, 0, replica=2, high_watermark=1, **CREATED)],
        [("wrong-timestamp-type", (0, 1000))],
    ),
}
