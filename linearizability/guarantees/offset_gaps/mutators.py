"""Ways to break `offset_gaps`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    log_starts,
    neighbours,
    raw_records,
    where_nothing_is_compacted,
)
from linearizability.self_test.model.world import Row


@where_nothing_is_compacted
def leave_a_hole(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: from some record on, everything in a partition has an offset that is one
    higher."""
    starts = log_starts(rows)
    pairs = [
        (a, b) for a, b in neighbours(raw_records(rows)) if a["offset"] >= starts[a["partition"]]
    ]
    if not pairs:
        return None
    _, victim = rng.choice(pairs)
    moved = []
    for row in rows:
        here = row.get("partition") == victim["partition"]
        changes = {
            column: row[column] + 1
            for column in ("offset", "high_watermark")
            if here and row.get(column) is not None and row[column] >= victim["offset"]
        }
        moved.append(row | changes)
    return moved


@where_nothing_is_compacted
def end_a_read_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete raw read, of the leader or a follower, lacks its last records,
    though its high watermark stays the same."""
    starts = log_starts(rows)
    victims = [
        (row, end)
        for end in rows
        if end["f"] == F.READ_ALL and end["type"] == "ok" and end.get("client") == "raw"
        for row in rows
        if _is_of(row, end)
        and starts[row["partition"]] < row["offset"] < end["high_watermark"]
        and end["log_start"] < row["offset"]
    ]
    if not victims:
        return None
    victim, end = rng.choice(victims)
    return [row for row in rows if not _is_of(row, end) or row["offset"] < victim["offset"]]


@where_nothing_is_compacted
def begin_a_read_late(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete raw read of a leader lacks its first records, though it names
    the same log start."""
    starts = log_starts(rows)
    victims = [
        (row, end)
        for end in rows
        if end["f"] == F.READ_ALL and end["type"] == "ok" and end.get("client") == "raw"
        if end.get("replica") is None
        for row in rows
        if _is_of(row, end) and row["offset"] > max(starts[row["partition"]], end["log_start"])
    ]
    if not victims:
        return None
    victim, end = rng.choice(victims)
    return [row for row in rows if not _is_of(row, end) or row["offset"] >= victim["offset"]]


def _is_of(row: Row, end: Row) -> bool:
    """Return whether the row shows a record of the same read as the row `end`."""
    same = ("op_id", "partition", "replica")
    return row.get("offset") is not None and all(row.get(c) == end.get(c) for c in same)


CLAUSES: Clauses = {
    "a raw read shows a gap without compaction": by("offset-gap", leave_a_hole),
    "a complete raw read of a leader lacks the first records from its log start on": by(
        "offset-gap", begin_a_read_late
    ),
    "a complete raw read lacks the last records below its high watermark": by(
        "offset-gap", end_a_read_early
    ),
}
