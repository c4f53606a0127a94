"""One large partition, with an anomaly for each rule that may be cut: from end to end of it."""

from __future__ import annotations

from collections import Counter

import polars as pl

from linearizability import history
from linearizability.hand_written.rows import ASKS, COMMITS, END, PLACE, P, Row, S
from linearizability.history import F

RECORDS = 6_000
_PHANTOM, _OWN, _DIRTY, _TWICE = 900_001, 900_002, 900_003, 10
_MEMBER: Row = {"group": "g", "member_id": "m"}


def one_partition(records: int = RECORDS) -> pl.DataFrame:
    """Return a history of records sent and read one at a time; one is never read, and one is read
    again at the end."""
    first, last = 20, records - 20
    rows: list[Row] = [
        S(_PHANTOM),
        S(_OWN, records + 2, txn=1),
        S(_DIRTY, records + 3, txn=2),
        COMMITS(first),
        P(first, first, txn=3, **_MEMBER),
        END("commit", 3),
    ]
    for number in range(records):
        rows.append(S(number, number))
        if number != records // 2:
            rows.append(P(number, number))
    rows += [
        P(5, 5),
        P(_PHANTOM, first + 1, process=2),
        P(_TWICE, records + 1, process=3),
        P(last, last, process=4),
        P(first, first, process=4),
        P(_OWN, records + 2, txn=1, process=5),
        P(_DIRTY, records + 3, process=6),
        END("commit", 2),
        END("abort", 1),
        P(first, first, txn=4, process=7, **_MEMBER),
        END("commit", 4),
        ASKS(last),
    ]
    return history.frame([*rows, *_read_raw(records, len(rows), first, last)])


def _read_raw(records: int, op_id: int, first: int, last: int) -> list[Row]:
    """Return the log in one read: producer 8 leaves sequences out, and epoch 0 of producer 9 is
    fenced, far apart in the log."""
    writers = {first: (8, 0), last: (8, 0), first + 1: (9, 1), last + 1: (9, 0)}
    sequences = Counter({(8, 0): 0})
    rows: list[Row] = []
    for offset in range(records):
        producer = writers.get(offset, (7, 0))
        sequence = 5 if offset == last else sequences[producer]
        sequences[producer] += 1
        rows.append(
            PLACE
            | {
                "f": F.POLL.value,
                "value": offset,
                "offset": offset,
                "op_id": op_id,
                "record_index": offset,
                "process": 9,
                "client": "raw",
                "isolation": "read_uncommitted",
                "producer_id": producer[0],
                "producer_epoch": producer[1],
                "sequence": sequence,
                "leader_epoch": 0,
                "t_invoke_ns": op_id * 10,
                "t_complete_ns": op_id * 10 + 5,
            }
        )
    return rows
