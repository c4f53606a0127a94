"""The base of all checkers. Each checks one property by a kernel, a function over data frames that
hold all rows of a scope.

A kernel takes the events of *any number of whole scopes* (for example, all rows of some
partitions). So one call judges a small history, and Spark gives it one piece of a large one. It is
a pure function of the frame: the engines differ only in how they cut the history.

`events` has the columns of `history.SCHEMA` that `COLUMNS_READ` lists, and `place` (the partition's
number), `era` and `own_era` (`lost_polls`), `longest_ns` (`time_outs`), `outcome` and
`OF_TRANSACTION` (`ingest`); `topic_id` is never null. Rows are in the order of `op_id` and
`record_index`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import ClassVar

import polars as pl

from linearizability.evidence.removals import IS_TOPIC
from linearizability.history import F
from linearizability.ingest import (
    HAS_RECORD,
    IS_IDEMPOTENT,
    IS_OK,
    IS_SEND,
    READ_COMMITTED,
    WHOLE_READ,
)
from linearizability.reads.inferred_log import ACKNOWLEDGED

COLUMNS_READ = (
    "op_id",
    "record_index",
    "process",
    "session",
    "client",
    "node",
    "replica",
    "group",
    "member_id",
    "transactional_id",
    "txn",
    "isolation",
    "acks",
    "idempotent",
    "f",
    "type",
    "final",
    "topic",
    "topic_id",
    "partition",
    "offset",
    "batch_base_offset",
    "control",
    "key",
    "value",
    "tombstone",
    "checksum",
    "timestamp_ms",
    "timestamp_type",
    "asked",
    "asked_offset",
    "producer_id",
    "producer_epoch",
    "sequence",
    "leader_epoch",
    "t_invoke_ns",
    "t_complete_ns",
    "high_watermark",
    "last_stable_offset",
    "log_start",
    "size_bytes",
    "generation",
    "settings",
    "detail",
    "error",
)
"""The columns that kernels may read, and that are therefore sent to them."""


class Scope(Enum):
    """The part of a history that a property is about. The value is the columns that have equal
    values in all rows of one scope."""

    PARTITION = ("topic", "topic_id", "partition")
    VALUE = ("value",)
    TRANSACTION = ("txn",)
    """One transaction. Its rows are not events but evidence that the partitions give about
    transactions (`transaction_evidence`)."""
    READER = ("topic", "topic_id", "partition", "process", "group")
    """One reader of a partition. Its rows are evidence from partitions and polls about readers that
    waited (`waiting`)."""
    GROUP = ("group",)
    """One consumer group. Its rows are evidence from the whole history about duties that groups did
    not perform (`group_evidence`)."""
    PRODUCER = ("producer_id",)
    """One producer id. Its rows are evidence from logs and coordinators about producers' epochs
    (`fencing_evidence`)."""
    RUN = ()
    """The whole run. Its rows are evidence from the partitions: which transaction read from which,
    and how transactions ended (`cycles.evidence`)."""

    @property
    def columns(self) -> list[str]:
        return list(self.value)

    @property
    def rows(self) -> pl.Expr:
        """The condition on rows of a history that belong to a scope of this kind, or that its
        judgement needs."""
        if self is Scope.VALUE:
            return IS_SEND | HAS_RECORD
        if self in (Scope.RUN, Scope.READER, Scope.GROUP, Scope.PRODUCER):
            return pl.lit(True)
        return pl.col("topic").is_not_null()


class Cut(Enum):
    """A column by which the rows of one partition can be split, for a rule that never compares rows
    with different values in it. So a partition too large for one executor is judged in pieces
    (`engine/cuts.py`)."""

    VALUE = "value"
    OFFSET = "offset"
    PROCESS = "process"
    GROUP = "group"
    OPERATION = "op_id"

    @property
    def rows(self) -> pl.Expr:
        """The condition on the rows that a rule with this cut may read."""
        return _ROWS_CUT[self]


_ROWS_CUT: Mapping[Cut, pl.Expr] = {
    Cut.VALUE: IS_SEND | HAS_RECORD,
    Cut.OFFSET: (IS_SEND | HAS_RECORD) & pl.col("offset").is_not_null(),
    Cut.PROCESS: HAS_RECORD,
    Cut.GROUP: pl.col("group").is_not_null(),
    Cut.OPERATION: IS_SEND | (HAS_RECORD & pl.col("producer_id").is_not_null()),
}


class Needs(Enum):
    """The kinds of rows that a history must contain for a checker to be applicable."""

    SENDS = "records sent"
    ACKED_SENDS = "sends acknowledged under acks=all with an offset"
    IDEMPOTENT_SENDS = "sends of idempotent producers"
    SEQUENCES = "sends of idempotent producers, or records with their sequences"
    TRANSACTIONS = "records or offsets sent in transactions, or their markers"
    READS = "records read, or a partition read whole"
    COMMITTED_READS = "records read under read_committed"
    READS_IN_TRANSACTIONS = "records read under read_committed inside a transaction"
    INPUTS = "records read inside a transaction"
    GROUP_READS = "records read by subscribed members of a group"
    READERS = "partitions assigned to readers, or read by them"
    WHOLE_READS = "a partition read whole"
    BATCH_HEADERS = "records read raw, with the headers of their batches"
    COMMITTED_OFFSETS = "offsets that members of a group commit or fetch"
    LEADER_ANSWERS = "high watermarks that leaders reported, with their epochs"
    REPLICA_READS = "replicas read whole"
    KEYS = "records with keys, of topics that may be compacted"
    TOPIC_SETTINGS = "settings of topics, or answers to DeleteRecords"

    @property
    def rows(self) -> pl.Expr:
        return _ROWS_NEEDED[self]


IS_UNSTABLE = (pl.col("f") == F.FETCH_OFFSETS.value) & (
    pl.col("error") == "UNSTABLE_OFFSET_COMMIT"
).fill_null(False)
"""The condition on an OffsetFetch answer saying that a transaction may still change the offset."""
IS_LEADER_ANSWER = (
    pl.col("topic").is_not_null()
    & pl.col("f").is_in([F.POLL.value, F.READ_ALL.value])
    & pl.col("offset").is_null()
    & pl.col("replica").is_null()
    & pl.col("high_watermark").is_not_null()
    & (pl.col("leader_epoch") >= 0)
)
"""The condition on a row with a leader's answer about its partition. (Rows of records have the
epoch of their batch, which need not be the leader's.)"""

