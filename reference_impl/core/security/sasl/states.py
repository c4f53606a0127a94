"""The states of a connection to a listener with SASL, from NEW to authenticated.

Source: SaslServerAuthenticator.java (SaslState), KafkaChannel.maybeBeginServerReauthentication;
KIP-43 (the handshake), KIP-152 (tokens in SaslAuthenticate), KIP-368 (sessions that end).

A connection is NEW. It may ask once for ApiVersions, then it must choose a mechanism with
SaslHandshake; tokens go to and fro until it is IN, or REFUSED. Where sessions end it may make the
exchange again (RENEWING), as the same user by the same mechanism; one that does not is EXPIRED, and
closed when it asks for anything else.
"""

from __future__ import annotations

from enum import Enum, auto


class State(Enum):
    """The states of a connection; the module describes them."""

    NEW = auto()
    KNOWS_VERSIONS = auto()
    EXCHANGING = auto()
    IN = auto()
    RENEWING = auto()
    EXPIRED = auto()
    REFUSED = auto()


class Move(Enum):
    """The events that change the state of a connection."""

    VERSIONS_TOLD = auto()
    """ApiVersions was answered."""
    MECHANISM_CHOSEN = auto()
    """SaslHandshake named one that is enabled."""
    PROVEN = auto()
    """The last token proved the user's identity."""
    DENIED = auto()
    """The mechanism is not enabled, or a token was wrong."""
    SESSION_ENDS = auto()
    """The session's time is over: connections.max.reauth.ms have passed since the authentication,
    or the delegation token has expired."""


SASL: dict[State, dict[Move, State]] = {
    State.NEW: {
        Move.VERSIONS_TOLD: State.KNOWS_VERSIONS,
        Move.MECHANISM_CHOSEN: State.EXCHANGING,
        Move.DENIED: State.REFUSED,
    },
    State.KNOWS_VERSIONS: {Move.MECHANISM_CHOSEN: State.EXCHANGING, Move.DENIED: State.REFUSED},
    State.EXCHANGING: {Move.PROVEN: State.IN, Move.DENIED: State.REFUSED},
    State.IN: {
        Move.MECHANISM_CHOSEN: State.RENEWING,
        Move.SESSION_ENDS: State.EXPIRED,
        Move.DENIED: State.REFUSED,
    },
    State.RENEWING: {Move.PROVEN: State.IN, Move.DENIED: State.REFUSED},
    State.EXPIRED: {Move.MECHANISM_CHOSEN: State.RENEWING, Move.DENIED: State.REFUSED},
    State.REFUSED: {},
}


def next_state(state: State, move: Move) -> State:
    """Return the state to which a move leads. Raise ValueError for a move that the table lacks, an
    error of the broker itself."""
    following = SASL[state].get(move)
    if following is None:
        raise ValueError(f"a connection that is {state.name} cannot make the move {move.name}")
    return following
