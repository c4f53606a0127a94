"""The means to drive a machine whose calls are awaited.

`reference_impl.host.clients` drives machines over TCP with asyncio, a simulator in virtual time. A
call is under way as soon as it is made; the wait for its answer may begin later, or never.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from reference_impl.client.calls import Call
from reference_impl.client.effects import PartitionsChanged
from reference_impl.client.machine import Machine


class Driver(Protocol):
    """Steps one machine: it owns the connections, the timer and the calls that wait."""

    def call(self, call: Call) -> Awaitable[Any]:
        """Make a call at once; the awaitable returns its answer or raises its ClientError. If the
        wait is broken off, abandon the call."""

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside the caller, until it ends or the driver is closed."""

    def close(self) -> None:
        """Drop the connections, the timer, and what was spawned."""


OnChange = Callable[[PartitionsChanged], None]
Drive = Callable[[Machine, OnChange], Driver]
"""Returns a new driver of a machine, which tells the function how the partitions change."""
