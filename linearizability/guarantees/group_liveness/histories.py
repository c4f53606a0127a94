"""Histories written by hand for `group_liveness`."""

from collections.abc import Iterable

from linearizability.hand_written.rows import FAULT, PLACE, Invalid, P, Row, S, Valid, at

SETTINGS = '{"session.timeout.ms": "6000", "max.poll.interval.ms": "20000"}'
"""The settings of the group. With polls every 2 s and the bound of 15 s, the limit is 26 s; if a
member stops polling, it is 41 s."""


def OF(process: int, f: str, second: int, **more: object) -> Row:
    """Return a row of group g: an operation or a report of one of its members."""
    own = {"f": f, "process": process, "group": "g", "member_id": f"m{process}"}
    return own | at(second) | more


BY_KIP_848 = SETTINGS[:-1] + ', "group.protocol": "consumer"}'


def JOINS(process: int, second: int, settings: str = SETTINGS) -> Row:
    return OF(process, "subscribe", second, settings=settings)


def OWNS(process: int, second: int, *partitions: int, generation: int = 1) -> list[Row]:
    """Return the rows of one report: the partitions that a member owns. Without partitions it is a
    single row that names none."""
    own = {"generation": generation, "op_id": 1_000_000 + second * 100 + process}
    nothing: Row = {"topic": None, "partition": None}
    places = [{"topic": "t", "partition": n} for n in partitions] or [nothing]
    return [
        OF(process, "owned", second, record_index=n, **own, **place)
        for n, place in enumerate(places)
    ]


def ASKS(process: int, seconds: Iterable[int]) -> list[Row]:
    """Return polls of a member at these seconds, none of which receives a record."""
    return [OF(process, "poll", second) for second in seconds]


def numbered(*parts: Row | list[Row]) -> list[Row]:
    """Return the rows in the order of their operations. A row without an op_id gets its place in
    the list as its number."""
    rows = [row for part in parts for row in (part if isinstance(part, list) else [part])]
    rows = [{"op_id": n, **row} for n, row in enumerate(rows)]
    return sorted(rows, key=lambda row: (row["op_id"], row.get("record_index", 0)))


def STARTS(second: int, **more: object) -> Row:
    """Return a row in which member 1 sets its position, to be completed by `more`."""
    return PLACE | OF(1, "position", second) | more


SENT = S(1, 0, **at(1))


GIVEN = P(1, 0, group="g", member_id="m1", **at(5))


MINUTE = ASKS(1, range(2, 62, 2))


TWO_MINUTES = ASKS(1, range(2, 122, 2))


OTHER = PLACE | {"partition": 1}


NEW: Row = OTHER | {"f": "topic", "process": 9} | at(10)

TWO_SECONDS = '{"session.timeout.ms": "2000"}'


def BEATS(second: float, outcome: str = "ok", **more: object) -> Row:
    """Return a heartbeat of member m, answered a nanosecond later, with a session time-out of 2 s.
    outcome: ok, fail or info."""
    own = {"f": "heartbeat", "group": "g", "member_id": "m", "process": 1, "type": outcome}
    asked_ns = round(second * 1_000_000_000)
    times = {"t_invoke_ns": asked_ns, "t_complete_ns": asked_ns + 1}
    return own | {"settings": TWO_SECONDS} | times | more


LEAVES: Row = BEATS(2) | {"f": "leave"}

