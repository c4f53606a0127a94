"""Excuse records that a client sent again, as new ones, because a broker had stopped meanwhile.

A producer snapshot holds only the last batch of each producer (ProducerSnapshot.json). A broker
that is killed after it has closed a segment therefore no longer knows the earlier ones of up to
five batches in flight. It refuses their retries with OUT_OF_ORDER_SEQUENCE_NUMBER, and the producer
raises its epoch and sends them again (TransactionManager.canRetry, KIP-360), so they are stored
twice. Apache Kafka 4.3.1 does the same: of five batches resent after a kill it refused four, knew
the fifth, and then accepted a copy in the next epoch. This excuses a copy in another epoch of a
record whose sender was waiting for its acknowledgement when a node was stopped, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from linearizability.bounds import NEVER
from linearizability.excuses.faults import faults_of, name_of
from linearizability.excuses.overdue import left_out
from linearizability.history import F
from linearizability.plans import collect
from linearizability.verdict import CheckerVerdict

STOPPING = frozenset(
    {"kill", "shutdown", "powerloss", "tornwrites", "lostnames", "bitflip", "diskdead"}
    | {"diskreadonly", "failedsync", "failedwrite"}
)
"""Faults after which a node starts again and restores its producers' state from snapshots."""
REASON = "the producer sent these records again, in a new epoch, after a fault had stopped a node"


def excused(opinions: Iterable[CheckerVerdict], history: pl.LazyFrame) -> list[CheckerVerdict]:
    """Return the opinions without the duplicates, blamed on clients, that the stop of a node
    explains, and without the anomalies of delivery_semantics about the same records. See
    `overdue.left_out` for an opinion with no other anomaly."""
    found = list(opinions)
    suspects = {
        op
        for opinion in found
        if opinion.name == "duplicates"
        for anomaly in opinion.anomalies
        if anomaly.blame == "client"
        for op in anomaly.operations
    }
    sends = _sent_again(history, suspects) if suspects else set()
    if not sends:
        return found
    return [_without(opinion, sends) for opinion in found]


def _without(opinion: CheckerVerdict, sends: set[int]) -> CheckerVerdict:
    kinds = {"duplicates": "duplicate", "delivery_semantics": "delivered-twice"}
    met = [
        anomaly
        for anomaly in opinion.anomalies
        if kinds.get(opinion.name) == anomaly.kind
        and anomaly.blame != "broker"
        and sends & set(anomaly.operations)
    ]
    return left_out(opinion, met, REASON) if met else opinion


def _sent_again(history: pl.LazyFrame, suspects: set[int]) -> set[int]:
    """Return the operations among `suspects` that sent a record which a client sent again as a new
    one: a node was stopped during the send, and no two copies of the record have the same epoch."""
    place = ["topic", "partition", "value"]
    is_suspect = (pl.col("f") == F.SEND.value) & pl.col("op_id").is_in(list(suspects))
    sends = history.filter(is_suspect).select(
        *place, "op_id", "t_invoke_ns", done_ns=pl.col("t_complete_ns").fill_null(NEVER)
    )
    numbered = pl.col("offset").is_not_null() & (pl.col("producer_epoch") >= 0)
    copies = (
        history.filter((pl.col("f") == F.POLL.value) & numbered)
        .join(sends.select(place), on=place, how="semi")
        .group_by(place)
        .agg(offsets=pl.col("offset").n_unique(), epochs=pl.col("producer_epoch").n_unique())
        .filter((pl.col("offsets") > 1) & (pl.col("offsets") == pl.col("epochs")))
    )
    stops = [
        at_ns
        for at_ns, _, detail in collect(faults_of(history)).iter_rows()
        if name_of(detail).lower().replace("-", "") in STOPPING
    ]
    waiting = collect(sends.join(copies, on=place, how="semi"))
    return {
        op_id
        for op_id, begun_ns, done_ns in waiting.select("op_id", "t_invoke_ns", "done_ns").rows()
        if any(begun_ns <= at_ns <= done_ns for at_ns in stops)
    }
