"""A transactional producer in a World, in which the test sets the time and kills the broker."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.core.tests.world import World
from reference_impl.robustness.transactional_client import (
    CLASSIC,
    PER_TRANSACTION,
    TransactionalClient,
)
from reference_impl.wire import ApiKey, ErrorCode

CONFIG = {"transaction.state.log.num.partitions": "2"}
BOTH = pytest.mark.parametrize(
    "versions", [CLASSIC, PER_TRANSACTION], ids=["classic", "epoch-per-transaction"]
)


def transactional_world(config: dict[str, str] | None = None, **more: Any) -> World:
    """Return a world with topic `t`, both internal topics made, and their coordinators found."""
    world = World({**CONFIG, **(config or {})}, **more)
    world.create_topic("t", 2)
    for kind in (0, 1):
        for _ in range(2):
            world.call(ApiKey.FIND_COORDINATOR, 4, key_type=kind, coordinator_keys=["any"])
    return world


class Producer(TransactionalClient):
    """A transactional producer in a World, in which the test sets the time and kills the broker."""

    world: World


def begun(versions: dict[str, int] = CLASSIC, timeout_ms: int = 60_000) -> Producer:
    """Return a producer in a world of its own."""
    producer = Producer(transactional_world(), versions=versions)
    assert producer.init(timeout_ms).error_code == ErrorCode.NONE
    return producer


def open_transaction(producer: Producer, *values: str) -> None:
    """Begin a transaction in t-0 and leave it open."""
    if producer.versions is CLASSIC:
        assert producer.add() == ErrorCode.NONE
    assert producer.send(*values).error_code == ErrorCode.NONE
