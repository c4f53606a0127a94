"""Write a valid history in the form of Jepsen's Kafka workload, as JSON lines.

Ten threads run transactions of one or two micro-operations (sends and polls) over eight partitions,
all of which are assigned to every thread. Each transaction takes effect at its completion and is
committed.
"""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

THREADS, PARTITIONS = 10, 8
SEND_SHARE = 0.3
"""The share of sends among micro-operations. Since every thread polls each record, that makes 5.4
polled records per operation."""

LATENCY_NS = (100_000, 2_000_000)
Log = list[tuple[int, int]]
"""(offset, value) of each record."""


def write(file: Path, operations: int, seed: int = 1) -> int:
    """Write the history to a file: this many transactions, then a final poll of each thread. Return
    the number of records polled."""
    made = _Cluster(random.Random(seed))
    with file.open("w") as out:
        for index, event in enumerate(made.events(operations)):
            out.write(json.dumps({"index": index, **event}, separators=(",", ":")) + "\n")
    return made.polled


class _Cluster:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.polled = 0
        self.logs: list[Log] = [[] for _ in range(PARTITIONS)]
        self.ends = [0] * PARTITIONS
        self.positions = [[0] * PARTITIONS for _ in range(THREADS)]
        self.next_value = 0

    def events(self, operations: int) -> Iterator[dict[str, Any]]:
        """Yield the events of the history in order of time: the assignments, invocations and
        completions of this many transactions, and a final poll of each thread."""
        keys = list(range(PARTITIONS))
        pending: list[tuple[int, int, list[Any] | None]] = []
        for thread in range(THREADS):
            yield {"time": 0, "process": thread, "type": "invoke", "f": "assign", "value": keys}
            yield {"time": 0, "process": thread, "type": "ok", "f": "assign", "value": keys}
            heapq.heappush(pending, (self.rng.randint(1, 1_000_000), thread, None))
        started = 0
        while pending:
            now, thread, asked = heapq.heappop(pending)
            if asked is not None:
                yield _event(now, thread, "ok", self._perform(thread, asked))
            if started < operations:
                started += 1
                asked = self._ask()
                yield _event(now, thread, "invoke", asked)
                heapq.heappush(pending, (now + self.rng.randint(*LATENCY_NS), thread, asked))
        for thread in range(THREADS):
            yield {**_event(now, thread, "invoke", [["poll"]]), "final": True}
            yield {**_event(now, thread, "ok", self._perform(thread, [["poll"]])), "final": True}

    def _ask(self) -> list[Any]:
        asked: list[Any] = []
        for _ in range(self.rng.choice((1, 2, 2, 2, 2))):
            if self.rng.random() < SEND_SHARE:
                asked.append(["send", self.rng.randrange(PARTITIONS), self.next_value])
                self.next_value += 1
            else:
                asked.append(["poll"])
        return asked

    def _perform(self, thread: int, asked: list[Any]) -> list[Any]:
        """Return the completed micro-operations of a transaction. A poll receives the records that
        were committed before it. Each transaction marker takes one offset."""
        done: list[Any] = []
        sends = [micro for micro in asked if micro[0] == "send"]
        for micro in asked:
            done.append(micro if micro[0] == "send" else ["poll", self._poll(thread)])
        for micro in sends:
            _, partition, value = micro
            micro[2] = [self.ends[partition], value]
            self.logs[partition].append((self.ends[partition], value))
            self.ends[partition] += 1
        for partition in {micro[1] for micro in sends}:
            self.ends[partition] += 1
        return done

    def _poll(self, thread: int) -> dict[str, Log]:
        found: dict[str, Log] = {}
        positions = self.positions[thread]
        for partition, log in enumerate(self.logs):
            if positions[partition] < len(log):
                new = log[positions[partition] :]
                found[str(partition)] = new
                positions[partition] = len(log)
                self.polled += len(new)
        return found


def _event(now: int, thread: int, kind: str, value: list[Any]) -> dict[str, Any]:
    copied = [list(micro) for micro in value]
    return {"time": now, "process": thread, "type": kind, "f": "txn", "value": copied}
