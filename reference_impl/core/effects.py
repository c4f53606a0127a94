"""The actions that a broker asks of its host, performed strictly in the order in which `step`
returns them.

Because of that order, "append, then answer" can be read in a handler: the append has happened when
the Respond is yielded, and the host sends nothing before that.
"""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.core.events import Request, TimerKey
from reference_impl.links import effects as links
from reference_impl.wire import Struct

Effect = links.Effect
"""Base of all effects. The effects on connections to other nodes, Ask and HangUp, are defined in
`reference_impl/links/effects.py`."""


# Not frozen: a frozen dataclass takes three times as long to make, and each request makes some.
@dataclass(slots=True, eq=False)
class Respond(Effect):
    """Answer a request. The connection may then deliver its next one."""

    request: Request
    body: Struct
    version: int | None = None
    """Encode in this version; None means the version of the request (see ApiVersions, KIP-511)."""
    throttle_ms: int = 0
    """Send the answer now, and take nothing more from the connection for so long (KIP-219)."""


@dataclass(slots=True, eq=False)
class Release(Effect):
    """The request is done and gets no answer (Produce with acks=0)."""

    request: Request
    throttle_ms: int = 0


@dataclass(slots=True)
class Wait(Effect):
    """Base of the effects by which a handler waits (`core/waiting`); the handler is resumed
    later."""


@dataclass(slots=True, eq=False)
class GiveWay(Wait):
    """Let other requests have their turn if one of them has waited long enough, then deliver GoOn.

    A handler yields this after each element of a request, since a request may have any number of
    them. At that point it must not have left a change half made. The host decides
    (`Node.must_give_way`): if that returns False, the handler continues at once, and the host never
    sees the effect. The host sees no other Wait.
    """

    request: Request


@dataclass(slots=True, eq=False)
class Failed(Effect):
    """Handling one event failed: close the connection that caused it, show the error to the
    operator, and serve the others. Earlier effects of the step remain in force. A StorageError ends
    the broker: nothing follows it."""

    connection: int | None
    error: Exception


@dataclass(slots=True)
class Stop(Effect):
    """End the node. The host delivers Stopping before it does."""

    failure: str | None = None
    """The reason why the broker cannot continue, or None if it was asked to stop."""


@dataclass(slots=True)
class CloseConnection(Effect):
    """Close a connection, saying why in the log of the host."""

    connection: int
    reason: str


@dataclass(slots=True)
class ReadTokens(Effect):
    """Expect SASL tokens without Kafka headers on this connection from now on, and deliver them as
    TokenArrived (SaslHandshake version 0)."""

    connection: int


@dataclass(slots=True)
class SendToken(Effect):
    """Send a SASL token without a Kafka header, in answer to a TokenArrived; then the connection
    may deliver the next token."""

    connection: int
    token: bytes


@dataclass(slots=True)
class Admit(Effect):
    """Read requests of any allowed size on this connection, which is authenticated."""

    connection: int


@dataclass(slots=True)
class SetTimer(Effect):
    """Deliver TimerFired(key) after `delay_ms`; a running timer with this key is replaced."""

    key: TimerKey
    delay_ms: int


@dataclass(slots=True)
class CancelTimer(Effect):
    """Forget a timer; harmless when it has fired already."""

    key: TimerKey


@dataclass(slots=True)
class Report(Effect):
    """Show one sentence to the operator of the broker (the core itself writes no log)."""

    sentence: str
