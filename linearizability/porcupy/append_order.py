"""append_order: a record sent after another was acknowledged gets a higher offset. A kernel over
the events of any number of partitions.

The rule (guarantees.md): if the send of A was acknowledged (acks=all) before the send of B was
invoked, then A's offset is lower than B's; no two acknowledgements name one offset. The same
follows from reads: a record that a poll has delivered was in the log by then, and so were all below
it.

It does the work of `fast_log.py` for many partitions at once, with the facts that a Kafka history
contains. It gives no false alarm, for these reasons:

- An acknowledged record was appended between invocation and acknowledgement, also if it was retried
  (a retry's answer names the first copy's offset, or the copy that this answer is about).
- A record of unknown outcome, or without an offset, or a second copy, was appended some time after
  its invocation: if it was read, and its value was sent only once, it counts, without an end (also
  an acknowledged one without an offset: what was read may be a copy that arrived later).
- acks 0 and 1 prove nothing: a leader without followers answers, and its log is cut later.
- A poll proves only that its records were there. It never proves that there were no more: a fetch
  returns what is below the high watermark, and may return less.
- Only the order of offsets counts, not their distance: control records, aborted transactions and
  compaction leave holes.
"""

from __future__ import annotations

import polars as pl

from linearizability.history import PARTITION, F, Type
from linearizability.ingest import KEY, PLACE
from linearizability.plans import collect, once
from linearizability.porcupy.operations import NEVER

ANOMALY_COLUMNS = (*KEY, "kind", "op_ids", "message")
_NEVER = pl.lit(NEVER, dtype=pl.Int64)
_NEEDED = (
    *PARTITION,
    "f",
    "type",
    "op_id",
    "record_index",
    "process",
    "acks",
    "offset",
    "control",
    "value",
    "replica",
    "high_watermark",
    "t_invoke_ns",
    "t_complete_ns",
)


