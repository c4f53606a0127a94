"""Find cycles of writes alone (Adya's G0). They are reported only with Jepsen's rules, and are
never an error. In a partition, a transaction precedes the one that wrote the next record. If two
transactions precede each other, in two partitions or by alternating records, no order of commits
agrees with all logs. A correct Kafka may have such cycles, since it does not isolate writes
(KIP-98, "Transactional Guarantees"). So Jepsen allows them, and our own rules do not search for
them. The shortest cycle of each strongly connected set of transactions is reported. Only
transactions whose commit was acknowledged count, with the records whose offsets are known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from linearizability.cycles.graph import NEVER, Graph, components, shortest_cycle
from linearizability.history import PARTITION, F
from linearizability.ingest import IS_OK
from linearizability.reads.inferred_log import ACKNOWLEDGED
from linearizability.verdict import Anomaly, CheckerVerdict, Validity

NAME = "write_cycles (writes alone)"
KIND = "write-cycle"
REASON = "reported only (Jepsen: G0, allowed): Kafka does not isolate writes"
MAX_TOLD = 100


def write_cycles(history: pl.LazyFrame) -> CheckerVerdict:
    """Return an opinion, VALID or NOT_APPLICABLE, with the cycles of writes in a whole history,
    MAX_TOLD of them at most. Its `checked` is the number of records that follow one of another
    transaction."""
    following = _following(history).collect()
    if following.is_empty():
        why = "no partition with records of two transactions"
        return CheckerVerdict(NAME, Validity.NOT_APPLICABLE, 0, reason=why)
    pairs = following.unique(["txn_before", "txn"], keep="first", maintain_order=True)
    txns = pl.concat([pairs["txn_before"], pairs["txn"].rename("txn_before")]).unique().sort()
    never = np.full(len(txns), NEVER, np.int64)
    names = txns.to_numpy()
    graph = Graph(
        np.searchsorted(names, pairs["txn_before"].to_numpy()),
        np.searchsorted(names, pairs["txn"].to_numpy()),
        never,
        never,
    )
    found = [shortest_cycle(graph, c) for c in components(graph, real_time=False)]
    told = [[txns[number] for number in cycle] for cycle in found[:MAX_TOLD]]
    members = {txn for cycle in told for txn in cycle}
    few = pairs.filter(pl.col("txn_before").is_in(members), pl.col("txn").is_in(members))
    rows = {(row["txn_before"], row["txn"]): row for row in few.iter_rows(named=True)}
    anomalies = tuple(_anomaly(cycle, rows) for cycle in told)
    reason = REASON if found else None
    return CheckerVerdict(NAME, Validity.VALID, len(following), anomalies, len(found), reason)


def _following(history: pl.LazyFrame) -> pl.LazyFrame:
    """Return each acknowledged record of a committed transaction whose predecessor in the
    partition, among such records, is of another transaction, together with that one (columns
    `…_before`)."""
    record = ["txn", "value", "offset", "op_id"]
    committed = history.filter((pl.col("f") == F.COMMIT.value) & IS_OK).select("txn").unique()
    return (
        history.filter(ACKNOWLEDGED & pl.col("txn").is_not_null())
        .select(*PARTITION, *record)
        .join(committed, on="txn", how="semi")
        .sort(*PARTITION, "offset", "op_id")
        .with_columns(pl.col(record).shift(1).over(PARTITION).name.suffix("_before"))
        .filter(pl.col("txn") != pl.col("txn_before"))
    )


def _anomaly(cycle: Sequence[int], rows: dict[tuple[int, int], dict[str, Any]]) -> Anomaly:
    steps = [rows[step] for step in pairwise([*cycle, cycle[0]])]
    words = [
        f"record {s['value']} of transaction {s['txn']} comes after record {s['value_before']} of"
        f" transaction {s['txn_before']} "
        f"({s['topic']}-{s['partition']}, offset {s['offset']})"
        for s in steps
    ]
    operations = sorted({s[column] for s in steps for column in ("op_id_before", "op_id")})
    scope = {column: steps[0][column] for column in PARTITION if steps[0][column] is not None}
    message = "transactions precede each other in a circle: " + ", ".join(words)
    return Anomaly(KIND, tuple(operations), message, scope)
