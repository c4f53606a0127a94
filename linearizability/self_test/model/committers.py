"""Members of the model that commit and fetch positions of a group.

They share a group. Requests and answers get lost, and two members may commit at the same time. Now
and then the group has a new generation, and later commits of the previous one are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from linearizability.history import F
from linearizability.self_test.model.partition import Partition
from linearizability.self_test.model.world import TOPIC, Actor, Steps, World

GROUP = "committers"


@dataclass
class Coordinator:
    """The coordinator's state of the group: the offset of each partition, and the generation."""

    offsets: dict[int, int] = field(default_factory=dict)
    generation: int = 1


def committer(world: World, coordinator: Coordinator) -> Actor:
    """Commit or fetch the position of a random partition every few turns, for ever, and now and
    then begin a new generation of the group."""
    process = next(world.processes)
    while True:
        for _ in range(world.rng.randint(1, 30)):
            yield
        if world.rng.random() < 0.1:
            coordinator.generation += 1
        partition = world.rng.choice(world.partitions)
        act = _commit if world.rng.random() < 0.5 else _ask
        yield from act(world, process, partition, coordinator)


def ask_finally(world: World, coordinator: Coordinator) -> None:
    """Fetch every position after all other operations are over, and write the rows."""
    process = next(world.processes)
    for partition in world.partitions:
        for _ in _ask(world, process, partition, coordinator):
            pass  # nobody else acts meanwhile


def _commit(world: World, process: int, partition: Partition, coordinator: Coordinator) -> Steps:
    rng = world.rng
    operation = world.invoke(process)
    offset, generation = rng.randint(0, partition.high_watermark), coordinator.generation
    row = _row(F.COMMIT_OFFSETS, partition) | {"offset": offset, "generation": generation}
    world.under_way[operation["op_id"]] = operation, [row | {"type": "info"}]
    yield
    arrives = rng.random() < 0.9 and generation == coordinator.generation
    if arrives:
        coordinator.offsets[partition.number] = offset
    yield
    outcome = "ok" if arrives and rng.random() < 0.9 else "info"
    if not arrives and rng.random() < 0.5:
        outcome = "fail"
    del world.under_way[operation["op_id"]]
    world.write(
        operation, [row | {"type": outcome}], completed=outcome != "info" or rng.random() < 0.5
    )


def _ask(world: World, process: int, partition: Partition, coordinator: Coordinator) -> Steps:
    operation = world.invoke(process)
    yield
    known = coordinator.offsets.get(partition.number)
    yield
    row = _row(F.FETCH_OFFSETS, partition) | {"type": "ok", "offset": known}
    world.write(operation, [row])


def _row(f: F, partition: Partition) -> dict[str, object]:
    return {"f": f.value, "topic": TOPIC, "partition": partition.number, "group": GROUP}
