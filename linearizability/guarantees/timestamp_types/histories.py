"""Histories written by hand for `timestamp_types`."""

from linearizability.hand_written.rows import RAW, TOPIC, Invalid, P, Row, S, Valid

CREATED: Row = {"timestamp_type": "create"}


APPENDED: Row = {"timestamp_type": "append"}


BY_BROKER = '{"message.timestamp.type": "LogAppendTime"}'


BY_SENDER = '{"message.timestamp.type": "CreateTime"}'

SENT = [S(1, 0), S(2, 1), S(3, 2)]


def _stamped(value: int, offset: int, time_ms: int, epoch: int | None = 0, **more: object) -> Row:
    """Return a record of a raw read with this append time and leader epoch."""
    own = {"timestamp_ms": time_ms, "leader_epoch": epoch}
    return RAW(value, offset, **APPENDED | own | more)


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
    "append times are equal, or a little lower": (
        [*SENT, _stamped(1, 0, 9100), _stamped(2, 1, 9100), _stamped(3, 2, 9000)]
    ),
    "the leader of the next epoch has a clock that is behind": (
        [*SENT, _stamped(1, 0, 9101), _stamped(2, 1, 9000, epoch=1)]
    ),
    "the leader epoch was not recorded": (
        [*SENT, _stamped(1, 0, 9101, epoch=None), _stamped(2, 1, 9000, epoch=None)]
    ),
    "senders' timestamps may go back": (
        [*SENT, _stamped(1, 0, 9101, **CREATED), _stamped(2, 1, 9000, **CREATED)]
    ),
    "a marker's timestamp goes back": (
        [*SENT, _stamped(1, 0, 9101), RAW(None, 1, control="commit", **APPENDED, timestamp_ms=1)]
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
    "an append time goes back within a leader epoch": (
        [*SENT, _stamped(1, 0, 9000), _stamped(2, 1, 9101), _stamped(3, 2, 9000)],
        [("append-time-goes-back", (1, 2, 1000))],
    ),
    "polls show that an append time goes back": (
        [
            *SENT,
            P(1, 0, **APPENDED, timestamp_ms=9500, leader_epoch=4),
            P(2, 1, **APPENDED, timestamp_ms=9300, leader_epoch=4),
            P(3, 2, **APPENDED, timestamp_ms=9200, leader_epoch=4),
        ],
        [("append-time-goes-back", (0, 2, 3, 5))],
    ),
}