def of_partitions(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the sends and polls of partitions, with the number of their partition (`place`).

    A topic's id, which a producer does not learn and a raw read does, is filled in where the topic
    had only one (in a resolved history it is already: `ingest`).
    """
    relevant = pl.col("f").is_in([F.SEND.value, F.POLL.value]), pl.col("partition").is_not_null()
    if PLACE in events.collect_schema():
        return events.select(*_NEEDED, PLACE).filter(*relevant)
    only_id = pl.col("topic_id").drop_nulls().unique()
    known = pl.when(only_id.len() == 1).then(only_id.first())
    filled = (
        events.select(_NEEDED)
        .filter(*relevant)
        .with_columns(pl.col("topic_id").fill_null(known.over("topic")))
    )
    numbered = partitions(filled).with_row_index(PLACE)
    return filled.join(numbered, on=PARTITION, nulls_equal=True, maintain_order="left")


def partitions(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return topic, topic_id, partition of each partition, in order."""
    return events.select(PARTITION).unique().sort(PARTITION, nulls_last=False)


def reads(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that readers received: key, offset, value, op_id, process, lo, hi. A raw
    read of one replica counts only below its high watermark, because records above may be
    truncated."""
    settled = pl.col("replica").is_null() | (pl.col("offset") < pl.col("high_watermark"))
    return events.filter(
        pl.col("f") == F.POLL.value,
        pl.col("offset").is_not_null(),
        pl.col("control").is_null(),
        settled.fill_null(False),
    ).select(*KEY, "offset", "value", "op_id", "process", lo="t_invoke_ns", hi=_completed())


def first_given(read: pl.LazyFrame) -> pl.LazyFrame:
    """Return key, offset, value, hi for each delivered record; hi: when the first poll that
    delivered it had ended."""
    return read.group_by(*KEY, "offset", "value").agg(pl.min("hi"))


def appends(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the appends with known offsets: key, offset, value, op_id, record_index, process, lo,
    hi and acked. The record entered the log at some time in [lo, hi]; hi is NEVER if only a poll,
    and no acknowledgement, shows its offset (acked is false)."""
    sends = events.filter(pl.col("f") == F.SEND.value)
    durable = sends.filter(
        pl.col("acks") == -1, pl.col("type").is_in([Type.OK.value, Type.INFO.value])
    )
    is_acked = (pl.col("type") == Type.OK.value) & pl.col("offset").is_not_null()
    columns = [*KEY, "offset", "value", "op_id", "record_index", "process", "lo", "hi", "acked"]
    acked = durable.filter(is_acked).with_columns(
        lo="t_invoke_ns", hi=_completed(), acked=pl.lit(True)
    )
    sent_once = sends.group_by(*KEY, "value").len().filter(pl.col("len") == 1)
    places = first_given(reads(events)).select(*KEY, "value", seen="offset").drop_nulls("value")
    pinned = (
        durable.join(sent_once, on=[*KEY, "value"], how="semi", nulls_equal=True)
        .join(places, on=[*KEY, "value"], nulls_equal=True)
        .filter((is_acked & (pl.col("offset") == pl.col("seen"))).not_())
        .with_columns(lo="t_invoke_ns", hi=_NEVER, acked=pl.lit(False), offset="seen")
    )
    return pl.concat([acked.select(columns), pinned.select(columns)])


def checked(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the number of judged appends, those with a known place (one row, one column)."""
    return once(_placed, events).lazy().select(pl.len())


def _placed(events: pl.LazyFrame) -> pl.DataFrame:
    return collect(appends(of_partitions(events)))


def append_order_anomalies(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row per record whose offset is too low, and per offset acknowledged twice:
    ANOMALY_COLUMNS. kinds: `append-order` (op_ids: the late record's send, the send of the first
    record that was acknowledged with a higher offset); `read-before-append` (a poll had already
    received something at or above its offset; op_ids: the send, the poll); `same-offset` (op_ids:
    all sends acknowledged there)."""
    return anomalies_with_offsets(events).select(ANOMALY_COLUMNS)


def anomalies_with_offsets(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows of append_order_anomalies with one more column, `offset`, the offset of each
    anomaly. They are sorted by partition and offset."""
    placed, read = once(_placed, events).lazy(), reads(of_partitions(events))
    too_late = pl.col("lo") > pl.min_horizontal("ack_above", "read_from")
    late = collect(
        placed.join(_evidence(placed, read), on=[*KEY, "offset"], nulls_equal=True).filter(too_late)
    )
    found = [_same_offset(placed)]
    if late.height:  # rare; finding the proofs costs more than all the rest
        found += _proven(late.lazy(), placed, read)
    columns = [*ANOMALY_COLUMNS, "offset"]
    return pl.concat([rows.select(columns) for rows in found]).sort(
        *KEY, "offset", "kind", "op_ids", nulls_last=True
    )


def _proven(late: pl.LazyFrame, placed: pl.LazyFrame, read: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Return two tables of anomalies, with a message and the operation that proves each: late
    records sent after a higher offset had been acknowledged, and late records sent after a poll had
    received their offset or a higher one."""
    acked = placed.filter("acked").select(*KEY, "offset", "value", "op_id", "hi")
    behind_ack = _with_witness(
        late.filter(pl.col("lo") > pl.col("ack_above")), acked, "ack_above", strictly=True
    ).with_columns(
        kind=pl.lit("append-order"),
        message=pl.format(
            "value {} was sent after value {} had been acknowledged at offset {}, "
            "yet is stored before it, at offset {}",
            _shown("value"),
            _shown("value_witness"),
            "offset_witness",
            "offset",
        ),
    )
    before_send = _with_witness(
        late.filter(pl.col("lo") > pl.col("read_from"), pl.col("lo") <= pl.col("ack_above")),
        read,
        "read_from",
        strictly=False,
    ).with_columns(
        kind=pl.lit("read-before-append"),
        message=pl.format(
            "value {} is stored at offset {}, but before it was sent a poll had received offset {}",
            _shown("value"),
            "offset",
            "offset_witness",
        ),
    )
    return [behind_ack, before_send]


def _completed() -> pl.Expr:
    return pl.col("t_complete_ns").fill_null(NEVER)


def _shown(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String).fill_null("(unknown)")


def _evidence(placed: pl.LazyFrame, read: pl.LazyFrame) -> pl.LazyFrame:
    """Return, for each offset, when the log was first proven to be longer: by an acknowledgement of
    a higher offset (`ack_above`), or by a poll of this offset or a higher one (`read_from`)."""
    never = pl.lit(None, dtype=pl.Int64)
    acked = placed.select(*KEY, "offset", ack=pl.when("acked").then("hi"), read=never.alias("read"))
    polled = first_given(read).select(*KEY, "offset", ack=never, read="hi")
    by_offset = pl.concat([acked, polled]).group_by(*KEY, "offset").agg(pl.min("ack", "read"))
    ack, given = pl.col("ack").fill_null(NEVER), pl.col("read").fill_null(NEVER)
    return by_offset.sort(*KEY, "offset").select(
        *KEY,
        "offset",
        ack_above=ack.cum_min(reverse=True).shift(-1).fill_null(NEVER).over(KEY),
        read_from=given.cum_min(reverse=True).over(KEY),
    )


def _with_witness(
    late: pl.LazyFrame, proofs: pl.LazyFrame, bound: str, *, strictly: bool
) -> pl.LazyFrame:
    """Return the late records, each with the operation (offset_witness, value_witness,
    op_id_witness) that had ended at the time in column `bound`, before the record was sent, and
    proves an offset above the record's (or its own offset, unless strictly)."""
    witnesses = proofs.select(
        *KEY,
        pl.col("hi").alias(bound),
        offset_witness="offset",
        value_witness="value",
        op_id_witness="op_id",
    )
    above = (
        pl.col("offset_witness") > pl.col("offset")
        if strictly
        else pl.col("offset_witness") >= pl.col("offset")
    )
    return (
        late.join(witnesses, on=[*KEY, bound], nulls_equal=True)
        .filter(above)
        .sort("offset_witness", "op_id_witness")
        .group_by(*KEY, "offset", "op_id", "record_index")
        .agg(pl.first("value", "offset_witness", "value_witness", "op_id_witness"))
        .with_columns(op_ids=pl.concat_list("op_id", "op_id_witness"))
    )


def _same_offset(placed: pl.LazyFrame) -> pl.LazyFrame:
    acked, place = placed.filter("acked"), [*KEY, "offset"]
    twice = acked.group_by(place).len().filter(pl.col("len") > 1)
    return (
        acked.join(twice, on=place, nulls_equal=True)
        .group_by(place)
        .agg(pl.len(), op_ids=pl.col("op_id").unique().sort(), values=pl.col("value").sort())
        .with_columns(
            kind=pl.lit("same-offset"),
            message=pl.format(
                "offset {} was acknowledged to {} records (values {})",
                "offset",
                "len",
                pl.col("values").cast(pl.List(pl.String)).list.join(", "),
            ),
        )
    )
