"""Ways to break `lost_writes`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    changed_row,
    data_rows,
    if_still_durable,
    is_acked,
    is_compacted,
    is_whole,
    log_starts,
    places_seen,
    where_nothing_is_compacted,
    without_reads_of,
)
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import outcome_of


@where_nothing_is_compacted
def lose_a_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: no reader received an acknowledged record, though one that read from the
    beginning went past it."""
    starts = log_starts(rows)
    reach: dict[int, int] = {}
    seen = places_seen(rows)
    for row in data_rows(rows):
        if row.get("group") is None and outcome_of(row) != "aborted":
            place = row["partition"]
            reach[place] = max(reach.get(place, -1), row["offset"])
    victims = [
        row
        for row in rows
        if is_acked(row)
        and outcome_of(row) in ("plain", "committed")
        and starts[row["partition"]] <= row["offset"] < reach.get(row["partition"], -1)
        and seen[row["partition"], row["value"]] <= {row["offset"]}
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    return if_still_durable(without_reads_of(rows, victim), victim)


def cut_the_tail(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete read ends before a record that some reader received earlier.
    Return None for a compacted topic."""
    if is_compacted(rows):
        return None
    starts, records = log_starts(rows), data_rows(rows)
    victims = [
        (row, whole)
        for whole in rows
        if is_whole(whole)
        for row in records
        if row["partition"] == whole["partition"]
        and row["t_complete_ns"] is not None
        and row["t_complete_ns"] < whole["t_invoke_ns"]
        and whole["log_start"] <= row["offset"] < whole["high_watermark"]
        and row["offset"] >= starts[row["partition"]]
    ]
    if not victims:
        return None
    victim, whole = rng.choice(victims)
    return _cut(rows, whole, victim["offset"])


def cut_what_was_acknowledged(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete read of the final phase ends before a record that had been
    acknowledged when it began. Return None for a compacted topic, or if the rest would not prove
    that the record counts."""
    if is_compacted(rows):
        return None
    starts = log_starts(rows)
    victims = [
        (row, whole)
        for whole in rows
        if is_whole(whole) and whole["final"]
        for row in rows
        if is_acked(row)
        and row["partition"] == whole["partition"]
        and row["t_complete_ns"] < whole["t_invoke_ns"]
        and whole["log_start"] <= row["offset"] < whole["high_watermark"]
        and row["offset"] >= starts[row["partition"]]
    ]
    rng.shuffle(victims)
    for victim, whole in victims:
        broken = _cut(rows, whole, victim["offset"])
        seen = any(row["value"] == victim["value"] for row in data_rows(broken))
        known = outcome_of(victim) in ("plain", "committed") and if_still_durable(broken, victim)
        if seen or known:
            return broken
    return None


def _cut(rows: list[Row], whole: Row, end: int) -> list[Row]:
    """Return the rows as if this read of a leader's log had ended at that offset."""
    kept = [
        row
        for row in rows
        if not (
            row["f"] == F.POLL
            and row.get("replica") is None
            and (row["op_id"], row.get("partition")) == (whole["op_id"], whole["partition"])
            and row["offset"] is not None
            and row["offset"] >= end
        )
    ]
    return [changed_row(row, whole, {"high_watermark": end}) for row in kept]


CLAUSES: Clauses = {
    "an acknowledged record is absent below the highest offset read": by(
        "lost-write", lose_a_record
    ),
    "a record that a reader received is absent from a later read of the whole log": by(
        "vanished-record", cut_the_tail
    ),
    "a record is absent from a final read that began after its acknowledgement": by(
        "vanished-record lost-write", cut_what_was_acknowledged
    ),
}