VALID: Valid = {
    "a heartbeat is refused soon after another member asked to join": [
        BEATS(0),
        BEATS(1, asked="joining", asked_offset=100),
        BEATS(2, "info", asked="joining", asked_offset=1_100),
    ],
    "a heartbeat is accepted while a newcomer waits for a coordinator that was killed": [
        BEATS(0),
        FAULT("Kill", **at(1)),
        BEATS(1.5, asked="joining", asked_offset=11_000),
    ],
    "heartbeats arrive within the session time-out": [BEATS(0), BEATS(1.9), BEATS(3.8)],
    "a member is removed after its session time-out": [BEATS(0), BEATS(2.1, "fail")],
    "a heartbeat sent within the session is answered after it": (
        [BEATS(0), BEATS(1.9, "fail", t_complete_ns=2_100_000_000)]
    ),
    "a heartbeat is accepted soon after the session time-out": [BEATS(0), BEATS(11.9)],
    "a heartbeat is refused after the member left": [BEATS(0), LEAVES, BEATS(3, "fail")],
    "a heartbeat is accepted after a LeaveGroup of unknown outcome": (
        [BEATS(0), LEAVES | {"type": "info"}, BEATS(3)]
    ),
    "a heartbeat of unknown outcome did not renew the session": (
        [BEATS(0), BEATS(1, "info"), BEATS(3, "fail")]
    ),
    "another member's heartbeat is refused": [BEATS(0), BEATS(1, "fail", member_id="other")],
    "the session time-out is unknown": [BEATS(0, settings=None), BEATS(1, "fail")],
    "a member is removed after its coordinator was killed": (
        [BEATS(0), FAULT("Kill", **at(1)), BEATS(1.5, "fail")]
    ),
    "every partition has an owner that receives its records": numbered(
        JOINS(1, 0), OWNS(1, 3, 0, 1), SENT, GIVEN, MINUTE
    ),
    "a group that begins at the end of the log gets none of the older records": numbered(
        JOINS(1, 0), SENT, OWNS(1, 3, 0), STARTS(3, offset=1, asked="latest"), MINUTE
    ),
    "a group may begin at the end of the log, which is not told": numbered(
        JOINS(1, 0), SENT, OWNS(1, 3, 0), STARTS(3, offset=None, asked="latest"), MINUTE
    ),
    "a member begins at a position that an operator had set ahead": numbered(
        JOINS(1, 0),
        SENT,
        S(2, 1, **at(1)),
        OWNS(1, 3, 0),
        STARTS(3, offset=None, asked="committed", asked_offset=2),
        MINUTE,
    ),
    "a member seeks past the records that wait": numbered(
        JOINS(1, 0),
        SENT,
        S(2, 1, **at(1)),
        OWNS(1, 3, 0),
        GIVEN,
        STARTS(6, offset=2, asked="offset"),
        MINUTE,
    ),
    "a static member takes another's place, in the same generation": numbered(
        JOINS(1, 0),
        JOINS(2, 0),
        OWNS(1, 3, 0),
        OWNS(2, 4, 0),
        OF(1, "commit_offsets", 5, type="fail", error="FENCED_INSTANCE_ID", **PLACE, offset=1),
        SENT,
        GIVEN,
        MINUTE,
    ),
    "a poll of unknown outcome may have received the waiting record": numbered(
        JOINS(1, 0),
        OWNS(1, 3, 0),
        SENT,
        GIVEN,
        S(2, 1, **at(6)),
        OF(1, "poll", 7, type="info"),
        MINUTE,
    ),
    "the rebalance ends within the limit": numbered(
        JOINS(1, 0),
        SENT,
        ASKS(1, range(2, 26, 2)),
        OWNS(1, 25, 0),
        GIVEN | at(26),
        ASKS(1, range(28, 48, 2)),
    ),
    "a member that stops polling delays the rebalance": numbered(
        JOINS(1, 0),
        JOINS(2, 0),
        SENT,
        ASKS(1, range(2, 40, 2)),
        ASKS(2, [2, 23, 25, 39]),
        OWNS(1, 40, 0),
        GIVEN | at(41),
        ASKS(1, range(42, 62, 2)),
        ASKS(2, range(42, 62, 2)),
    ),
    "nobody polled for a while": numbered(
        JOINS(1, 0), SENT, ASKS(1, [*range(2, 20, 2), *range(60, 80, 2)])
    ),
    "a fault is still active": numbered(JOINS(1, 0), SENT, FAULT("Kill", **at(3)), MINUTE),
    "the fault was healed a moment ago": numbered(
        JOINS(1, 0), SENT, FAULT("Kill", **at(3)), FAULT("Heal", **at(40)), MINUTE
    ),
    "the owner still receives another partition's backlog": numbered(
        JOINS(1, 0),
        OWNS(1, 3, 0, 1),
        S(1, 0, **at(1)),
        [S(n, n, **OTHER, **at(1)) for n in range(40)],
        [P(n, n, group="g", member_id="m1", **OTHER, **at(3 + 2 * n)) for n in range(40)],
    ),
    "a classic member has not yet learned of a new partition": numbered(
        JOINS(1, 0), OWNS(1, 3, 0), SENT, GIVEN, NEW, MINUTE
    ),
    "a new partition gets an owner within the limit": numbered(
        JOINS(1, 0, BY_KIP_848), OWNS(1, 3, 0), SENT, GIVEN, NEW, OWNS(1, 30, 0, 1), MINUTE
    ),
    "there are more members than partitions": numbered(
        JOINS(1, 0),
        JOINS(2, 0),
        OWNS(1, 3, 0),
        OWNS(2, 3),
        SENT,
        GIVEN,
        MINUTE,
        ASKS(2, range(2, 62, 2)),
    ),
    "the group uses Kafka's default settings and limits": numbered(
        OF(1, "subscribe", 0), SENT, TWO_MINUTES
    ),
    "a partition moves from one owner to the next": numbered(
        JOINS(1, 0),
        JOINS(2, 0),
        OWNS(1, 3, 0, 1),
        OWNS(1, 8, 0),
        OWNS(2, 9, 1),
        SENT,
        GIVEN,
        MINUTE,
        ASKS(2, range(2, 62, 2)),
    ),
    "a successor owns the crashed member's partition at once": numbered(
        JOINS(1, 0),
        OWNS(1, 3, 0),
        OF(1, "crash", 8),
        JOINS(2, 9),
        OWNS(2, 10, 0),
        SENT,
        GIVEN,
        ASKS(2, range(10, 62, 2)),
    ),
}

