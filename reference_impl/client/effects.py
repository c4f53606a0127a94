"""The actions that a client asks of its host, performed strictly in the order in which `step`
returns them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reference_impl.client.errors import ClientError
from reference_impl.client.values import TopicPartition
from reference_impl.wire import Struct


class Lane(StrEnum):
    """Requests which may wait at the broker for long keep others from its connection.

    A consumer talks to its coordinator on a connection of its own, as Java's does
    (AbstractCoordinator: the coordinator's node id is Integer.MAX_VALUE minus its id).
    """

    DATA = "data"
    COORDINATOR = "coordinator"


@dataclass(frozen=True, slots=True)
class Destination:
    """One connection. The host opens it when something is first asked there."""

    host: str
    port: int
    lane: Lane


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """Base of all effects."""


@dataclass(frozen=True, slots=True, eq=False)
class Ask(Effect):
    """Send a request. Requests of one destination are written in the order in which they come."""

    request_id: int
    destination: Destination
    api_key: int
    api_version: int
    client_id: str
    body: Struct
    expects_answer: bool = True


@dataclass(frozen=True, slots=True)
class CloseConnection(Effect):
    """Close a connection; the host reports no ConnectionLost for it."""

    destination: Destination


@dataclass(frozen=True, slots=True)
class WakeAt(Effect):
    """Deliver Woken at this time of the monotonic clock, instead of an earlier WakeAt."""

    monotonic_ms: int


@dataclass(frozen=True, slots=True, eq=False)
class Complete(Effect):
    """A call has succeeded."""

    call_id: int
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Fail(Effect):
    """A call has failed."""

    call_id: int
    error: ClientError


class Change(StrEnum):
    """How the partitions of a consumer change (ConsumerRebalanceListener)."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"
    """Another member may have them already, so nothing can be committed for them any more."""


@dataclass(frozen=True, slots=True)
class PartitionsChanged(Effect):
    """Tell the application. If it subscribed with a listener, the consumer waits for
    ChangeHandled."""

    change: Change
    partitions: tuple[TopicPartition, ...]
