"""Repeat a request until it gets a final answer, and count the attempts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from chaos.means.connection import WireError
from chaos.world import World

RETRY_S = 0.05
ASK_AGAIN = frozenset(
    {
        "NOT_LEADER_OR_FOLLOWER",
        "LEADER_NOT_AVAILABLE",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "REQUEST_TIMED_OUT",
        "KAFKA_STORAGE_ERROR",
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "NOT_COORDINATOR",
        "CONCURRENT_TRANSACTIONS",
        "WireError",
    }
)


class Refused(Exception):
    """Raised for an error that no further attempt would change, or for the last error when the time
    was up. name: Kafka's name of the error, or "WireError" for no answer. attempts: the number of
    requests sent so far."""

    def __init__(self, name: str, attempts: int, detail: str = "") -> None:
        super().__init__(detail or name)
        self.name = name
        self.attempts = attempts


async def insist(
    world: World, timeout_s: float, attempt: Callable[[], Awaitable[str | None]]
) -> int:
    """Repeat the attempt until it succeeds. Return the number of attempts, or raise Refused if the
    time is over, or at an error that another attempt will not change. attempt: returns the name of
    an error, or None for success; it may raise WireError."""
    deadline, attempts = world.monotonic() + timeout_s, 0
    while True:
        attempts += 1
        detail = ""
        try:
            error = await attempt()
        except WireError as raised:
            error, detail = "WireError", str(raised)
        if error is None:
            return attempts
        if error not in ASK_AGAIN or world.monotonic() > deadline:
            raise Refused(error, attempts, detail)
        await world.sleep(RETRY_S)
