"""Compare a history with the messages on the wire, and list each claim of a client that no broker's
answer supports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from chaos.sim.witness import Heard, Place, Written
from linearizability.history import F
from reference_impl.wire import ErrorCode

CLIENT = "reference"
COMMITTED = "read_committed"
ACCEPTED = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})
NOT_IN_THE_LOG = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID})
"""Answers that decide the fate of earlier attempts: the batch is not in the log, since otherwise it
would be a duplicate."""
Row = dict[str, Any]
Rows = list[Row]


def accusations(rows: pl.DataFrame, heard: Heard) -> list[str]:
    """Return a sentence for each false report of a reference client in the rows of a history, and
    for each breach of the protocol by one. heard: what its connections have carried."""
    mine = rows.filter(pl.col("client") == CLIENT).sort("t_invoke_ns", "op_id", "record_index")
    by_kind: dict[str, Rows] = defaultdict(list)
    for row in mine.iter_rows(named=True):
        by_kind[row["f"]].append(row)
    return [f"the client {deed}" for judge in JUDGES for deed in judge(by_kind, heard)]


def place_of(row: Row) -> Place:
    return row["topic"], row["partition"]


def _sends(by_kind: dict[str, Rows], heard: Heard) -> Iterator[str]:
    index: dict[tuple[Place, int], list[Written]] = defaultdict(list)
    for place, records in heard.written.items():
        absent = _absent(records)
        for one in records:
            producer_id, epoch, sequence = one.identity
            is_absent = sequence >= absent.get((producer_id, epoch), sequence + 1)
            index[place, one.value].append(replace(one, is_absent=is_absent))
    for row in by_kind[F.SEND]:
        found = index[place_of(row), row["value"]]
        yield from _one_send(row, found)


def _absent(records: list[Written]) -> dict[tuple[int, int], int]:
    """Return (producer id, epoch) -> the first sequence number that is certainly not in the
    partition. Later ones are not there either."""
    first: dict[tuple[int, int], int] = {}
    for one in records:
        if one.code in NOT_IN_THE_LOG:
            producer_id, epoch, sequence = one.identity
            known = first.get((producer_id, epoch), sequence)
            first[producer_id, epoch] = min(known, sequence)
    return first


def _one_send(row: Row, found: list[Written]) -> Iterator[str]:
    what = f"record {row['value']} of {row['topic']}-{row['partition']}"
    if row["type"] == "ok" and row["acks"] != 0:
        offset = row["offset"]
        said = [one.offset for one in found if one.code in ACCEPTED]
        if not said or (offset is not None and offset not in said):
            yield f"reported {what} at offset {offset}; the brokers answered {said or 'nothing'}"
    maybe_there = [one for one in found if one.code in (None, ErrorCode.NONE) and not one.is_absent]
    if row["type"] == "fail" and maybe_there:
        yield f"reported that {what} failed, although it was sent and no broker refused it"
    if row["idempotent"] and len({one.identity for one in maybe_there}) > 1:
        numbers = ", ".join(str(one.identity) for one in maybe_there)
        yield f"sent {what} again with another sequence number: {numbers}"


def _polls(by_kind: dict[str, Rows], heard: Heard) -> Iterator[str]:
    last: dict[tuple[Any, ...], int] = {}
    rows = by_kind[F.POSITION] + by_kind[F.POLL]  # a position comes before the records of its poll
    for row in sorted(rows, key=lambda one: int(one["t_invoke_ns"])):
        offset, place = row["offset"], place_of(row)
        session = (row["process"], row["session"], place, row["topic_id"])
        if row["f"] == F.POSITION and row["asked"] == "offset":
            last[session] = row["asked_offset"] - 1
        if row["f"] == F.POSITION or row["type"] != "ok" or offset is None:
            continue
        answers = heard.given[place, int(row["isolation"] == COMMITTED)]
        where = f"offset {offset} of {row['topic']}-{row['partition']}"
        if not any(answer.deliverable.get(offset, row) == row["value"] for answer in answers):
            yield f"delivered {where}, although no fetch response had it to deliver"
        before = last.get(session)
        if before is not None and offset <= before:
            yield f"delivered {where} after offset {before}"
        for skipped in range(before + 1, offset) if before is not None else ():
            covering = [one for one in answers if one.asked <= skipped <= one.last]
            if covering and all(skipped in one.deliverable for one in covering):
                yield f"skipped offset {skipped} before {where}, which every fetch response had"
        last[session] = offset


def _ends(by_kind: dict[str, Rows], heard: Heard) -> Iterator[str]:
    failed = {
        row["txn"] for row in by_kind[F.SEND] if row["type"] != "ok" and row["txn"] is not None
    }
    for row in (*by_kind[F.COMMIT], *by_kind[F.ABORT]):
        wants, who = row["f"] == F.COMMIT, row["transactional_id"]
        if row["type"] == "ok" and wants and row["txn"] in failed:
            yield f"committed transaction {row['txn']} although one of its records had failed"
        until_us = (row["t_complete_ns"] or row["t_invoke_ns"]) // 1000
        for at_us, transactional_id, commits, _ in heard.ends:
            is_it = transactional_id == who and row["t_invoke_ns"] // 1000 <= at_us <= until_us
            if not is_it:
                continue
            if commits != wants:
                asked = "commit" if commits else "abort"
                yield f"sent EndTxn ({asked}) of {who} for the call {row['f']} {row['txn']}"
            if any(_is_open(one, at_us) for one in _of(heard, str(who))):
                yield f"ended transaction {row['txn']} of {who} while a record was in flight"


def _of(heard: Heard, transactional_id: str) -> Iterator[Written]:
    for records in heard.written.values():
        yield from (one for one in records if one.transactional_id == transactional_id)


def _is_open(one: Written, at_us: int) -> bool:
    """Return whether the record's request was under way at this time: sent before, and answered
    after it. Return False for a request that was never answered."""
    return one.code is not None and one.sent_us <= at_us < one.answered_us


def _offsets(by_kind: dict[str, Rows], heard: Heard) -> Iterator[str]:
    for row in by_kind[F.COMMIT_OFFSETS]:
        claimed = (row["group"], place_of(row), row["offset"])
        if row["type"] == "ok" and row["offset"] is not None and claimed not in heard.committed:
            yield f"reported {claimed} as committed, although no coordinator confirmed it"
    for row in by_kind[F.POSITION]:
        asked = row["asked_offset"]
        is_told = row["asked"] == "committed" and asked is not None and asked >= 0
        if is_told and (place_of(row), asked) not in heard.fetched:
            yield f"began at offset {asked} of {place_of(row)}, which is not the committed one"
    yield from _commits_ahead(by_kind, heard)


def _commits_ahead(by_kind: dict[str, Rows], heard: Heard) -> Iterator[str]:
    delivered: dict[tuple[str, Place], dict[int, int]] = defaultdict(dict)
    for row in by_kind[F.POLL]:
        if row["group"] and row["offset"] is not None:
            known = delivered[row["group"], place_of(row)]
            known.setdefault(row["offset"], row["t_invoke_ns"] // 1000)
    for at_us, group, place, offset in heard.asked_to_commit:
        answers = heard.given[place, 0] + heard.given[place, 1]
        is_known = any(offset - 1 in one.deliverable for one in answers)
        polled_us = delivered[group, place].get(offset - 1)
        is_early = bool(delivered[group, place]) and (polled_us is None or polled_us > at_us)
        if is_known and is_early and (place, offset) not in heard.fetched:
            yield f"committed offset {offset} of {place} for {group} before its record was read"


JUDGES: tuple[Callable[[dict[str, Rows], Heard], Iterator[str]], ...] = (
    _sends,
    _polls,
    _ends,
    _offsets,
)
