"""Find the requests of transactions whose producer had a successor: another process's
InitProducerId of their transactional id, requested after the producer's own had returned. When it
returns, the coordinator has ended the transaction and fenced its producer.

Part of `fencing_evidence`. Unlike its epochs, this needs neither raw reads nor producer ids.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import polars as pl

from linearizability.evidence.removals import ALLOWS_UNCLEAN
from linearizability.history import PARTITION, F, Type
from linearizability.ingest import (
    IS_DATA,
    IS_OK,
    IS_SEND,
    KEY,
    NO_TOPIC_ID,
    READS_COMMITTED,
    markers_of_records,
)
from linearizability.plans import collect

SENT, EFFECTIVE = "sent", "effective"
SUCCEEDED, RESUMED, OUTLIVED = "succeeded", "resumed", "outlived"
OFFSETS, ENDED = "offsets", "ended"
REQUEST = ("txn", *PARTITION, "offset", "asked_ns", "asked_op")
OK = Type.OK.value


class Turn(NamedTuple):
    """A Begin or InitProducerId with a transactional id. Its fields are the columns that are read,
    in their order."""

    f: str
    type: str
    op_id: int
    txn: int | None
    transactional_id: str
    process: int
    t_invoke_ns: int
    t_complete_ns: int | None


class Successor(NamedTuple):
    """The successor of a transaction's producer. known_ns, known_op: when and by which operation
    its InitProducerId had returned. asked_ns: when the transaction's own process asked for its next
    epoch, or None. Requests in between come from a fenced producer."""

    txn: int
    known_ns: int
    known_op: int
    asked_ns: int | None


SUCCESSORS = dict.fromkeys(Successor._fields, pl.Int64)


def sent(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the send of each transaction and partition that was invoked last among those that were
    acknowledged, or whose value was sent once and is in the log, since a read shows it: key, txn,
    offset, asked_ns and asked_op."""
    read = events.filter(IS_DATA).select(*KEY, "value", is_read=pl.lit(True)).unique()
    is_accepted = (IS_OK & (pl.col("acks") == -1)) | (
        pl.col("is_read").fill_null(False) & (pl.col("sends") == 1)
    )
    return (
        events.filter(IS_SEND)
        .with_columns(sends=pl.len().over(*KEY, "value"))
        .filter(pl.col("txn").is_not_null())
        .join(read, on=[*KEY, "value"], how="left")
        .filter(is_accepted)
        .sort("t_invoke_ns", "op_id", "offset")
        .group_by(*KEY, "txn")
        .agg(
            pl.col("offset").last(),
            asked_ns=pl.col("t_invoke_ns").last(),
            asked_op=pl.col("op_id").last(),
        )
        .with_columns(kind=pl.lit(SENT))
    )