_ROWS_NEEDED: Mapping[Needs, pl.Expr] = {
    Needs.SENDS: IS_SEND,
    Needs.ACKED_SENDS: ACKNOWLEDGED,
    Needs.IDEMPOTENT_SENDS: IS_SEND & IS_IDEMPOTENT,
    Needs.SEQUENCES: (IS_SEND & IS_IDEMPOTENT) | (HAS_RECORD & (pl.col("sequence") >= 0)),
    Needs.TRANSACTIONS: (
        pl.col("f").is_in([F.SEND.value, F.SEND_OFFSETS.value]) & pl.col("txn").is_not_null()
    )
    | (HAS_RECORD & pl.col("control").is_not_null()),
    Needs.READS: HAS_RECORD | (pl.col("f") == F.READ_ALL.value),
    Needs.COMMITTED_READS: HAS_RECORD & (pl.col("isolation") == READ_COMMITTED),
    Needs.READS_IN_TRANSACTIONS: HAS_RECORD
    & (pl.col("isolation") == READ_COMMITTED)
    & pl.col("txn").is_not_null(),
    Needs.INPUTS: HAS_RECORD & pl.col("txn").is_not_null(),
    Needs.GROUP_READS: HAS_RECORD
    & pl.col("group").is_not_null()
    & pl.col("member_id").is_not_null(),
    Needs.READERS: HAS_RECORD | pl.col("f").is_in([F.ASSIGN.value, F.POSITION.value]),
    Needs.WHOLE_READS: WHOLE_READ,
    Needs.BATCH_HEADERS: HAS_RECORD & pl.col("producer_id").is_not_null(),
    Needs.COMMITTED_OFFSETS: pl.col("topic").is_not_null()
    & (
        (IS_OK & (pl.col("f") == F.FETCH_OFFSETS.value))
        | IS_UNSTABLE
        | (
            (IS_OK & (pl.col("f") == F.COMMIT_OFFSETS.value))
            & (pl.col("generation") >= 0).fill_null(False)
        )
    ),
    Needs.LEADER_ANSWERS: IS_LEADER_ANSWER,
    Needs.REPLICA_READS: WHOLE_READ & pl.col("replica").is_not_null(),
    Needs.KEYS: IS_SEND & pl.col("key").is_not_null(),
    Needs.TOPIC_SETTINGS: IS_TOPIC | (pl.col("f") == F.DELETE_RECORDS.value),
}


