"""Every record that is read was sent to this partition, with the same content."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.history import PARTITION, Type
from linearizability.ingest import IS_DATA, IS_SEND, NO_TOPIC_ID
from linearizability.reads.contents import SENT_FIELDS, columns

READ, SENT, DIFFERS = "read ", "sent ", "differs "


class PhantomRecords(Checker):
    """A record was read that was never sent, or not to this partition, or whose send certainly
    failed; or its payload is not of the form that our clients write (Jepsen's checker throws an
    exception then). Or a record reads differently from every send of it: its checksum (key, value,
    headers), its key, whether it is a tombstone, or the timestamp that its client set (`contents`).

    Source: docs, design#replication; DefaultRecord (CRC over the batch). Counted: records read. A
    send without a topic id may have gone to any topic of that name.
    """

    name: ClassVar[str] = "phantom_records"
    title: ClassVar[str] = "every record read was sent to that partition with the same content"
    scope: ClassVar[Scope] = Scope.VALUE
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.READS})

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        read = (
            events.filter(IS_DATA)
            .group_by(*PARTITION, "offset", "value", *columns(SENT_FIELDS, READ))
            .agg(op=pl.col("op_id").min())
            .with_row_index("read_row")
        )
        sent = events.filter(IS_SEND).select(
            "value",
            *columns(SENT_FIELDS, SENT),
            sent_topic="topic",
            sent_id="topic_id",
            sent_partition="partition",
            send_op="op_id",
            refused=pl.col("type") == Type.FAIL.value,
        )
        no_id = (pl.col("topic_id") == NO_TOPIC_ID) | (pl.col("sent_id") == NO_TOPIC_ID)
        here = (
            (pl.col("sent_topic") == pl.col("topic"))
            & (pl.col("sent_partition") == pl.col("partition"))
            & ((pl.col("sent_id") == pl.col("topic_id")) | no_id)
        ).fill_null(False)
        accepted = pl.col("here") & ~pl.col("refused")
        matched = (
            read.join(sent, on="value", how="left")
            .with_columns(here=here, refused=pl.col("refused").fill_null(False))
            .with_columns(accepted=accepted)
            .group_by("read_row")
            .agg(
                pl.col(*PARTITION, "offset", "value", "op").first(),
                sent=pl.col("send_op").is_not_null().any(),
                sent_here=pl.col("here").any(),
                accepted_here=pl.col("accepted").any(),
                unaltered=(pl.col("accepted") & ~pl.any_horizontal(_differing().values())).any(),
                send_ops=pl.col("send_op"),
                **{
                    DIFFERS + name: (pl.col("accepted") & differs).any()
                    for name, differs in _differing().items()
                },
            )
            .filter(~pl.col("unaltered"))
        )
        return _described(matched)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(events.filter(IS_DATA))


def _differing() -> dict[str, pl.Expr]:
    """Return, for each of SENT_FIELDS, whether a read shows another value than a send; a null in
    either agrees with anything."""
    return {
        name: (pl.col(READ + name) != pl.col(SENT + name)).fill_null(False) for name in SENT_FIELDS
    }


def _described(matched: pl.LazyFrame) -> pl.LazyFrame:
    cases = [
        (pl.col("value").is_null(), "unreadable-record", "has a payload that no client wrote"),
        (~pl.col("sent"), "phantom-record", "was read, but was never sent"),
        (~pl.col("sent_here"), "wrong-partition", "was read, but was sent to another partition"),
        (pl.col("accepted_here"), "altered-record", "was read with a different "),
        (pl.lit(True), "refused-record", "was read, but sending it certainly failed"),
    ]
    kind, what = pl.lit(None, dtype=pl.String), pl.lit(None, dtype=pl.String)
    for condition, name, sentence in reversed(cases):
        kind = pl.when(condition).then(pl.lit(name)).otherwise(kind)
        what = pl.when(condition).then(pl.lit(sentence)).otherwise(what)
    subject = pl.format("record {}", "value").fill_null("the record")
    named = [pl.when(DIFFERS + name).then(pl.lit(name)) for name in SENT_FIELDS]
    told = pl.concat_str(named, separator=", ", ignore_nulls=True) + " than it was sent with"
    fields = pl.when(kind == "altered-record").then(told).otherwise(pl.lit(""))
    message = pl.format("{} at offset {} {}{}", subject, "offset", what, fields)
    return describe(matched, [*PARTITION, "value"], kind, ["op", "send_ops"], message)
