"""Look-ups in a history's rows for mutators, and the small changes that they share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import wraps
from itertools import pairwise
from random import Random

from linearizability.bounds import is_given
from linearizability.history import F
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import ends_told

NOT_OURS = 999_999
"""A number that no operation, process or value of a model history reaches."""


def data_rows(rows: list[Row]) -> list[Row]:
    """Return the records that consumers received, and those that leaders showed in raw reads."""
    return [row for row in rows if _is_data(row) and row.get("replica") is None]


def _is_data(row: Row) -> bool:
    return row["f"] == F.POLL and row.get("offset") is not None and not row.get("control")


def is_compacted(rows: list[Row]) -> bool:
    return any(
        row.get("key") is not None or "compact" in (row.get("settings") or "") for row in rows
    )


def where_nothing_is_compacted(
    mutate: Callable[[list[Row], Random], list[Row] | None],
) -> Callable[[list[Row], Random], list[Row] | None]:
    """Return the mutator, changed to return None for histories of compacted topics, where a missing
    record is no anomaly."""

    @wraps(mutate)
    def mutate_there(rows: list[Row], rng: Random) -> list[Row] | None:
        return None if is_compacted(rows) else mutate(rows, rng)

    return mutate_there


def is_acked(row: Row) -> bool:
    return (
        row["f"] == F.SEND
        and row["type"] == "ok"
        and row["acks"] == -1
        and row["offset"] is not None
    )


def places_seen(rows: list[Row]) -> Mapping[tuple[int, int | None], set[int]]:
    """Return (partition, value) -> the offsets at which it was read, also from followers; an empty
    set for a value that was not read."""
    seen: dict[tuple[int, int | None], set[int]] = defaultdict(set)
    for row in filter(_is_data, rows):
        seen[row["partition"], row["value"]].add(row["offset"])
    return seen


def without_reads_of(rows: list[Row], send: Row) -> list[Row]:
    """Return the rows without any read of the record, from leaders or followers."""
    gone = (send["partition"], send["value"])
    return [row for row in rows if not _is_data(row) or (row["partition"], row["value"]) != gone]


def if_still_durable(rows: list[Row], send: Row) -> list[Row] | None:
    """Return the rows, or None if they no longer prove how the send's transaction ended. A plain
    send needs no proof."""
    is_told = send["txn"] is None or send["txn"] in ends_told(rows)
    return rows if is_told else None


def with_places_changed(rows: list[Row], first: Row, second: Row) -> list[Row]:
    """Return the history with the offsets of two records swapped, for senders and readers alike."""
    places = {first["value"]: second["offset"], second["value"]: first["offset"]}
    return [
        row | {"offset": places[row["value"]]}
        if row.get("value") in places and row.get("offset") is not None
        else row
        for row in rows
    ]


def sent_once(rows: list[Row]) -> dict[int, Row]:
    sends: dict[int, list[Row]] = {}
    for row in rows:
        if row["f"] == F.SEND:
            sends.setdefault(row["value"], []).append(row)
    return {value: found[0] for value, found in sends.items() if len(found) == 1}


def log_starts(rows: list[Row]) -> Mapping[int, int]:
    """Return partition -> its highest known log start, or 0 if unknown."""
    starts: dict[int, int] = defaultdict(int)
    for row in rows:
        if row.get("partition") is not None and row.get("log_start") is not None:
            starts[row["partition"]] = max(starts[row["partition"]], row["log_start"])
    return starts


def above_log_starts(rows: list[Row], among: list[Row]) -> list[Row]:
    """Return those of the rows `among` that are above the highest known log start of their
    partition, or whose partition's log still begins at 0."""
    starts = log_starts(rows)
    return [row for row in among if not 0 < starts[row["partition"]] >= row["offset"]]


def log_end_of(rows: list[Row], partition: int) -> int:
    """Return an offset at or above the end of a partition's log, as far as the rows tell: 0 if they
    tell nothing of it."""
    known: list[int] = [
        row[column]
        for row in rows
        if row.get("partition") == partition
        for column in ("offset", "high_watermark")
        if row.get(column) is not None
    ]
    return max(known, default=-1) + 1


def another_read(read: Row, **changes: object) -> Row:
    """Return a row in which a reader that reads nothing else receives the same record. It is
    operation and process NOT_OURS in group `late`, unless `changes` say otherwise."""
    own = {"op_id": NOT_OURS, "process": NOT_OURS, "session": 0, "group": "late"}
    return {**read, "record_index": 0, **own, **changes}


def changed_row(row: Row, victim: Row, changes: Row) -> Row:
    return row | changes if row is victim else row


def stands_before(row: Row, other: Row) -> bool:
    return bool(row["partition"] == other["partition"] and row["offset"] < other["offset"])


def sessions(rows: list[Row]) -> list[list[Row]]:
    """Return the records that readers received, one list for each session and partition. Skip
    failed polls: their records are delivered again."""
    sessions: dict[tuple[object, ...], list[Row]] = {}
    for row in data_rows(rows):
        if row["type"] == "fail":
            continue
        key = (row["process"], row["session"], row["partition"])
        sessions.setdefault(key, []).append(row)
    return list(sessions.values())


def consecutive(rows: list[Row]) -> list[tuple[Row, Row]]:
    return [pair for s in sessions(rows) for pair in pairwise(s)]


def between_others(rows: list[Row]) -> list[Row]:
    """Return the records that a reader received between two others."""
    return [row for session in sessions(rows) for row in session[1:-1]]


