"""Consumers of the model: assigned from the beginning, or positioned by a group; and final reads.

Every change of positions begins a new session, as the history's format demands.
"""

from __future__ import annotations

import json
from random import Random

from linearizability.history import F
from linearizability.self_test.model.partition import Partition
from linearizability.self_test.model.world import RAW, TOPIC, Actor, Row, Steps, World

COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
FAILURES = 0.05
"""The share of polls that fail."""


class Consumer:
    """One consumer process with its positions. It is given records by `fetch`, and `poll` writes
    the rows."""

    def __init__(self, world: World, group: str | None) -> None:
        self.world = world
        self.process = next(world.processes)
        self.group = group
        self.isolation = world.rng.choice([COMMITTED, COMMITTED, UNCOMMITTED])
        self.session = 0
        self.txn: int | None = None
        """The transaction in which the consumer reads, or None."""
        self.positions: dict[int, int] = {}
        self.committed: dict[int, int] = {}
        self.owns_all = False
        """Whether the consumer is the only member of its group, and reports the partitions that it
        owns."""

    def assign(self, rng: Random) -> None:
        """Begin a new session in some partitions (all, if owns_all): at the log start, or at the
        position that the group has committed, if that is higher."""
        self.session += 1
        number = (
            len(self.world.partitions)
            if self.owns_all
            else rng.randint(1, len(self.world.partitions))
        )
        chosen = rng.sample(self.world.partitions, number)
        known = self.committed if self.group else {}
        self.positions = {p.number: max(known.get(p.number, 0), p.start) for p in chosen}

    def operation(self) -> Row:
        return self.world.invoke(self.process) | {
            "session": self.session,
            "group": self.group,
            "isolation": self.isolation,
            "txn": self.txn,
            "member_id": str(self.process) if self.group else None,
        }

    def fetch(self, records_max: int) -> list[Row]:
        """Return rows of up to records_max records that are readable now. Move the positions past
        them, and past markers."""
        rows: list[Row] = []
        numbers = list(self.positions)
        self.world.rng.shuffle(numbers)
        for number in numbers:
            partition = self.world.partitions[number]
            for offset, entry in partition.readable(
                self.positions[number], self.isolation == COMMITTED
            ):
                if len(rows) >= records_max:
                    return rows
                self.positions[number] = offset + 1
                if entry.control is None:
                    rows.append(self.world.poll_row(partition, offset, entry, "confluent"))
        return rows


def consumer(world: World) -> Actor:
    rng = world.rng
    reader = Consumer(world, rng.choice([None, None, "group"]))
    while True:
        assign(world, reader)
        for _ in range(rng.randint(1, 30)):
            for _ in range(rng.randint(0, 5)):
                yield
            good = yield from poll(world, reader)
            if not good:
                break
        yield


def assign(world: World, reader: Consumer) -> None:
    """Set a reader's positions, and write the rows that record it."""
    reader.assign(world.rng)
    world.write(
        reader.operation(),
        [
            {"f": F.ASSIGN.value, "type": "ok", "topic": TOPIC, "partition": n}
            for n in reader.positions
        ],
    )
    if reader.owns_all:
        owned = {"f": F.OWNED.value, "type": "ok", "topic": TOPIC, "generation": reader.session}
        world.write(
            reader.operation(), [owned | {"partition": n} for n in sorted(reader.positions)]
        )


def join(world: World, reader: Consumer) -> None:
    """Make the process the only member of its group, and write the row of its subscription."""
    reader.owns_all = True
    settings = {"session.timeout.ms": "6000", "max.poll.interval.ms": "20000"}
    subscribed = {"f": F.SUBSCRIBE.value, "type": "ok", "settings": json.dumps(settings)}
    world.write(reader.operation(), [subscribed])


