"""Tries of a run to read partitions after final reads have failed, as a correct cluster may answer
them: it may be late, and a node may not answer, but then it answers nothing else either."""

from __future__ import annotations

from random import Random

from linearizability.history import F
from linearizability.self_test.model.world import RAW, TOPIC, Row, World

SECOND_NS = 1_000_000_000
LATE: tuple[Row, ...] = (
    {"type": "fail", "error": "NOT_LEADER_OR_FOLLOWER", "node": 1, "asked": "answered"},
    {"type": "fail", "error": "LEADER_NOT_AVAILABLE", "asked": "answered"},
    {"type": "info", "error": "_NO_ANSWER", "node": 1, "asked": "answered"},
)
"""Failed tries of a cluster that is late."""
SILENT: Row = {"type": "info", "error": "_NO_ANSWER", "node": 1, "asked": "silent"}


def try_partitions(world: World, rng: Random) -> None:
    """Record tries of each partition: some that fail, for as long as there is no excuse, or at
    different offsets, and then one that succeeds; or all fail because the node is silent."""
    process = next(world.processes)
    for partition in world.partitions:
        kind = rng.choice(["late", "slow", "silent"])
        failures = rng.randint(0, 9)
        for number in range(failures + 1):
            world.now_ns += 9 * SECOND_NS
            end = SILENT if kind == "silent" else rng.choice(LATE)
            if number == failures and kind == "late":
                end = {"type": "ok", "node": 1}
            row = {
                "f": F.TRY_READ.value,
                "topic": TOPIC,
                "topic_id": "id",
                "partition": partition.number,
                "client": RAW,
                "asked_offset": number // 4 if kind == "slow" else 0,
            }
            world.write(world.invoke(process), [row | end])
