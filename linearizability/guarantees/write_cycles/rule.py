"""Transactions that read each other's records can be put in an order of commits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope
from linearizability.cycles.evidence import END, GIVEN, READ
from linearizability.cycles.graph import NEVER, Graph, shortest_cycles
from linearizability.plans import collect

PAIR = ["txn", "reader"]
FOUND: dict[str, Any] = {
    "topic": pl.String,
    "topic_id": pl.String,
    "partition": pl.Int32,
    "kind": pl.String,
    "op_ids": pl.List(pl.Int64),
    "message": pl.String,
    "blame": pl.String,
    "off_ms": pl.Int64,
}


class WriteCycles(Checker):
    """The order in which transactions committed has a cycle, by reads, or by reads and real time. A
    transaction that received a record of another one, under read_committed and before it requested
    its own commit, was committed later than that one. So was a transaction whose commit was
    requested after the other's commit was acknowledged. In a cycle, each transaction would be
    committed later than itself. `read-cycle` is one by reads alone, `read-cycle-realtime` needs
    real time; the shortest cycle of each strongly connected set of transactions is reported.
    Records written between two records of another transaction make no dependency: a correct Kafka
    does not isolate writes. Source: KIP-98, "Transactional Guarantees"; Adya's G1c. Jepsen: G1c,
    G1c-realtime. Counted: records that a transaction received from another one."""

    name: ClassVar[str] = "write_cycles"
    title: ClassVar[str] = "transactions that read each other can be put into one order of commits"
    scope: ClassVar[Scope] = Scope.RUN
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.TRANSACTIONS, Needs.READS_IN_TRANSACTIONS})

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        reads = collect(_pairs(events))
        if reads.is_empty():
            return pl.LazyFrame(schema=FOUND)
        txns = pl.concat([reads["txn"], reads["reader"]]).unique().sort()
        ends = collect(
            txns.to_frame("txn")
            .lazy()
            .join(events.filter(kind=END), on="txn", how="left", maintain_order="left")
            .select("op_id", "later_op", pl.col("asked_ns", "done_ns").fill_null(NEVER))
        )
        graph = Graph(
            np.searchsorted(txns.to_numpy(), reads["txn"].to_numpy()),
            np.searchsorted(txns.to_numpy(), reads["reader"].to_numpy()),
            ends["asked_ns"].to_numpy(),
            ends["done_ns"].to_numpy(),
        )
        cycles = shortest_cycles(graph)
        names = txns.to_list()
        told = [[names[number] for number in cycle] for cycle in cycles]
        return pl.LazyFrame(_rows(told, reads, ends.insert_column(0, txns.rename("txn"))), FOUND)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return events.filter(kind=GIVEN).select(checked=pl.col("value").sum())


def _pairs(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each pair of transactions, writer (txn) and reader, once, with the first record that
    the reader received from the writer, in the order of partitions and offsets."""
    reads = events.filter(kind=READ)
    record = ["topic", "topic_id", "partition", "offset", "value", "op_id", "later_op"]
    return reads.sort(*PAIR, *record).unique(PAIR, keep="first", maintain_order=True)


def _rows(
    cycles: Sequence[list[int]], reads: pl.DataFrame, ends: pl.DataFrame
) -> list[dict[str, Any]]:
    """Return a row for each cycle, a list of transaction ids. reads and ends must cover its
    members."""
    members = pl.Series([txn for cycle in cycles for txn in cycle], dtype=pl.Int64).unique()
    few = reads.filter(pl.col("txn").is_in(members.implode()))
    read_of = {(row["txn"], row["reader"]): row for row in few.iter_rows(named=True)}
    few = ends.filter(pl.col("txn").is_in(members.implode()))
    end_of = {row["txn"]: row for row in few.iter_rows(named=True)}
    return [_row(cycle, read_of, end_of) for cycle in cycles]


def _row(
    cycle: list[int],
    read_of: dict[tuple[int, int], dict[str, Any]],
    end_of: dict[int, dict[str, Any]],
) -> dict[str, Any]:
    steps = list(pairwise([*cycle, cycle[0]]))
    op_ids: set[int] = set()
    words = []
    for first, second in steps:
        read = read_of.get((first, second))
        if read is not None:
            op_ids |= {read["op_id"], read["later_op"]}
            words.append(
                f"transaction {second} read record {read['value']} of transaction {first} "
                f"({read['topic']}-{read['partition']}, offset {read['offset']})"
            )
        else:
            op_ids |= {end_of[first]["later_op"], end_of[second]["op_id"]}
            words.append(
                f"transaction {first} was committed before transaction {second} asked to commit"
            )
    shown = [read_of[step] for step in steps if step in read_of]
    kind = "read-cycle" if len(shown) == len(steps) else "read-cycle-realtime"
    place = {column: shown[0][column] for column in ("topic", "topic_id", "partition")}
    message = "transactions form a cycle: " + ", ".join(words) + "; no order of commits allows it"
    return place | {
        "kind": kind,
        "op_ids": sorted(op_ids),
        "message": message,
        "blame": "broker",
        "off_ms": None,
    }