def leader_knew(rows: list[Row], first: Row, second: Row) -> bool:
    """Return whether the leader certainly had an earlier record of the producer that sent both: an
    earlier send of the process was acknowledged, none failed or has an unknown outcome, and a raw
    read that shows their producer id shows it at a lower offset, too."""
    values = {first["value"], second["value"]}
    here = [row for row in rows if row.get("partition") == first["partition"]]
    earlier = [
        row
        for row in here
        if row["f"] == F.SEND
        and row["op_id"] < first["op_id"]
        and row["process"] == first["process"]
    ]
    if not any(map(is_acked, earlier)) or any(row["type"] != "ok" for row in earlier):
        return False
    raw = [row for row in here if row["f"] == F.POLL and is_given(row.get("producer_id"))]
    ids = {row["producer_id"] for row in raw if row["value"] in values}
    lowest = min(first["offset"], second["offset"])
    return not ids or any(row["offset"] < lowest and row["producer_id"] in ids for row in raw)


KNOWN = ("plain", "committed")


SECOND_NS = 1_000_000_000


PAST_ITS_TIME_NS = 80 * SECOND_NS
"""A time in nanoseconds that is later than the model's transaction.timeout.ms (a minute), the
coordinator's interval and some patience."""


def only_committed(rows: list[Row]) -> dict[int, int]:
    """Return transaction -> the time at which its commit was first requested, for transactions
    whose commit was acknowledged and whose abort was never requested."""
    commits = [row for row in rows if row["f"] == F.COMMIT]
    aborted = {row["txn"] for row in rows if row["f"] == F.ABORT}
    told = {row["txn"] for row in commits if row["type"] == "ok"} - aborted
    return {
        txn: min(row["t_invoke_ns"] for row in commits if row["txn"] == txn) for txn in sorted(told)
    }


def raw_records(rows: list[Row]) -> list[Row]:
    """Return the records that leaders showed raw, in the order of reading."""
    return [
        row
        for row in rows
        if row["f"] == F.POLL
        and row.get("producer_id") is not None
        and row.get("offset") is not None
        and row.get("replica") is None
    ]


def commit_markers(rows: list[Row]) -> dict[int, Row]:
    """Return value -> the COMMIT marker that a raw read shows for it."""
    found: dict[int, Row] = {}
    waiting: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    raw = [
        row
        for row in rows
        if row["f"] == F.POLL and is_given(row.get("producer_id")) and row.get("offset") is not None
    ]
    for row in sorted(raw, key=lambda r: (r["op_id"], r["partition"], r["offset"])):
        of_producer = (row["op_id"], row["partition"], row["producer_id"])
        if not row.get("control"):
            waiting[of_producer].append(row["value"])
            continue
        for value in waiting.pop(of_producer, []):
            if row["control"] == "commit":
                found[value] = row
    return found


def neighbours(records: list[Row]) -> list[tuple[Row, Row]]:
    """Return (a, b) for each record b that follows a record a of the same partition and read.
    records must be in the order of reading."""
    return [
        (a, b)
        for a, b in pairwise(records)
        if (a["op_id"], a["partition"]) == (b["op_id"], b["partition"])
    ]


def neighbours_of_producers(rows: list[Row]) -> list[tuple[Row, Row]]:
    """Return (a, b) for each record or marker b that follows a record or marker a of the same
    producer id in the same partition and read."""
    records = [row for row in raw_records(rows) if row["producer_id"] >= 0]
    records.sort(key=lambda r: (r["op_id"], r["partition"], r["producer_id"]))
    return [(a, b) for a, b in neighbours(records) if a["producer_id"] == b["producer_id"]]


TEN_MINUTES_MS = 600_000
"""A time in milliseconds that is longer than any history of the model."""


def is_whole(row: Row) -> bool:
    """Return whether the row ends a raw read of a leader's whole log."""
    return (
        row["f"] == F.READ_ALL
        and row["type"] == "ok"
        and row.get("client") == "raw"
        and row.get("replica") is None
        and row.get("isolation") == "read_uncommitted"
    )


def leaders_answer(rows: list[Row], place: Row, log_start: int, number: int = 0) -> Row:
    """Return the row of an answer by the leader of the place's epoch, after the end of all other
    operations: its log start, and a high watermark above every offset. number: to tell several such
    answers apart, the later ones higher."""
    at_ns = over_ns(rows) + 1 + 2 * number
    return {
        "f": F.POLL.value,
        "type": "ok",
        "op_id": NOT_OURS - 1 + number,
        "process": NOT_OURS,
        "session": 0,
        "record_index": 0,
        "topic": place["topic"],
        "topic_id": place["topic_id"],
        "partition": place["partition"],
        "leader_epoch": place["leader_epoch"],
        "final": True,
        "log_start": log_start,
        "high_watermark": NOT_OURS,
        "t_invoke_ns": at_ns,
        "t_complete_ns": at_ns,
    }


def over_ns(rows: list[Row]) -> int:
    """Return the time at which all operations had ended."""
    times: list[int] = [row["t_complete_ns"] or row["t_invoke_ns"] for row in rows]
    return max(times)


def with_contents(rows: list[Row]) -> list[Row]:
    return [row for row in data_rows(rows) if row.get("checksum") is not None]


def nothing_of(row: Row) -> Row:
    """Return the row of a successful poll that received nothing, made from the row of a received
    record."""
    told = ("topic", "topic_id", "partition", "offset", "value")
    kept = {column: value for column, value in row.items() if column not in told}
    return kept | {"type": "ok", "t_complete_ns": row["t_complete_ns"] or row["t_invoke_ns"]}


COMMITTED = "read_committed"
