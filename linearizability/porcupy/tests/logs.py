"""A toy Kafka partition that records a history, honest or with one thing wrong; a dumb judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import polars as pl

from linearizability import history
from linearizability.porcupy.operations import NEVER

Row = dict[str, Any]


@dataclass
class ToyKafka:
    """Partitions as lists of values (None: a control record); time only moves forwards."""

    rng: Random
    partitions: int = 2
    rows: list[Row] = field(default_factory=list)
    now: int = 0
    op_id: int = 0

    def __post_init__(self) -> None:
        self.logs: list[list[int | None]] = [[] for _ in range(self.partitions)]

    def record(self, row: Row, *, before: int, after: int | None) -> None:
        common = {
            "op_id": self.op_id,
            "topic": "t",
            "process": self.op_id % 4,
            "t_invoke_ns": self.now - before,
            "t_complete_ns": None if after is None else self.now + after,
        }
        self.rows.append(common | row)

    def step(self) -> None:
        """Do one operation, which takes effect now."""
        self.now += self.rng.randrange(1, 20)
        self.op_id += 1
        partition = self.rng.randrange(self.partitions)
        if self.rng.random() < 0.35:
            self.poll(partition)
        else:
            self.send(partition)

    def send(self, partition: int) -> None:
        log, value, rng = self.logs[partition], self.op_id, self.rng
        acks = rng.choice((-1, -1, -1, -1, 1, 0))
        row: Row = {"f": "send", "partition": partition, "value": value, "acks": acks}
        fate = rng.random()
        before = rng.randrange(60)
        if fate < 0.1:
            self.record(row | {"type": "fail"}, before=before, after=rng.randrange(60))
            return
        if fate < 0.3:
            after = rng.choice((None, 0, 5, 60))
            if rng.random() < 0.6:
                log.append(value)
            self.record(row | {"type": "info"}, before=before, after=after)
            return
        log.append(value)
        # acks=0 knows no offset; a duplicate answered by the broker may not carry one either.
        offset = None if acks == 0 or rng.random() < 0.1 else len(log) - 1
        self.record(row | {"offset": offset}, before=before, after=rng.randrange(60))
        if rng.random() < 0.05:
            log.append(value)  # a retry without idempotence
        if rng.random() < 0.1:
            log.append(None)

    def poll(self, partition: int) -> None:
        log, rng = self.logs[partition], self.rng
        first = rng.randrange(len(log) + 1)
        end = rng.randrange(first, len(log) + 1)
        before, after = rng.randrange(60), rng.randrange(60)
        for offset in range(first, end):
            row: Row = {"f": "poll", "partition": partition, "offset": offset}
            control = {"control": "commit"} if log[offset] is None else {}
            if rng.random() < 0.9:  # read_committed leaves out what was aborted
                self.record(row | control | {"value": log[offset]}, before=before, after=after)

    def history(self, *, damage: int = 0) -> pl.DataFrame:
        """Return the recorded history, with wrong times or offsets in `damage` rows."""
        rows = [dict(row) for row in self.rows]
        for row in self.rng.sample(rows, min(damage, len(rows))):
            if self.rng.random() < 0.6 or row.get("offset") is None:
                shift = self.rng.randrange(-400, 400)
                row["t_invoke_ns"] += shift
                if row["t_complete_ns"] is not None:
                    row["t_complete_ns"] += shift
            else:
                row["offset"] = max(0, row["offset"] + self.rng.randrange(-3, 4))
        return history.frame(rows)


def toy_history(seed: str, steps: int, *, damage: int = 0) -> pl.DataFrame:
    """Return a small history of one topic, named by the seed."""
    toy = ToyKafka(Random(seed))
    for _ in range(steps):
        toy.step()
    return toy.history(damage=damage).with_columns(topic=pl.lit(seed))


Found = tuple[str, int, int, str, tuple[int, ...]]
"""topic, partition, offset, kind, op_ids."""


def oracle(frame: pl.DataFrame) -> set[Found]:
    """Judge append_order by the letter, in plain Python, in quadratic time."""
    found: set[Found] = set()
    partitions: dict[tuple[str, int], list[Row]] = {}
    for row in frame.rows(named=True):
        partitions.setdefault((row["topic"], row["partition"]), []).append(row)
    for partition, here in partitions.items():
        sends = [row for row in here if row["f"] == "send"]
        polls = [
            row
            for row in here
            if row["f"] == "poll" and row["offset"] is not None and row["control"] is None
        ]
        placed = [append for send in sends for append in _places(send, sends, polls)]
        acked = [append for append in placed if append.acked]
        found |= {(*partition, *late) for append in placed for late in _late(append, acked, polls)}
        for offset in {append.offset for append in acked}:
            there = [append.op_id for append in acked if append.offset == offset]
            if len(there) > 1:
                found.add((*partition, offset, "same-offset", tuple(sorted(there))))
    return found


@dataclass(frozen=True)
class _Append:
    op_id: int
    offset: int
    lo: int
    hi: int
    acked: bool


def _end(row: Row) -> int:
    return NEVER if row["t_complete_ns"] is None else int(row["t_complete_ns"])


def _places(send: Row, sends: list[Row], polls: list[Row]) -> list[_Append]:
    """Return the possible places of a send's record."""
    if send["acks"] != -1 or send["type"] == "fail":
        return []
    places = []
    acked_at = send["offset"] if send["type"] == "ok" else None
    if acked_at is not None:
        places.append(_Append(send["op_id"], acked_at, send["t_invoke_ns"], _end(send), True))
    if sum(other["value"] == send["value"] for other in sends) > 1:
        return places
    seen = {poll["offset"] for poll in polls if poll["value"] == send["value"]}
    for offset in seen - {acked_at}:
        places.append(_Append(send["op_id"], offset, send["t_invoke_ns"], NEVER, False))
    return places


def _late(
    append: _Append, acked: list[_Append], polls: list[Row]
) -> list[tuple[int, str, tuple[int, ...]]]:
    proofs = [
        (other.hi, other.offset, other.op_id)
        for other in acked
        if other.offset > append.offset and other.hi < append.lo
    ]
    if proofs:
        return [(append.offset, "append-order", (append.op_id, min(proofs)[2]))]
    proofs = [
        (_end(poll), poll["offset"], poll["op_id"])
        for poll in polls
        if poll["offset"] >= append.offset and _end(poll) < append.lo
    ]
    if proofs:
        return [(append.offset, "read-before-append", (append.op_id, min(proofs)[2]))]
    return []
