"""The actions that links request from their host, and the names of connections."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reference_impl.wire import Struct


class Effect:
    """Base of all effects, of clients and of nodes."""

    __slots__ = ()


class Lane(StrEnum):
    """The purpose of a connection. Requests that may wait for long delay others on their
    connection, so each kind has its own.

    A consumer talks to its coordinator on a connection of its own, as Java's does
    (AbstractCoordinator: the coordinator's node id is Integer.MAX_VALUE minus its id); so does a
    broker to the controller (NodeToControllerChannelManager).
    """

    DATA = "data"
    COORDINATOR = "coordinator"
    CONTROLLER = "controller"
    QUORUM = "quorum"
    """The lane of votes, which must not wait for other requests (KafkaNetworkChannel)."""
    METADATA = "metadata"
    """The lane of fetches of the metadata log, which the leader holds back until it has records."""

    @property
    def leads_to_controllers(self) -> bool:
        """Return whether a node uses this lane for controllers, not for brokers."""
        return self in (Lane.CONTROLLER, Lane.QUORUM, Lane.METADATA)


@dataclass(frozen=True, slots=True)
class Destination:
    """One connection. The host opens it with the first request."""

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
