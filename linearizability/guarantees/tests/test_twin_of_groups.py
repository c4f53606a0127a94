"""Rules and twins agree, as in `test_twins`, on groups that are watched for minutes: members join,
leave, own partitions and poll."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

from linearizability.evidence.groups import COLUMNS, group_evidence
from linearizability.guarantees.group_liveness.twin import group_liveness
from linearizability.history import frame
from linearizability.ingest import resolved
from linearizability.twins.facts import Row, resolve

SECOND = 1_000_000_000
HISTORIES = 100
SETTINGS = (
    None,
    '{"session.timeout.ms": "6000", "max.poll.interval.ms": "9000"}',
    '{"session.timeout.ms": "1000", "max.poll.interval.ms": "6000"}',
    '{"session.timeout.ms": "6000", "max.poll.interval.ms": "9000", "group.protocol": "consumer"}',
)
KINDS = (
    "watched",
    "partition-without-owner",
    "member-without-part",
    "group-starved",
    "assigned-twice",
    "session-cut-short",
    "session-outlived",
    "member-after-leaving",
)


class Drawn:
    """One history, drawn at random: what two or three processes do in one or two groups."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.rows: list[Row] = []
        self.now = 0
        self.op_id = 0
        self.settings = self.rng.choice([*SETTINGS[1:], *SETTINGS])
        self.partitions = self.rng.choice([1, 2, 3, 3, 4])
        self.gives = self.rng.random() < 0.5
        """Whether polls give records now and then."""
        rare = {"turn": 0.04, "fault": 0.02, "silence": 0.01, "owned": 0.1, "send": 0.1}
        rare["beat"] = 0.1
        self.often = {what: p * self.rng.choice([0, 0, 1, 3]) for what, p in rare.items()}

    def add(self, *rows: Row, **shared: Any) -> None:
        """Write an operation, which takes no time or a moment."""
        times = {"t_invoke_ns": self.now, "t_complete_ns": self.now + self.rng.choice([0, 1])}
        for number, row in enumerate(rows):
            self.rows.append(times | {"op_id": self.op_id, "record_index": number} | shared | row)
        self.op_id += 1

    def history(self) -> list[Row]:
        members = [(process, self.rng.choice(["g", "g", "h"])) for process in (1, 2, 3)]
        members = members[: self.rng.randint(1, 3)]
        for member in members:
            self.turn(*member, f="subscribe")
        for member in members:
            self.owns(*member)
        for _ in range(self.rng.choice([12, 25, 40])):
            self.now += self.rng.choice([1, 2, 2, 3]) * SECOND
            for member in members:
                self.step(*member)
        return frame(self.rows).rows(named=True)

    def step(self, process: int, group: str) -> None:
        """Let one process do one thing, or a nemesis."""
        self.now += self.rng.choice([0, 1, 5])
        drawn = self.rng.random
        if drawn() < self.often["silence"]:
            self.now += self.rng.choice([12, 13, 30]) * SECOND
        if drawn() < self.often["turn"]:
            self.turn(process, group, f=self.rng.choice(["leave", "crash", "subscribe"]))
        if drawn() < self.often["fault"]:
            fault = json.dumps({"fault": self.rng.choice(["Kill", "Heal", "Heal", "Dance"])})
            self.add({"f": "nemesis", "process": -1, "detail": fault})
        if drawn() < self.often["owned"]:
            self.owns(process, group)
        if drawn() < self.often["send"]:
            self.send()
        if drawn() < self.often["beat"]:
            self.beat(process, group)
        if drawn() < 0.9:
            self.poll(process, group)

    def turn(self, process: int, group: str, f: str) -> None:
        settings = self.settings if f == "subscribe" else None
        final = self.rng.random() < 0.02
        self.add({"f": f, "process": process, "group": group, "settings": settings, "final": final})

    def owns(self, process: int, group: str) -> None:
        """Report once, or twice in one operation."""
        own = {"f": "owned", "process": process, "group": group}
        own["generation"] = self.rng.choice([None, 1, 1, 2])
        rows: list[Row] = []
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            held = [n for n in range(self.partitions) if self.rng.random() < 0.6]
            rows += [{"topic": "t", "partition": n} for n in held] or [{"topic": None}]
        self.add(*rows, **own)

    def beat(self, process: int, group: str) -> None:
        """Send a heartbeat of a lone member, or let it leave."""
        own: Row = {"process": process, "group": group, "member_id": f"lone{process}"}
        f = self.rng.choice(["heartbeat"] * 4 + ["leave"])
        outcome = self.rng.choice(["ok", "ok", "ok", "fail", "info"])
        waits: Row = {"asked": "joining", "asked_offset": self.rng.choice([500, 12_000])}
        own |= self.rng.choice([{}, {}, {}, waits])
        self.add(own | {"f": f, "type": outcome, "settings": self.settings})

    def send(self) -> None:
        acked = {"f": "send", "process": 8, "acks": -1, "idempotent": True, "topic": "t"}
        place = {"partition": self.rng.randrange(self.partitions), "value": self.op_id}
        odd: Row = self.rng.choice([{}] * 30 + [{"txn": 1}, {"key": "k"}, {"log_start": 3}])
        odd = odd | self.rng.choice([{}] * 40 + [{"topic_id": "a"}, {"topic_id": "b"}])
        self.add(acked | place | {"offset": self.rng.randrange(6)} | odd)

    def poll(self, process: int, group: str) -> None:
        own: Row = {"f": "poll", "process": process, "group": group, "member_id": f"m{process}"}
        if self.gives and self.rng.random() < 0.2:
            own |= {"topic": "t", "partition": self.rng.randrange(self.partitions)}
            own |= {"offset": self.rng.randrange(6), "value": 1}
        self.add(own | {"type": "info" if self.rng.random() < 0.01 else "ok"})


def told_by_kernel(rows: list[Row]) -> set[tuple[Any, ...]]:
    found = group_evidence(resolved(frame(rows).lazy()).lazy())
    return {(*row[:-1], tuple(row[-1])) for row in found.select(*COLUMNS).iter_rows()}


def test_the_kernel_finds_what_its_twin_finds() -> None:
    seen: Counter[str] = Counter()
    for seed in range(HISTORIES):
        rows = Drawn(seed).history()
        found = group_liveness(resolve(rows))
        assert told_by_kernel(rows) == found, seed
        seen.update({kind for kind, *_ in found})
    assert min(seen[kind] for kind in KINDS) >= HISTORIES // 50, seen
