"""Add a long quiet time to a history of the model: readers keep polling, time passes, and few
records are sent. All earlier actors stop, and pending markers are written. Then a producer sends
now and then, and each reader takes all available records every ten seconds."""

from __future__ import annotations

from collections.abc import Sequence

from linearizability.self_test.model.consumers import FAILURES, Consumer, assign, join, poll
from linearizability.self_test.model.producers import plain_producer
from linearizability.self_test.model.world import Actor, World

ROUNDS = 12
ROUND_NS = 10_000_000_000
TURNS_A_ROUND = 60
TURNS_TO_SETTLE = 5_000


def watch(world: World, players: Sequence[Actor]) -> None:
    """Stop these actors, let pending markers be written, then let two quiet minutes pass in which
    readers keep polling. Leave out the minutes if a marker stays unwritten. No actor is left at the
    end."""
    world.actors = [actor for actor in world.actors if actor not in players]
    world.actors.append(world.replication())
    for _ in range(TURNS_TO_SETTLE):
        if len(world.actors) > 1:
            world.run(1)
    if len(world.actors) > 1:  # a marker is not replicated, so its transaction stays open
        world.actors.clear()
        return
    world.actors.append(plain_producer(world))
    readers = [Consumer(world, world.rng.choice([None, f"watchers-{n}"])) for n in range(3)]
    for reader in readers:
        if reader.group is not None:
            join(world, reader)
        assign(world, reader)
    for _ in range(ROUNDS):
        world.run(TURNS_A_ROUND)
        for reader in readers:
            take_all(world, reader)
        world.now_ns += ROUND_NS
    world.actors.clear()


def take_all(world: World, reader: Consumer) -> None:
    """Poll until a poll receives nothing. At most one poll ends with an unknown result: after it
    the reader's positions are set again, perhaps to the beginning, and further failures might keep
    it from the end of a long log."""
    failures = FAILURES
    while True:
        given = len(world.rows)
        if not _poll_at_once(world, reader, failures):
            failures = 0.0
            assign(world, reader)
        elif world.rows[given].get("offset") is None:
            return


def _poll_at_once(world: World, reader: Consumer, failures: float) -> bool:
    """Poll once while no other actor runs. Return whether the reader can continue, as `poll`
    does."""
    steps = poll(world, reader, failures)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return bool(ended.value)