def poll(world: World, reader: Consumer, failures: float = FAILURES) -> Steps:
    """Poll once, and write its rows. Return whether the reader can continue: False after a poll of
    unknown outcome, whose position is unknown, and perhaps the delivered records as well. Records
    of a failed poll count as delivered, and the reader then continues from its position before the
    poll. Half of the other polls commit the new positions (`reader.committed`). failures: the share
    of polls that fail or end unknown."""
    rng = world.rng
    operation = reader.operation()
    before = dict(reader.positions)
    yield
    rows = reader.fetch(rng.randint(1, 8))
    yield
    outcome, given = "ok", list[Row]()
    if rng.random() < failures:
        outcome = rng.choice(["info", "fail"])
    for row in rows:
        row["type"] = outcome
    if outcome == "fail":
        reader.positions = before
    elif rng.random() < 0.5:
        reader.committed |= reader.positions
        if outcome == "info":  # nobody knows what was given, but the group goes on behind it
            given, rows = rows, []
    told_nothing: Row = {"f": F.POLL.value, "type": outcome}
    told_nothing["_given"] = [(row["partition"], row["offset"]) for row in given]
    world.write(operation, rows or [told_nothing])
    return outcome != "info"


def read_everything(world: World, *, raw: bool, isolation: str) -> None:
    """Read each partition from its log start to its end, or sometimes not quite to the end, and
    write the rows. raw: also read batch headers, control records and, if a read is complete, up to
    two followers."""
    rng = world.rng
    reader = next(world.processes)
    for partition in world.partitions:
        complete = rng.random() < 0.8
        operation = world.invoke(reader) | {
            "session": partition.number,
            "isolation": isolation,
            "client": "confluent",
        }
        committed_only = isolation == COMMITTED
        entries = partition.readable(partition.start, committed_only)
        if not complete:
            entries = entries[: rng.randint(0, len(entries))]
        client = RAW if raw else "confluent"
        rows = [
            world.poll_row(partition, offset, entry, client)
            for offset, entry in entries
            if raw or entry.control is None
        ]
        rows.append(_whole(partition, complete))
        if raw and complete:
            for replica in range(rng.randint(0, 2)):
                rows += _of_follower(world, partition, replica + 1)
        world.write(operation | {"client": client}, rows)


def _of_follower(world: World, partition: Partition, replica: int) -> list[Row]:
    """Return the rows of reading the same log on another node, which may not know the whole high
    watermark yet."""
    known = {
        "replica": replica,
        "high_watermark": world.rng.randint(partition.start, partition.high_watermark),
    }
    rows = [
        world.poll_row(partition, offset, entry, RAW) | known
        for offset, entry in partition.readable(partition.start, False)
    ]
    end = {"log_start": partition.start, "type": "ok", "topic_id": "id", "topic": TOPIC}
    return [*rows, {"f": F.READ_ALL.value, "partition": partition.number, **end, **known}]


def _whole(partition: Partition, complete: bool) -> Row:
    row = {"f": F.READ_ALL.value, "topic": TOPIC, "topic_id": "id", "partition": partition.number}
    if not complete:  # its answers contained the log start nevertheless
        return row | {"type": "info", "log_start": partition.start}
    return row | {
        "type": "ok",
        "log_start": partition.start,
        "high_watermark": partition.high_watermark,
        "leader_epoch": partition.leader_epoch,
        "last_stable_offset": partition.last_stable_offset,
    }


def watcher(world: World) -> Actor:
    """Ask leaders now and then, for ever, for their high watermarks, and write the rows of their
    answers, which have no records."""
    rng = world.rng
    process = next(world.processes)
    while True:
        for _ in range(rng.randint(1, 20)):
            yield
        partition = rng.choice(world.partitions)
        operation = world.invoke(process)
        yield
        answer = {
            "f": F.POLL.value,
            "type": "ok",
            "client": RAW,
            "topic": TOPIC,
            "topic_id": "id",
            "partition": partition.number,
            "leader_epoch": partition.leader_epoch,
            "high_watermark": partition.high_watermark,
            "log_start": partition.start,
            "last_stable_offset": partition.last_stable_offset,
        }
        yield
        world.write(operation, [answer])
