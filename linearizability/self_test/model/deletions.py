"""Write the rows about the model's topic and about deletions in it, as a recorder does."""

from __future__ import annotations

from linearizability.history import F
from linearizability.self_test.model.partition import Partition
from linearizability.self_test.model.world import TOPIC, Row, World

EXPIRED_NS = 10 * 1_000_000
"""A time in nanoseconds that is longer than `retention.ms` of any topic of the model whose records
expire."""


def tell_settings(world: World) -> None:
    """Record the creation of the topic with its settings, unless the world's recorder does not know
    them."""
    operation = world.invoke(next(world.processes))
    made = {"settings": world.cleaner.text, "timestamp_ms": 0, "type": "ok"}
    if world.cleaner.is_told:
        rows = [_row(F.TOPIC, partition) | made for partition in world.partitions]
        world.write(operation, rows)


def delete_beginnings(world: World) -> None:
    """Move the log starts of all partitions up to a random offset, 3 at most: without a row where
    the topic deletes by age or size, else by a DeleteRecords, whose rows are written."""
    process = next(world.processes)
    if world.cleaner.deletes:
        world.now_ns += EXPIRED_NS
    for partition in world.partitions:
        operation = world.invoke(process)
        partition.start = world.rng.randint(0, min(3, partition.last_stable_offset))
        if world.cleaner.deletes:
            continue
        row = _row(F.DELETE_RECORDS, partition) | {"offset": partition.start}
        answer = {"log_start": partition.start, "leader_epoch": partition.leader_epoch}
        answered = world.rng.random() < 0.8
        told = answer | {"type": "ok"} if answered else {"type": "info"}
        world.write(operation, [row | told], completed=answered)


def _row(f: F, partition: Partition) -> Row:
    return {"f": f.value, "topic": TOPIC, "topic_id": "id", "partition": partition.number}
