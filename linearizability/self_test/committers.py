"""Members of the model that commit positions of a group, and ask for them.

They share a group; requests and answers get lost, and two may commit at a time.
"""

from __future__ import annotations

from linearizability.history import F
from linearizability.self_test.partition import Partition
from linearizability.self_test.world import TOPIC, Actor, Steps, World

GROUP = "committers"


def committer(world: World, committed: dict[int, int]) -> Actor:
    """Commits or asks, one at a time. committed: what the coordinator knows, by partition."""
    process = next(world.processes)
    while True:
        for _ in range(world.rng.randint(1, 30)):
            yield
        partition = world.rng.choice(world.partitions)
        act = _commit if world.rng.random() < 0.5 else _ask
        yield from act(world, process, partition, committed)


def _commit(
    world: World, process: int, partition: Partition, committed: dict[int, int]
) -> Steps:  # fmt: skip
    rng = world.rng
    operation = world.invoke(process)
    offset = rng.randint(0, partition.high_watermark)
    yield
    arrives = rng.random() < 0.9
    if arrives:
        committed[partition.number] = offset
    yield
    outcome = "ok" if arrives and rng.random() < 0.9 else "info"
    if not arrives and rng.random() < 0.5:
        outcome = "fail"
    row = _row(F.COMMIT_OFFSETS, partition) | {"type": outcome, "offset": offset}
    world.write(operation, [row], completed=outcome != "info" or rng.random() < 0.5)


def _ask(world: World, process: int, partition: Partition, committed: dict[int, int]) -> Steps:
    operation = world.invoke(process)
    yield
    known = committed.get(partition.number)
    yield
    row = _row(F.FETCH_OFFSETS, partition) | {"type": "ok", "offset": known}
    world.write(operation, [row])


def _row(f: F, partition: Partition) -> dict[str, object]:
    return {"f": f.value, "topic": TOPIC, "partition": partition.number, "group": GROUP}
