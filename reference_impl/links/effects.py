"""The effects that links ask of their host, and the names of connections."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reference_impl.wire import Struct


class Effect:
    """Base of all effects, of clients and of nodes."""

    __slots__ = ()


class Lane(StrEnum):
    """Requests which may wait for long keep others from their connection, so each kind has its own.

    A consumer talks to its coordinator on a connection of its own, as Java's does
    (AbstractCoordinator: the coordinator's node id is Integer.MAX_VALUE minus its id); a broker
    talks so to the controller (NodeToControllerChannelManager).
    """

    DATA = "data"
    COORDINATOR = "coordinator"
    CONTROLLER = "controller"
    QUORUM = "quorum"
    """Votes: they must not wait behind anything (KafkaNetworkChannel)."""
    METADATA = "metadata"
    """Fetches of the metadata log, which the leader holds back until there is something new."""


@dataclass(frozen=True, slots=True)
class Destination:
    """One connection. The host opens it when something is first asked there."""

    host: str
    port: int
    lane: Lane


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
class HangUp(Effect):
    """Close a connection that was made for an Ask; the host reports no ConnectionLost for it."""

    destination: Destination
