"""A record's timestamp is of the type that its topic's setting names, and append times do not go
back."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import OFF_MS, Checker, Needs, Scope, count, describe
from linearizability.evidence.removals import IS_TOPIC, setting
from linearizability.ingest import IS_SEND, KEY
from linearizability.reads.contents import CREATED
from linearizability.reads.inferred_log import PROVEN_POLL

SETTING = "message.timestamp.type"
APPENDED = "append"
TYPES = {"CreateTime": CREATED, "LogAppendTime": APPENDED}
"""The value of message.timestamp.type -> the value of the column `timestamp_type`."""
SLACK_MS = 100
"""The milliseconds by which an append time may be lower than an earlier one. A broker takes the
time from the system's clock, which time services correct: small errors (below 128 ms with ntpd) by
a slower or faster clock, which never goes back, and larger ones by a step. Virtual machines correct
a few milliseconds by a step, too."""
EPOCH = [*KEY, "leader_epoch"]


class TimestampTypes(Checker):
    """Readers were given records with a timestamp of the other type than message.timestamp.type
    says: the sender's own although the broker must set the time when it appends, or the broker's
    although it must keep the sender's. Or a record has a lower append time than one at a lower
    offset in the same leader epoch, by more than SLACK_MS.

    Types: only partitions whose topic rows all name the same type are judged: when the setting
    changes, a record keeps the type under which it was appended. Append times: the leader takes the
    time while it holds the log's lock, so times are in the order of offsets unless its clock was
    set back. The next epoch may have another leader, whose clock may be behind. Only records that
    were sent count: a fault that moved clocks after the first of the sends is an excuse
    (`clocks.py`). Markers are left out: the coordinator, not a producer, sets their timestamps.
    Source: KIP-32; docs, topicconfigs (message.timestamp.type); LogValidator; UnifiedLog.append.
    Counted: records that were read together with their timestamp's type, and records with append
    times after another of their epoch.
    """

    name: ClassVar[str] = "timestamp_types"
    title: ClassVar[str] = (
        "a record's timestamp has the configured type, and append times do not go back"
    )
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.READS})
    counted_under: ClassVar[frozenset[Needs]] = needs
    whole: ClassVar[str] = "the settings of the topic, and the append time before each"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return pl.concat([_of_other_types(events), _gone_back(events)])

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        is_later = pl.col("offset").rank("ordinal").over(EPOCH) > 1
        numbers = [
            judged(events).select("op_id"),
            appended(events).filter(is_later).select("op_id"),
        ]
        return count(pl.concat(numbers))


def _of_other_types(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return an anomaly for each partition with timestamps of the type that its topic's setting
    does not name."""
    found = (
        judged(events)
        .filter(pl.col("timestamp_type") != pl.col("wanted"))
        .sort("offset", "op_id")
        .group_by(*KEY, "topic_op", "told", maintain_order=True)
        .agg(pl.col("offset", "op_id").first(), records=pl.struct("offset", "value").n_unique())
    )
    message = pl.format(
        "message.timestamp.type is {}, but {} records, the first at offset {}, have "
        "a timestamp of the other type",
        "told",
        "records",
        "offset",
    )
    operations = ["topic_op", "op_id"]
    return describe(found, KEY, "wrong-timestamp-type", operations, message, "broker")


def judged(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records read with the type of their timestamps, and the type that the topic's
    setting demands (wanted), in partitions whose topic rows all name the same type."""
    told = (
        events.filter(IS_TOPIC)
        .with_columns(told=setting(SETTING))
        .group_by(KEY)
        .agg(
            told=pl.col("told").first(),
            is_one=~pl.col("told").has_nulls() & (pl.col("told").n_unique() == 1),
            topic_op=pl.col("op_id").min(),
        )
        .filter("is_one")
        .with_columns(
            wanted=pl.col("told").replace_strict(TYPES, default=None, return_dtype=pl.String)
        )
        .filter(pl.col("wanted").is_not_null())
    )
    is_told = pl.col("control").is_null() & pl.col("timestamp_type").is_not_null()
    return (
        events.filter(PROVEN_POLL & is_told)
        .select(*KEY, "offset", "value", "op_id", "timestamp_type")
        .join(told, on=KEY)
    )


def _gone_back(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return an anomaly for each partition and leader epoch whose append times go back by more than
    SLACK_MS: the longest step back, with the sends of its two records."""
    columns = ("offset", "timestamp_ms", "op_id", "send_op")
    times = appended(events)
    worst = (
        times.with_columns(
            highest_ms=pl.col("timestamp_ms").cum_max().over(EPOCH, order_by="offset")
        )
        .with_columns(back_ms=pl.col("highest_ms") - pl.col("timestamp_ms"))
        .filter(pl.col("back_ms") > SLACK_MS)
        .sort("back_ms", "offset", descending=[True, False])
        .unique(EPOCH, keep="first", maintain_order=True)
    )
    earlier = times.sort("offset").unique([*EPOCH, "timestamp_ms"], keep="first")
    found = worst.join(
        earlier.select(*EPOCH, *(pl.col(name).alias(f"earlier_{name}") for name in columns)),
        left_on=[*EPOCH, "highest_ms"],
        right_on=[*EPOCH, "earlier_timestamp_ms"],
    ).with_columns((pl.col("back_ms") - SLACK_MS).alias(OFF_MS))
    message = pl.format(
        "the record at offset {} was appended {} ms before the one at offset {}, according to "
        "their append times ({} and {}), though both are of leader epoch {}",
        "offset",
        "back_ms",
        "earlier_offset",
        "timestamp_ms",
        "highest_ms",
        "leader_epoch",
    )
    operations = ["op_id", "send_op", "earlier_op_id", "earlier_send_op"]
    return describe(found, [*KEY, OFF_MS], "append-time-goes-back", operations, message, "broker")


def appended(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records read that have an append time and a leader epoch, one row for each epoch
    and offset (the first that shows it), with the first operation that sent it (send_op). Leave out
    values that nobody sent to the partition."""
    is_stamped = (pl.col("timestamp_type") == APPENDED) & pl.col("timestamp_ms").is_not_null()
    is_led = (pl.col("leader_epoch") >= 0) & pl.col("control").is_null()
    sent = events.filter(IS_SEND).group_by(*KEY, "value").agg(send_op=pl.col("op_id").min())
    return (
        events.filter(PROVEN_POLL & is_stamped & is_led)
        .select(*EPOCH, "offset", "value", "timestamp_ms", "op_id", "record_index")
        .sort("op_id", "record_index")
        .unique([*EPOCH, "offset"], keep="first", maintain_order=True)
        .join(sent, on=[*KEY, "value"])
        .drop("value", "record_index")
    )
