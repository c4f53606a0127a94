"""Functions with short names that make rows, so that a hand-written history can be read at a
glance.

    [S(1, 0), S(2, 1), P(1, 0), P(2, 1)]     value 1 acknowledged at offset 0, …, polled at 0, …
"""

from __future__ import annotations

from typing import Any

from linearizability.engine import local
from linearizability.history import F, frame
from linearizability.verdict import CheckerVerdict

Row = dict[str, Any]
Valid = dict[str, list[Row]]
"""Title -> a history in which the checker must find nothing."""
Invalid = dict[str, tuple[list[Row], list[tuple[str, tuple[int, ...]]]]]
"""Title -> (a broken history, the kinds and operations of the anomalies that the checker must
find)."""
PLACE: Row = {"topic": "t", "partition": 0}


def S(value: int | None, offset: int | None = None, **more: Any) -> Row:
    """Return a send with acks=all by an idempotent producer: acknowledged if an offset is given,
    else of unknown outcome. Here and below, `more` overrides columns."""
    outcome = "ok" if offset is not None else "info"
    own = {"f": F.SEND.value, "value": value, "offset": offset, "acks": -1, "idempotent": True}
    return PLACE | own | {"type": outcome} | more


def P(value: int | None, offset: int | None, **more: Any) -> Row:
    """Return a record that process 1 received under read_committed. With offset None, it received
    none."""
    own = {"f": F.POLL.value, "value": value, "offset": offset, "process": 1}
    return PLACE | own | {"isolation": "read_committed"} | more


def RAW(value: int | None, offset: int, **more: Any) -> Row:
    """Return a record of a raw read by process 9: all these rows belong to one operation 1000,
    producer id 7, epoch 0. Sequence and record_index are the offset."""
    own = {
        "op_id": 1000,
        "process": 9,
        "client": "raw",
        "isolation": "read_uncommitted",
        "producer_id": 7,
        "producer_epoch": 0,
        "sequence": offset,
        "record_index": offset,
    }
    return P(value, offset) | own | more


def END(f: str, txn: int, **more: Any) -> Row:
    """Return the end of a transaction: commit or abort."""
    return {"f": f, "txn": txn} | more


def WHOLE(high_watermark: int | None, **more: Any) -> Row:
    """Return the row that ends a whole raw read of the partition by process 9, with this high
    watermark (None: it is not told)."""
    own = {"f": F.READ_ALL.value, "log_start": 0, "high_watermark": high_watermark, "process": 9}
    return PLACE | own | {"isolation": "read_uncommitted", "client": "raw"} | more


def SAYS(high_watermark: int, **more: Any) -> Row:
    """Return the answer of the leader of epoch 0 to a raw client, with its high watermark and no
    record. `more` may add the last stable offset."""
    own = {"f": F.POLL.value, "high_watermark": high_watermark, "leader_epoch": 0, "client": "raw"}
    return PLACE | own | more


def COMMITS(offset: int | None, **more: Any) -> Row:
    """Return a commit of group g; with None, the deletion of its committed offset."""
    return PLACE | {"f": F.COMMIT_OFFSETS.value, "group": "g", "offset": offset} | more


def ASKS(offset: int | None, **more: Any) -> Row:
    """Return the answer of OffsetFetch for group g in the final phase."""
    own = {"f": F.FETCH_OFFSETS.value, "group": "g", "offset": offset, "final": True}
    return PLACE | own | more


def SENDS_OFFSET(offset: int, **more: Any) -> Row:
    """Return a row that sends group g's offset in transaction 1."""
    own = {"f": F.SEND_OFFSETS.value, "group": "g", "txn": 1, "offset": offset}
    return PLACE | own | more


def LOG(*values: int | None, replica: int | None = None, **more: Any) -> list[Row]:
    """Return the rows of a final raw read (operation 1000) that shows a whole log: these values at
    offsets 0, 1 and so on (None leaves an offset empty). replica: the follower that is read, if it
    is not the leader."""
    own = {"final": True, "replica": replica, "high_watermark": len(values)} | more
    records = [RAW(v, n, **own) for n, v in enumerate(values) if v is not None]
    return [*records, WHOLE(None) | {"op_id": 1000, "record_index": 99} | own]


def TOPIC(settings: str = "{}", **more: Any) -> Row:
    """Return the topic's settings, at second 0 of both clocks."""
    own = {"f": F.TOPIC.value, "settings": settings, "timestamp_ms": 0, "t_invoke_ns": 0}
    return PLACE | own | {"t_complete_ns": 0} | more


def BEGINS(offset: int | None, **more: Any) -> Row:
    """Return the position row of process 1, which seeks in the partition to this offset."""
    return PLACE | {"f": F.POSITION.value, "offset": offset, "asked": "offset", "process": 1} | more


def LOOK_UP(offset: int | None, wanted_ms: int, **more: Any) -> Row:
    """Return a look-up by process 1 of the first record at or after a time; the answer is this
    offset, or nothing (None)."""
    return BEGINS(offset, asked="timestamp", asked_offset=wanted_ms, **more)


def DELETES(offset: int | None, **more: Any) -> Row:
    """Return a DeleteRecords of all records below this offset; with None, of all records."""
    return PLACE | {"f": F.DELETE_RECORDS.value, "offset": offset} | more


def judged(name: str, rows: list[Row]) -> CheckerVerdict:
    """Return one checker's opinion on the history."""
    (opinion,) = local.run(frame(rows).lazy(), [name])
    return opinion


RC, RU = {"isolation": "read_committed"}, {"isolation": "read_uncommitted"}
TXN = {"txn": 1}
COMMIT, ABORT, UNKNOWN = END("commit", 1), END("abort", 1), END("commit", 1, type="info")
"""The ends of transaction 1."""
MEMBER = {"group": "g", "member_id": "m"}
OWNS: Row = {"f": F.OWNED.value, "process": 1} | PLACE | MEMBER
"""A row in which member m reports that it owns the partition."""
JOINS: Row = {"f": F.SUBSCRIBE.value, "process": 3, "group": "g", "member_id": "x"}
LOST: Row = {"f": F.POLL.value, "process": 3, "group": "g", "member_id": "x", "type": "info"}
"""A poll of unknown result and partition, by the member that joins in JOINS."""
K: Row = {"key": "k"}
NIL: Row = {"key": "k", "tombstone": True}
HOUR_NS = 3_600_000_000_000
SECOND_NS = 1_000_000_000
LATE: Row = {"t_invoke_ns": HOUR_NS, "t_complete_ns": HOUR_NS}
NEWER = {"producer_epoch": 1}
LED = {"leader_epoch": 0}
MARKER = LED | {"control": "abort", "sequence": -1}
MUCH_LATER = {"t_invoke_ns": 61 * 10**9, "t_complete_ns": 61 * 10**9}


def SEEK(offset: int) -> Row:
    """Return the position row of a member that seeks to this offset."""
    return BEGINS(offset, **MEMBER)


AT_5: Row = {"timestamp_ms": 5, "timestamp_type": "create"}
BY_BROKER: Row = {"timestamp_ms": 9, "timestamp_type": "append"}


def at(second: int) -> Row:
    """Return the time columns of an operation that is invoked and answered in this second."""
    return {"t_invoke_ns": second * 1_000_000_000, "t_complete_ns": second * 1_000_000_000 + 1}


def FAULT(name: str, **more: object) -> Row:
    return {"f": "nemesis", "process": -1, "detail": f'{{"fault": "{name}"}}'} | more


THERE = {"partition": 1}
