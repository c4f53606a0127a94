"""The world of the model: a clock, partitions, actors that take turns at random, and the rows that
they write.

An actor is a generator; at each `yield` another actor may act.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import count
from random import Random
from typing import Any

from linearizability.history import F
from linearizability.self_test.model.cleaner import Cleaner
from linearizability.self_test.model.partition import Dress, Entry, Partition

Actor = Iterator[None]
Steps = Generator[None, None, Any]
Row = dict[str, Any]

TOPIC = "model"
RAW = "raw"


class World:
    """The state of one generated history. All randomness comes from one seed, so a seed determines
    the history."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"{seed}:model")
        self.partitions = [Partition(n) for n in range(self.rng.randint(1, 3))]
        self.rows: list[Row] = []
        self.actors: list[Actor] = []
        self.now_ns = 0
        self.final = False
        self.values = count(1)
        self.processes = count()
        self.producer_ids = count(1000)
        self.transactions = count(1)
        self._operations = count()
        self.cleaner = Cleaner(self.rng)
        self.ends: dict[int, str] = {}
        """Transaction -> the coordinator's decision: commit or abort."""
        self.under_way: dict[int, tuple[Row, list[Row]]] = {}
        """Operations that were invoked and have not completed. The recorder writes them as unknown
        at the end."""
        # A recorder may know the topic's id always, never, or for reads alone.
        self.topic_id_of_sends = self.rng.choice([None, "id"])
        self.topic_id_of_reads = self.rng.choice([self.topic_id_of_sends, "id"])

        self.tells_contents = Random(f"{seed}:contents").random() < 0.5
        """Whether the recorder writes checksums and timestamps of records, as it does since version
        2."""
        self.cleaner.stamps_appends = Random(f"{seed}:stamps").random() < 0.3

    def dress(self, value: int | None) -> Dress:
        return self.cleaner.dress(value)

    def contents(self, value: int | None) -> Row:
        """Return the column checksum of the record with this value, the same in every read of it,
        or {} if there is no value or the recorder writes none."""
        if value is None or not self.tells_contents:
            return {}
        return {"checksum": value * 2_654_435_761 % 2**32}

    # --- time and turns -------------------------------------------------------------------------

    def tick(self) -> int:
        """Advance the clock and return the new time, which may be the same as before if the clock
        is coarse."""
        if self.rng.random() < 0.9:
            self.now_ns += self.rng.randint(1, 1000)
        return self.now_ns

    def run(self, turns: int) -> None:
        for _ in range(turns):
            if not self.actors:
                return
            actor = self.rng.choice(self.actors)
            try:
                next(actor)
            except StopIteration:
                self.actors.remove(actor)

    def replication(self) -> Actor:
        """Raise high watermarks, for ever; now and then change a leader, which may truncate the end
        of its log."""
        while True:
            partition = self.rng.choice(self.partitions)
            if self.rng.random() < 0.04:
                partition.change_leader(self.rng)
            elif self.rng.random() < 0.7:
                partition.replicate(self.rng)
            yield

    def end(self) -> None:
        """Write the operations that never completed."""
        for operation, rows in self.under_way.values():
            self.write(operation, rows, completed=False)

    def settle(self) -> None:
        """Begin the final phase, whose rows are marked final: move every high watermark to the end
        of its log."""
        self.final = True
        for partition in self.partitions:
            partition.advance(len(partition.log))

    # --- rows -----------------------------------------------------------------------------------

    def invoke(self, process: int) -> Row:
        """Begin an operation. Return the fields that all its rows share."""
        return {
            "op_id": next(self._operations),
            "process": process,
            "session": 0,
            "t_invoke_ns": self.tick(),
            "final": self.final,
        }

    def write(self, operation: Row, rows: list[Row], completed: bool = True) -> None:
        """Append the rows of an operation to the history, at least one. Without `completed` its
        client got no answer, so the rows have no time of completion. Otherwise they complete at the
        clock's next tick."""
        ended = self.tick() if completed else None
        for index, row in enumerate(rows):
            self.rows.append({"record_index": index, "t_complete_ns": ended, **operation, **row})

    def send_row(self, partition: Partition, value: int) -> Row:
        return {
            "f": F.SEND.value,
            "topic": TOPIC,
            "topic_id": self.topic_id_of_sends,
            "partition": partition.number,
            "value": value,
            **self.dress(value)._asdict(),
            **self.contents(value),
        }

    def poll_row(self, partition: Partition, offset: int, entry: Entry, client: str) -> Row:
        row = {
            "f": F.POLL.value,
            "topic": TOPIC,
            "topic_id": self.topic_id_of_reads,
            "partition": partition.number,
            "offset": offset,
            "value": entry.value,
            "client": client,
            "type": "ok",
            **self.dress(entry.value)._asdict(),
        }
        if contents := self.contents(entry.value):
            row |= contents | self._times(offset, entry)
        if entry.control is not None:
            row["_txn"] = entry.txn
        if client == RAW:
            row |= {
                "control": entry.control,
                "producer_id": entry.producer_id,
                "producer_epoch": entry.producer_epoch,
                "sequence": entry.sequence,
                "leader_epoch": entry.leader_epoch,
            }
        return row

    def _times(self, offset: int, entry: Entry) -> Row:
        """Return the record's timestamp and its type. Append times never go back by more than 60 ms
        within a leader epoch; the next leader's clock may be behind."""
        if not self.cleaner.stamps_appends:
            return {"timestamp_ms": entry.value, "timestamp_type": "create"}
        clock_ms = 20_000 - 3_000 * (entry.leader_epoch % 5)
        corrected_ms = offset * 7 % 4 * 20
        return {"timestamp_ms": clock_ms + offset - corrected_ms, "timestamp_type": "append"}
