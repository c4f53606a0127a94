"""A restart keeps the state, and the core depends on nothing but its events."""

from __future__ import annotations

from typing import Any

from reference_impl.core.requests.automatic_topics import ensure_groups_topic
from reference_impl.core.tests.world import World
from reference_impl.wire import ErrorCode

IDEMPOTENT: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0}


def test_acknowledged_records_survive_kill() -> None:
    world = World()
    world.create_topic("t")
    for value in "abc":
        world.produce("t", value)
    world.kill()
    assert world.read_all("t") == ["a", "b", "c"]
    assert world.produce("t", "d").base_offset == 3


def test_a_retry_across_a_kill_is_recognised() -> None:
    world = World()
    world.create_topic("t")
    world.produce("t", "a", **IDEMPOTENT, base_sequence=0)
    world.kill()
    again = world.produce("t", "a", **IDEMPOTENT, base_sequence=0)
    assert (again.error_code, again.base_offset) == (0, 0)
    assert world.read_all("t") == ["a"]
    gap = world.produce("t", "c", **IDEMPOTENT, base_sequence=2)
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_retry_across_a_clean_restart_is_recognised() -> None:
    world = World()
    world.create_topic("t")
    world.produce("t", "a", **IDEMPOTENT, base_sequence=0)
    world.restart()
    again = world.produce("t", "a", **IDEMPOTENT, base_sequence=0)
    assert (again.error_code, again.base_offset) == (0, 0)


def test_without_flushing_a_loss_of_power_loses_records_and_nothing_else() -> None:
    world = World()
    world.create_topic("t")
    world.create_topic("safe", flush_messages="1")
    for topic in ("t", "safe"):
        world.produce(topic, "a")
    world.lose_power()
    assert world.read_all("t") == []
    assert world.read_all("safe") == ["a"]
    assert world.produce("t", "b").base_offset == 0


def conversation(seed: int) -> list[str]:
    """Run a short life of a node and return everything that it does."""
    world = World(seed=seed)
    world.create_topic("t", 2)
    for value in "abc":
        world.produce("t", value)
    world.kill()
    world.fetch("t")
    ensure_groups_topic(world.node.broker)
    world.settle()
    world.wait(120_000)
    world.restart()
    return world.trace


def test_the_same_events_have_the_same_effects() -> None:
    assert conversation(1) == conversation(1)
    assert conversation(1) != conversation(2)  # topic ids are drawn from the events
