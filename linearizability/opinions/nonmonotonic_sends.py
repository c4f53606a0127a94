"""Find sends of one process that are in the wrong order in the log: Jepsen's nonmonotonic-send.

Our own rules judge the order of any two sends (`append_order`), which Jepsen allows as G0-realtime;
but Jepsen reports a send of a process to a partition whose offset is at or below that of the last
record which an earlier operation of the same process sent there. An assignment without the
partition, or a subscription, ends the comparison (kafka.clj, nonmonotonic-send). Only records whose
offset an acknowledgement or a poll shows are considered.
"""

from __future__ import annotations

import polars as pl

from linearizability.history import F, Type
from linearizability.ingest import IS_DATA, IS_OK, IS_SEND
from linearizability.reads.inferred_log import PROVEN_POLL
from linearizability.verdict import Anomaly, CheckerVerdict, Validity

NAME = "nonmonotonic_sends"
KIND = "nonmonotonic-send"
MAX_TOLD = 100
PLACE = ["topic", "partition"]
OF_PROCESS = [*PLACE, "process"]


def nonmonotonic_sends(history: pl.LazyFrame) -> CheckerVerdict:
    """Return the opinion on a whole history, with MAX_TOLD anomalies at most. It is NOT_APPLICABLE
    if no process sent to a partition twice. Its `checked` is the number of operations that follow
    an earlier one."""
    pairs = _without_resets(_pairs(history).collect(), history)
    if pairs.is_empty():
        why = "no process sent to a partition twice"
        return CheckerVerdict(NAME, Validity.NOT_APPLICABLE, 0, reason=why)
    found = pairs.filter(pl.col("first") <= pl.col("last_before")).sort("op_id", *PLACE)
    anomalies = tuple(
        Anomaly(
            KIND,
            (row["op_before"], row["op_id"]),
            f"{row['topic']}-{row['partition']}: process {row['process']} sent a record to offset "
            f"{row['first']}, after one at offset {row['last_before']}",
            {column: row[column] for column in OF_PROCESS},
        )
        for row in found.head(MAX_TOLD).iter_rows(named=True)
    )
    validity = Validity.INVALID if anomalies else Validity.VALID
    reason = "Jepsen: nonmonotonic-send" if anomalies else None
    return CheckerVerdict(NAME, validity, len(pairs), anomalies, len(found), reason)


def _pairs(history: pl.LazyFrame) -> pl.LazyFrame:
    """Return each operation of a process that sent to a partition, with the one before it there:
    first, the offset of its first record; last_before, that of the other's last."""
    seen = (
        history.filter(PROVEN_POLL & IS_DATA & pl.col("value").is_not_null())
        .group_by(*PLACE, "value")
        .agg(seen=pl.col("offset").min(), places=pl.col("offset").n_unique())
        .filter(pl.col("places") == 1)
        .drop("places")
    )
    told = pl.when(IS_OK).then("offset")
    return (
        history.filter(IS_SEND & (pl.col("type") != Type.FAIL.value))
        .join(seen, on=[*PLACE, "value"], how="left")
        .with_columns(offset=pl.coalesce(told, "seen"))
        .filter(pl.col("offset").is_not_null())
        .sort("op_id", "record_index")
        .group_by(*OF_PROCESS, "op_id", maintain_order=True)
        .agg(first=pl.col("offset").first(), last=pl.col("offset").last())
        .with_columns(
            last_before=pl.col("last").shift(1).over(OF_PROCESS),
            op_before=pl.col("op_id").shift(1).over(OF_PROCESS),
        )
        .filter(pl.col("op_before").is_not_null())
    )


def _without_resets(pairs: pl.DataFrame, history: pl.LazyFrame) -> pl.DataFrame:
    """Return the pairs between which the process neither subscribed nor got an assignment that
    lacks their partition."""
    is_reset = pl.col("f").is_in([F.ASSIGN.value, F.SUBSCRIBE.value]) & (
        pl.col("type") != Type.FAIL.value
    )
    resets = history.filter(is_reset).select(*OF_PROCESS, "f", reset_op="op_id").collect()
    if resets.is_empty():
        return pairs
    between = (
        pairs.select(*OF_PROCESS, "op_id", "op_before")
        .join(resets.select("process", "reset_op").unique(), on="process")
        .filter((pl.col("reset_op") > pl.col("op_before")) & (pl.col("reset_op") < pl.col("op_id")))
    )
    keeps = resets.filter(f=F.ASSIGN.value).select(*OF_PROCESS, "reset_op")
    ended = between.join(keeps, on=[*OF_PROCESS, "reset_op"], how="anti")
    return pairs.join(ended, on=[*OF_PROCESS, "op_id"], how="anti")
