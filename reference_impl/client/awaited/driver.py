"""The interface that runs a client's state machine so that its calls can be awaited.

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
    """Steps one client's state machine: it owns the connections, the timer and the calls that
    wait."""

    def call(self, call: Call) -> Awaitable[Any]:
        """Make a call at once; the awaitable returns its answer or raises its ClientError. If the
        waiting coroutine is cancelled, abandon the call."""

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside the caller, until it ends or the driver is closed."""

    def close(self) -> None:
        """Drop the connections, the timer, and the coroutines started by `spawn`."""


OnChange = Callable[[PartitionsChanged], None]
Drive = Callable[[Machine, OnChange], Driver]
"""A function that returns a new driver for a machine. The driver calls OnChange when the consumer's
partitions change."""