def effective(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the first request to commit each transaction of which no end was acknowledged, though
    it took effect: a read_committed reader received a record whose value was sent once, or a raw
    read shows the marker after it. Columns: key, txn, asked_ns and asked_op."""
    own = (
        events.filter(IS_SEND & pl.col("value").is_not_null())
        .with_columns(sends=pl.len().over(*KEY, "value"))
        .filter((pl.col("sends") == 1) & pl.col("end_op").is_null())
        .filter(pl.col("txn").is_not_null() & pl.col("commit_op").is_not_null())
        .select(*KEY, "value", "txn", asked_ns="commit_asked_ns", asked_op="commit_op")
    )
    given = events.filter(IS_DATA & IS_OK & READS_COMMITTED)
    given_ns = pl.coalesce("t_complete_ns", "t_invoke_ns")
    delivered = own.join(given.select(*KEY, "value", given_ns=given_ns), on=[*KEY, "value"])
    marked = markers_of_records(events).filter(pl.col("marker") == "commit")
    committed = own.join(marked.select(*KEY, "value"), on=[*KEY, "value"])
    columns = [*KEY, "txn", "asked_ns", "asked_op"]
    found = [
        delivered.filter(pl.col("asked_ns") < pl.col("given_ns")).select(columns),
        committed.select(columns),
    ]
    return pl.concat(found).unique().with_columns(kind=pl.lit(EFFECTIVE))


def resumed(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return txn of the transactions of which an end had an unknown or failed outcome. A client may
    then answer the next end itself, without a request."""
    is_end = pl.col("f").is_in([F.COMMIT.value, F.ABORT.value])
    ended = events.filter(is_end & ~IS_OK & pl.col("txn").is_not_null())
    return ended.select("txn", kind=pl.lit(RESUMED)).unique()


def succeeded(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return a row (SUCCESSORS) for each transaction whose producer had a successor. Return none if
    any topic allows unclean elections, after which a coordinator may have forgotten the newer
    producer, and a leader its markers."""
    is_turn = pl.col("f").is_in([F.BEGIN.value, F.INIT_PRODUCER.value])
    rows = events.filter(is_turn & pl.col("transactional_id").is_not_null()).select(
        pl.col("f").cast(pl.String), pl.col("type").cast(pl.String), *Turn._fields[2:]
    )
    told = collect(rows.sort("t_invoke_ns", "op_id"))
    if collect(events.filter(ALLOWS_UNCLEAN).select(pl.len())).item():
        told = told.clear()
    found = pl.LazyFrame(
        list(_successors([Turn(*row) for row in told.iter_rows()])), schema=SUCCESSORS, orient="row"
    )
    return found.with_columns(kind=pl.lit(SUCCEEDED))


def _successors(turns: list[Turn]) -> Iterator[Successor]:
    """Yield, for each transaction that these turns begin, the successor of its producer, if it has
    one: the first successful InitProducerId of another process with its transactional id that was
    asked for after the producer's own had returned, and before it asked again. turns: in order of
    invocation."""
    inits: dict[Any, list[Turn]] = defaultdict(list)
    for turn in turns:
        if turn.f == F.INIT_PRODUCER.value:
            inits[turn.transactional_id].append(turn)
            inits[turn.transactional_id, turn.process].append(turn)
    for begin in turns:
        if begin.f != F.BEGIN.value or begin.type != OK or begin.txn is None:
            continue
        own = inits[begin.transactional_id, begin.process]
        at = bisect_right(own, begin.t_invoke_ns, key=_asked)
        ready_ns = own[at - 1].t_complete_ns if at and own[at - 1].type == OK else None
        since_ns = begin.t_complete_ns if ready_ns is None else ready_ns
        until_ns = own[at].t_invoke_ns if at < len(own) else None
        if since_ns is None:
            continue
        everyone = inits[begin.transactional_id]
        for number in range(bisect_right(everyone, since_ns, key=_asked), len(everyone)):
            init = everyone[number]
            if until_ns is not None and init.t_invoke_ns >= until_ns:
                break
            if init.process != begin.process and init.type == OK and init.t_complete_ns is not None:
                yield Successor(begin.txn, init.t_complete_ns, init.op_id, until_ns)
                break


def _asked(turn: Turn) -> int:
    return turn.t_invoke_ns


def of_succeeded(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the accepted requests of transactions whose producer had a successor: REQUEST without
    its time, and known_op, the successor's InitProducerId if it had returned when the request was
    invoked, else null. rows: all rows of `fencing_evidence`. An end counts only if the client
    certainly sent it: its transaction was not empty, and none of its ends has an unknown outcome.
    Of those, the first commit counts if it took effect."""
    successors = rows.filter(pl.col("kind") == SUCCEEDED).select(
        "txn", "known_ns", "known_op", until_ns="asked_ns"
    )
    is_filled = pl.col("kind").is_in([SENT, OFFSETS]).any().over("txn")
    is_resumed = (pl.col("kind") == RESUMED).any().over("txn")
    is_known = (pl.col("known_ns") < pl.col("asked_ns")) & (
        pl.col("asked_ns") < pl.col("until_ns")
    ).fill_null(True)
    told = rows.with_columns(is_sent=(is_filled & ~is_resumed) | (pl.col("kind") != ENDED))
    requests = told.filter(pl.col("kind").is_in([SENT, OFFSETS, ENDED]) & pl.col("is_sent"))
    nowhere = {"topic": None, "topic_id": pl.lit(NO_TOPIC_ID), "partition": None, "offset": None}
    taken = rows.filter(pl.col("kind") == EFFECTIVE).unique("txn").with_columns(**nowhere)
    return (
        pl.concat([requests.select(REQUEST), taken.select(REQUEST)], how="vertical_relaxed")
        .filter(pl.col("txn").is_not_null())
        .join(successors, on="txn")
        .with_columns(known_op=pl.when(is_known).then("known_op"), kind=pl.lit(OUTLIVED))
        .drop("known_ns", "asked_ns", "until_ns")
    )
