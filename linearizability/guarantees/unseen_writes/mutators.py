"""Ways to break `unseen_writes`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    if_still_durable,
    is_acked,
    log_starts,
    where_nothing_is_compacted,
    without_reads_of,
)
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import outcome_of


@where_nothing_is_compacted
def never_deliver(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: no poll delivered an acknowledged record, though a complete read covered
    it."""
    starts = log_starts(rows)
    reads = [
        row
        for row in rows
        if row["f"] == F.READ_ALL
        and row["type"] == "ok"
        and row.get("isolation") == "read_uncommitted"
    ]
    victims = [
        row
        for row in rows
        if is_acked(row)
        and outcome_of(row) in ("plain", "committed")
        and starts[row["partition"]] <= row["offset"]
        and any(
            read["partition"] == row["partition"]
            and row["offset"] < read["high_watermark"]
            and row["t_complete_ns"] < read["t_invoke_ns"]
            for read in reads
        )
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    return if_still_durable(without_reads_of(rows, victim), victim)


CLAUSES: Clauses = {
    "no poll delivered an acknowledged record by the end of the final read": by(
        "unseen-write", never_deliver
    )
}
