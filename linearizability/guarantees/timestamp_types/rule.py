"""A record's timestamp is of the type that its topic's setting names."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.evidence.removals import IS_TOPIC, setting
from linearizability.ingest import KEY
from linearizability.reads.contents import CREATED
from linearizability.reads.inferred_log import PROVEN_POLL

SETTING = "message.timestamp.type"
APPENDED = "append"
TYPES = {"CreateTime": CREATED, "LogAppendTime": APPENDED}
"""The value of message.timestamp.type -> the value of the column `timestamp_type`."""


class TimestampTypes(Checker):
    """Readers were given records with a timestamp of the other type than message.timestamp.type
    says: the sender's own although the broker must set the time when it appends, or the broker's
    although it must keep the sender's.

    Only partitions whose topic rows all name the same type are judged: when the setting changes, a
    record keeps the type under which it was appended. Markers are left out: the coordinator, not a
    producer, sets their timestamps. Source: KIP-32; docs, topicconfigs (message.timestamp.type);
    LogValidator. Counted: records that were read together with their timestamp's type.
    """

    name: ClassVar[str] = "timestamp_types"
    title: ClassVar[str] = "a record's timestamp has the type that message.timestamp.type names"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.READS, Needs.TOPIC_SETTINGS})
    counted_under: ClassVar[frozenset[Needs]] = needs
    whole: ClassVar[str] = "the settings of the topic"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
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

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(judged(events))


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
