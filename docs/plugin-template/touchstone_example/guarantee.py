"""A guarantee: what must hold of every history, whoever recorded it."""

import polars as pl
from touchstone.kit import Checker, Needs, Scope, count, describe

KEY = ["topic", "topic_id", "partition"]


class TimestampsRise(Checker):
    """In a partition whose broker stamps records (LogAppendTime), no record has a time before that
    of a record at a lower offset. Counted: the records read of such partitions."""

    name = "timestamps_rise"
    title = "the broker's timestamps rise with the offsets of a partition"
    scope = Scope.PARTITION
    needs = frozenset({Needs.READS})
    whole = "the record before"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        """Return one row for each anomaly."""
        earlier = [pl.col(name).shift(1).over(KEY).alias(f"{name}_before") for name in STEP]
        steps = _stamped(events).sort(*KEY, "offset").with_columns(earlier)
        wrong = steps.filter(pl.col("timestamp_ms") < pl.col("timestamp_ms_before"))
        message = pl.format(
            "offset {} has the timestamp {}, and offset {} before it has {}",
            *("offset", "timestamp_ms", "offset_before", "timestamp_ms_before"),
        )
        return describe(wrong, KEY, "falling-timestamp", ["op_id_before", "op_id"], message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        """Return the number of compared records."""
        return count(_stamped(events))


STEP = ("offset", "timestamp_ms", "op_id")


def _stamped(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that a broker stamped, each offset once."""
    stamped = events.filter(pl.col("offset").is_not_null() & (pl.col("timestamp_type") == "append"))
    return stamped.unique([*KEY, "offset"], keep="first", maintain_order=True)