INVALID: Invalid = {
    "a heartbeat is accepted although another member has waited to join": (
        [BEATS(0), BEATS(1), BEATS(2, asked="joining", asked_offset=10_000)],
        [("not-told-to-rejoin", (1, 2))],
    ),
    "a member is removed within its session time-out": (
        [BEATS(0), BEATS(1.5), BEATS(3, "fail")],
        [("session-cut-short", (1, 2))],
    ),
    "a member is removed although a heartbeat had renewed its session": (
        [BEATS(0), BEATS(1.2), BEATS(2.4, "fail")],
        [("session-cut-short", (1, 2))],
    ),
    "a heartbeat is accepted long after the session time-out": (
        [BEATS(0), BEATS(13)],
        [("session-outlived", (0, 1))],
    ),
    "a heartbeat is accepted after the member left": (
        [BEATS(0), LEAVES, BEATS(3)],
        [("member-after-leaving", (1, 2))],
    ),
    "no member owns a partition": (
        numbered(JOINS(1, 0), OWNS(1, 3, 0, 1), OWNS(1, 8, 0), SENT, GIVEN, MINUTE),
        [("partition-without-owner", (35, 1000301))],
    ),
    "a new partition has no owner": (
        numbered(JOINS(1, 0, BY_KIP_848), OWNS(1, 3, 0), SENT, GIVEN, NEW, MINUTE),
        [("partition-without-owner", (34,))],
    ),
    "a partition never had an owner": (
        numbered(JOINS(1, 0), NEW | at(1), OWNS(1, 3, 0), SENT, GIVEN, MINUTE),
        [("partition-without-owner", (34,))],
    ),
    "no member takes over a crashed member's partition": (
        numbered(
            JOINS(1, 0),
            JOINS(2, 0),
            OWNS(1, 3, 0),
            OWNS(2, 3, 1),
            OF(2, "crash", 9),
            SENT,
            GIVEN,
            MINUTE,
        ),
        [("partition-without-owner", (36, 1000302))],
    ),
    "a member owns nothing while another owns three partitions": (
        numbered(
            JOINS(1, 0),
            JOINS(2, 0),
            OWNS(1, 3, 0, 1, 2),
            OWNS(2, 3),
            SENT,
            GIVEN,
            MINUTE,
            ASKS(2, range(2, 62, 2)),
        ),
        [("member-without-part", (1, 67))],
    ),
    "a member receives nothing although records wait": (
        numbered(JOINS(1, 0), OWNS(1, 3, 0), SENT, GIVEN, S(2, 1, **at(6)), MINUTE),
        [("group-starved", (4, 34))],
    ),
    "a record sent after a poll of unknown outcome is never delivered": (
        numbered(
            JOINS(1, 0),
            OWNS(1, 3, 0),
            SENT,
            GIVEN,
            OF(1, "poll", 7, type="info"),
            S(2, 1, **at(8)),
            MINUTE,
        ),
        [("group-starved", (5, 35))],
    ),
    "a record above the position where the group began is never delivered": (
        numbered(
            JOINS(1, 0),
            SENT,
            S(2, 1, **at(1)),
            OWNS(1, 3, 0),
            STARTS(3, offset=1, asked="latest"),
            MINUTE,
        ),
        [("group-starved", (2, 34))],
    ),
    "a record that was sent after the group began is never delivered": (
        numbered(
            JOINS(1, 0),
            OWNS(1, 3, 0),
            STARTS(3, offset=None, asked="latest"),
            S(1, 0, **at(5)),
            MINUTE,
        ),
        [("group-starved", (3, 33))],
    ),
    "no record of a partition is ever delivered": (
        numbered(JOINS(1, 0), SENT, GIVEN, S(2, 0, **OTHER, **at(6)), MINUTE),
        [("group-starved", (3, 33))],
    ),
    "a record is not delivered within the limits of Kafka's defaults": (
        numbered(OF(1, "subscribe", 0), SENT, GIVEN, S(2, 1, **at(6)), ASKS(1, range(2, 400, 2))),
        [("group-starved", (3, 202))],
    ),
    "two members own a partition in one generation, and a third was fenced": (
        numbered(
            JOINS(1, 0),
            JOINS(2, 0),
            OWNS(1, 3, 0),
            OWNS(2, 4, 0),
            OF(3, "commit_offsets", 5, type="fail", error="FENCED_INSTANCE_ID", **PLACE, offset=1),
            SENT,
            GIVEN,
            MINUTE,
            ASKS(2, range(2, 62, 2)),
        ),
        [("assigned-twice", (1000301, 1000402))],
    ),
    "two members own a partition in one generation": (
        numbered(
            JOINS(1, 0),
            JOINS(2, 0),
            OWNS(1, 3, 0),
            OWNS(2, 4, 0),
            SENT,
            GIVEN,
            MINUTE,
            ASKS(2, range(2, 62, 2)),
        ),
        [("assigned-twice", (1000301, 1000402))],
    ),
}
