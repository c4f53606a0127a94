"""The events that can reach a broker. Time and randomness arrive here, and nowhere else.

The core never reads a clock or draws a random number: each event carries the wall clock (`now_ms`,
for timestamps), a clock that never jumps (`monotonic_ms`, for periods) and some random bytes
(`entropy`, for ids). Timers (`effects.SetTimer`) run by the clock that never jumps.
"""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.links.effects import Destination
from reference_impl.wire import Struct

TimerKey = tuple[str | int, ...]
"""The owner of the timer (a key of `node.TIMERS`), then whatever the owner needs to find its
subject."""


# Not frozen: a frozen dataclass takes three times as long to make, and each request makes some.
@dataclass(slots=True)
class Request:
    """One decoded request, and where its answer goes."""

    connection: int
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client_host: str
    body: Struct
    size_bytes: int = 0
    """The size of the frame that it came in, for quotas."""
    principal: str | None = None
    """The principal for whom another node forwards the request (KIP-590); None means the
    connection's own principal."""
    is_for_controller: bool = False
    """Whether the client has sent the request to the controller itself, and no broker has checked
    it (KIP-919)."""


@dataclass(slots=True)
class Event:
    """Base of all events."""

    now_ms: int
    monotonic_ms: int
    entropy: bytes


@dataclass(slots=True)
class Started(Event):
    """The first event: open the data directory and begin to serve."""


@dataclass(slots=True)
class Stopping(Event):
    """The last event of a clean shutdown: make the disk complete."""


@dataclass(slots=True)
class RequestArrived(Event):
    """A client asks. The host delivers one request of a connection at a time (SocketServer)."""

    request: Request


@dataclass(slots=True)
class GoOn(Event):
    """Continue with the request of this connection: other requests have had their turn (see
    GiveWay)."""

    connection: int


@dataclass(slots=True)
class ConnectionOpened(Event):
    """A client has connected to a listener. A connection for which this event never came counts as
    one to the first listener. subject: that of the client's certificate in the form of RFC 2253,
    None if it has shown none."""

    connection: int
    listener: str
    client_port: int = 0
    subject: str | None = None


@dataclass(slots=True)
class TokenArrived(Event):
    """A SASL token without a request around it, which came after ReadTokens."""

    connection: int
    token: bytes


@dataclass(slots=True)
class ConnectionClosed(Event):
    """A connection is gone, from whichever side; nothing can be answered on it any more."""

    connection: int


@dataclass(slots=True)
class Answered(Event):
    """The answer to an Ask. `body` is None when none was expected: the host then has accepted the
    request, and may still have to write it."""

    request_id: int
    body: Struct | None


@dataclass(slots=True)
class ConnectionLost(Event):
    """A connection to another node could not be made, or broke. Requests on it will not be
    answered, and the other node may or may not have acted on them."""

    destination: Destination
    reason: str


@dataclass(slots=True)
class StopAsked(Event):
    """The host asks the node for a controlled shutdown: the node hands over its leaderships, then
    answers with Stop."""


@dataclass(slots=True)
class TimerFired(Event):
    """A timer which was set, and not cancelled or set again, has run out."""

    key: TimerKey