NOTHING_EXCUSED = pl.LazyFrame({"checked": [0]}, schema={"checked": pl.Int64})


class Checker(ABC):
    """One property. The docstring of a subclass says when the property is broken, and names its
    source."""

    name: ClassVar[str]
    title: ClassVar[str]
    scope: ClassVar[Scope]
    needs: ClassVar[frozenset[Needs]]
    """The kinds of rows that the rule needs: if one is missing, the rule can find nothing. A need
    too many would hide anomalies."""
    counted_under: ClassVar[frozenset[Needs]] = frozenset()
    """The needs without which nothing is counted, so that `checked` is not called."""
    cut: ClassVar[Cut | None] = None
    """The way in which large partitions may be cut, for Scope.PARTITION, or None if they may not. A
    rule with a cut must not read `outcome`, which no piece contains."""
    whole: ClassVar[str] = ""
    """For a rule that cannot be cut: a few words on the fact that needs a whole partition."""
    excuse: ClassVar[str] = ""
    """A few words on why the rule leaves out the checks that `excused` counts."""

    @abstractmethod
    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        """Return one row per anomaly, in the form that `describe` makes."""

    @abstractmethod
    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        """Return one row with one column, `checked`: the number of checks made (the class's
        docstring says what counts as one)."""

    def excused(self, events: pl.LazyFrame) -> pl.LazyFrame:
        """Return one row with one column, `checked`: the number of further checks that were left
        out because of `excuse`. It is 0 unless a subclass overrides this."""
        return NOTHING_EXCUSED


OFF_MS = "off_ms"


def describe(
    found: pl.LazyFrame,
    where: list[str],
    kind: str | pl.Expr,
    operations: list[str],
    message: pl.Expr,
    blame: str | pl.Expr | None = None,
) -> pl.LazyFrame:
    """Return one row per anomaly: kind, op_ids, message, blame, off_ms, and the columns in `where`.

    operations: the columns (Int64, or lists of it) with the op_ids that prove the anomaly. where:
    the columns that name the place; if it has OFF_MS, that column of `found` (by how many
    milliseconds a broker's clock must have been wrong) is kept, else off_ms is null. blame: null
    for None.
    """
    kind = pl.lit(kind) if isinstance(kind, str) else kind
    if not isinstance(blame, pl.Expr):
        blame = pl.lit(blame, dtype=pl.String)
    op_ids = pl.concat_list(operations).list.drop_nulls().list.unique().list.sort()
    off_ms = pl.col(OFF_MS) if OFF_MS in where else pl.lit(None)
    return found.select(
        *(name for name in where if name != OFF_MS),
        kind=kind,
        op_ids=op_ids.cast(pl.List(pl.Int64)),
        message=message,
        blame=blame,
        off_ms=off_ms.cast(pl.Int64),
    )


def count(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row with one column, `checked`: the number of these rows."""
    return rows.select(checked=pl.len().cast(pl.Int64))
