"""The log itself, as raw reads show it: every record with the header of its batch.

Each read operation is judged by itself. Two of them are not combined, since a log may be truncated
between them.
"""

from __future__ import annotations

import polars as pl

from linearizability.ingest import KEY
from linearizability.reads.inferred_log import PROVEN_POLL

READ = [*KEY, "op_id", "replica"]
OF_PRODUCER = [*READ, "producer_id"]

IS_RAW = PROVEN_POLL & pl.col("producer_id").is_not_null()
"""The condition on rows with the header of their batch, including control records."""
NUMBERS = ("producer_id", "producer_epoch", "sequence")
IS_NUMBERED = pl.all_horizontal(pl.col(NUMBERS).ge(0).fill_null(False))
"""The condition on records whose place in their producer's sequence is known. Sequences begin again
in each epoch, so they say nothing where the epoch is unknown."""


def raw_records(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records of raw reads, control records included, as they were read, each with the
    offset that was read before it in the same read (null for the first)."""
    return (
        events.filter(IS_RAW)
        .select(
            *READ,
            "offset",
            "control",
            "value",
            "producer_id",
            "producer_epoch",
            "sequence",
            "t_complete_ns",
        )
        .with_columns(before=pl.col("offset").shift(1).over(READ))
    )
