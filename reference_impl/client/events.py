"""The events that can reach a client. Time arrives here, and nowhere else.

`monotonic_ms` measures periods, so that a jump of the wall clock moves no deadline; `now_ms` is the
wall clock, and stamps records. Randomness comes from an object that the host passes once
(`kernel.Chance`).
"""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.client.calls import Call
from reference_impl.links.effects import Destination
from reference_impl.wire import Struct


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Base of all events."""

    now_ms: int
    monotonic_ms: int


@dataclass(frozen=True, slots=True)
class Called(Event):
    """The application makes a call; the answer is a Complete or a Fail with this number."""

    call_id: int
    call: Call


@dataclass(frozen=True, slots=True)
class Abandoned(Event):
    """The application no longer waits for this call (it was cancelled)."""

    call_id: int


@dataclass(frozen=True, slots=True, eq=False)
class Answered(Event):
    """The answer to an Ask. `body` is None if none is expected; the request may not be written
    yet."""

    request_id: int
    body: Struct | None


@dataclass(frozen=True, slots=True)
class ConnectionLost(Event):
    """A connection could not be made, or broke, so that its requests will not be answered.

    It is not known whether the broker has acted on those requests.
    """

    destination: Destination
    reason: str


@dataclass(frozen=True, slots=True)
class Woken(Event):
    """The time of the last WakeAt has come."""
