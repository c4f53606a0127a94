"""Authentication by SASL, connection by connection; [states.py](states.py) has the table.

Source: SaslServerAuthenticator.java; KIP-43, KIP-152, KIP-368; KIP-306 (a refusal is delayed).

Only connections to listeners with SASL are tracked here. Those that are not, or no longer,
authenticated are in `outside`. The node looks there before every request; authenticated connections
have no other cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from reference_impl.core.controller.image.scram_users import ScramUsers
from reference_impl.core.effects import (
    Admit,
    CancelTimer,
    CloseConnection,
    Effect,
    ReadTokens,
    Respond,
    SendToken,
    SetTimer,
)
from reference_impl.core.events import Request, TimerKey
from reference_impl.core.moment import Moment
from reference_impl.core.refused import Refused
from reference_impl.core.security.listeners import Sasl
from reference_impl.core.security.principals import ANONYMOUS, Principals
from reference_impl.core.security.sasl.mechanisms import Denied, Exchange
from reference_impl.core.security.sasl.plain import PLAIN, PlainExchange
from reference_impl.core.security.sasl.scram import SCRAM_MECHANISMS, ScramExchange
from reference_impl.core.security.sasl.states import Move, State, next_state
from reference_impl.core.security.sasl.tokens import Tokens
from reference_impl.wire import API_NAMES, ApiKey, ErrorCode

TIMER = "authentication"
_REFUSAL, _SESSION, _RENEWAL = "refusal", "session", "renewal"
RENEWALS_APART_MS = 1000
"""The shortest time between two re-authentications in milliseconds
(KafkaChannel.MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS)."""
NONCE_BYTES = 16
ALLOWED: dict[State, tuple[ApiKey, ...]] = {
    State.NEW: (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE),
    State.KNOWS_VERSIONS: (ApiKey.SASL_HANDSHAKE,),
    State.EXCHANGING: (ApiKey.SASL_AUTHENTICATE,),
    State.RENEWING: (ApiKey.SASL_AUTHENTICATE,),
    State.EXPIRED: (ApiKey.SASL_HANDSHAKE,),
    State.REFUSED: (),
}
"""The requests allowed before authentication; every other one closes the connection."""


@dataclass(eq=False)
class Session:
    """One connection to a listener with SASL, and how far its authentication has come."""

    connection: int
    sasl: Sasl
    state: State = State.NEW
    mechanism: str = ""
    exchange: Exchange | None = None
    """The exchange of tokens that is in progress. None if none is, or if a re-authentication names
    a different mechanism than before."""
    user: str | None = None
    """The authenticated user, None before the first login. A re-authentication cannot change it."""
    token_expiry_ms: int | None = None
    """The expiry of the delegation token with which the user logged in, in milliseconds of the wall
    clock; None if a password was used."""
    lifetime_ms: int | None = None
    """The milliseconds that this session lasts from its beginning; None means without end."""
    may_renew: bool = True
    """Whether no re-authentication has begun within the last RENEWALS_APART_MS."""
    refusal: Respond | None = field(default=None, repr=False)
    """The answer that is held back for a while before the connection is closed."""

    def move(self, move: Move) -> None:
        """Change the state as the table of transitions says for this move. Raise ValueError for a
        move that the table lacks, an error of the broker itself."""
        self.state = next_state(self.state, move)

    def objection_to(self, api_key: int) -> str | None:
        """Return why this request is not allowed before authentication, or not now, or None if it
        is allowed."""
        if api_key in ALLOWED[self.state]:
            return None
        name = API_NAMES.get(api_key, str(api_key))
        return f"{name} from a connection that is {self.state.name}, not authenticated"

    @property
    def is_in(self) -> bool:
        """Return whether the client is authenticated, so that its requests are served."""
        return self.state is State.IN

    @property
    def may_begin(self) -> bool:
        """Return whether a handshake is allowed now: before authentication or after the session
        expired, but not during an exchange or after a refusal; while authenticated only if the
        session expires, and not too soon after the renewal before."""
        if not self.is_in:
            return self.state in (State.NEW, State.KNOWS_VERSIONS, State.EXPIRED)
        return self.may_renew and self.lifetime_ms is not None

    def proven(self, exchange: Exchange, now_ms: int) -> None:
        """Begin the session of the user that an exchange has authenticated. It ends when its token
        expires or after connections.max.reauth.ms, whichever is first
        (SaslServerAuthenticator.ReauthInfo)."""
        self.move(Move.PROVEN)
        self.user, self.token_expiry_ms = exchange.user, exchange.token_expiry_ms
        self.exchange = None
        ends = []
        if self.token_expiry_ms is not None:
            ends.append(max(0, self.token_expiry_ms - now_ms))
        if (reauthentication_ms := self.sasl.session_ms.get(self.mechanism, 0)) > 0:
            ends.append(reauthentication_ms)
        self.lifetime_ms = min(ends, default=None)


class Authentication:
    """The authentication of all connections to listeners with SASL."""

    def __init__(
        self, users: ScramUsers, tokens: Tokens, principals: Principals, moment: Moment
    ) -> None:
        self._users, self._tokens = users, tokens
        self._principals, self._moment = principals, moment
        self._sessions: dict[int, Session] = {}
        self.outside: dict[int, Session] = {}
        """Connection -> session, for the connections whose requests must not be served now."""

    def opened(self, connection: int, sasl: Sasl) -> None:
        """Begin to track a new connection, not authenticated yet."""
        self._sessions[connection] = self.outside[connection] = Session(connection, sasl)

    def closed(self, connection: int) -> Iterator[Effect]:
        """Forget a closed connection, and cancel its timers."""
        self.outside.pop(connection, None)
        if self._sessions.pop(connection, None) is not None:
            for what in (_REFUSAL, _SESSION, _RENEWAL):
                yield CancelTimer((TIMER, connection, what))

    def session_of(self, request: Request) -> Session | None:
        """Return the session of a request's connection, or None on a listener without SASL."""
        return self._sessions.get(request.connection)

    def check_may_manage_tokens(self, request: Request) -> None:
        """Raise Refused(DELEGATION_TOKEN_REQUEST_NOT_ALLOWED) unless the connection was
        authenticated by SASL or by a certificate, without a token.

        TLS without client certificates authenticates only the broker, and a token that could create
        tokens would never end (KafkaApis.allowTokenRequests).
        """
        session = self.session_of(request)
        if session is None:
            is_known = self._principals.of(request.connection) != ANONYMOUS
        else:
            is_known = session.token_expiry_ms is None
        if not is_known:
            raise Refused(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)

    def told_versions(self, request: Request) -> None:
        """Note that ApiVersions was answered. Before authentication a client may send it only
        once."""
        outsider = self.outside.get(request.connection)
        if outsider is not None:
            outsider.move(Move.VERSIONS_TOLD)

    # --- the exchange -------------------------------------------------------------------------

    def begin(self, session: Session, mechanism: str, *, framed: bool) -> Iterator[Effect]:
        """Begin the exchange of the chosen mechanism; until it succeeds, the connection's requests
        are not served. framed: whether tokens come inside SaslAuthenticate requests (KIP-152)."""
        renews_otherwise = session.user is not None and mechanism != session.mechanism
        session.move(Move.MECHANISM_CHOSEN)
        self.outside[session.connection] = session
        session.exchange = None if renews_otherwise else self._exchange(session, mechanism)
        session.mechanism = mechanism
        if session.state is State.RENEWING:
            session.may_renew = False
            yield CancelTimer((TIMER, session.connection, _SESSION))
            yield SetTimer((TIMER, session.connection, _RENEWAL), RENEWALS_APART_MS)
        if not framed:
            yield ReadTokens(session.connection)

    def token(self, session: Session, token: bytes) -> bytes:
        """Return the answer to one token of the client. Raise Denied if it fails to log in, or a
        re-authentication names another mechanism or user."""
        if session.exchange is None:
            raise Denied("re-authentication by another mechanism")
        try:
            answer = session.exchange.answer(token)
        except Denied as denied:
            denied.message = denied.message or self._same_words_for_all(session)
            raise
        user = session.exchange.user
        if user is not None and session.user not in (None, user):
            raise Denied(
                "re-authentication as another user",
                f"Cannot change principals during re-authentication from User.{session.user}:"
                f" User.{user}",
            )
        return answer

    def let_in(self, session: Session) -> Iterator[Effect]:
        """Admit the client if its exchange is complete, and set a timer for the end of its session
        if it has one; else do nothing."""
        if session.exchange is None or session.exchange.user is None:
            return
        session.proven(session.exchange, self._moment.now_ms)
        del self.outside[session.connection]
        self._principals.authenticated(session.connection, f"User:{session.user}")
        if session.lifetime_ms == 0:  # logged in by an expired token that is not removed yet
            self._end(session)
        elif session.lifetime_ms is not None:
            yield SetTimer((TIMER, session.connection, _SESSION), session.lifetime_ms)
        yield Admit(session.connection)

    def refuse(self, session: Session, answer: Respond | None) -> Iterator[Effect]:
        """Hold the answer back for connection.failed.authentication.delay.ms, so that passwords
        cannot be guessed fast, then send it (None: nothing) and close the connection."""
        session.move(Move.DENIED)
        self.outside[session.connection] = session
        session.refusal = answer
        yield CancelTimer((TIMER, session.connection, _SESSION))
        yield SetTimer((TIMER, session.connection, _REFUSAL), session.sasl.failure_delay_ms)

    def token_arrived(self, connection: int, token: bytes) -> Iterator[Effect]:
        """Handle a token that comes without a request around it, after a handshake of version 0:
        answer it, or refuse the client."""
        session = self._sessions[connection]
        try:
            answer = self.token(session, token)
        except Denied:
            yield from self.refuse(session, None)
            return
        yield from self.let_in(session)
        yield SendToken(connection, answer)

    # --- time ---------------------------------------------------------------------------------

    def timer_fired(self, key: TimerKey) -> Iterator[Effect]:
        """Send a due refusal and close the connection, end an expired session, or allow
        re-authentication again, as the timer's key says."""
        session = self._sessions[int(key[1])]
        if key[2] == _RENEWAL:
            session.may_renew = True
        elif key[2] == _SESSION:
            self._end(session)
        else:
            if session.refusal is not None:
                yield session.refusal
            yield CloseConnection(session.connection, "authentication failed")

    # --- inside -------------------------------------------------------------------------------

    def _exchange(self, session: Session, mechanism: str) -> Exchange:
        if mechanism == PLAIN:
            return PlainExchange(session.sasl.passwords)
        scram = SCRAM_MECHANISMS[mechanism]
        nonce = self._moment.random_bytes(NONCE_BYTES).hex()
        return ScramExchange(
            scram,
            lambda user: self._users.credential(user, scram.number),
            nonce,
            lambda token_id: self._tokens.login(token_id, scram),
        )

    def _end(self, session: Session) -> None:
        session.move(Move.SESSION_ENDS)
        self.outside[session.connection] = session

    def _same_words_for_all(self, session: Session) -> str:
        renewing = session.state is State.RENEWING
        return (
            f"Authentication failed during {'re-' if renewing else ''}authentication due to invalid"
            f" credentials with SASL mechanism {session.mechanism}"
        )
