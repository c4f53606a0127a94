"""Getting in by SASL, as conversations; what a client hears over the wire is in conformance."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.clients.sasl import Scram, plain, salted
from reference_impl.core.events import ConnectionOpened, TokenArrived
from reference_impl.core.security.listener_settings import PLAIN_MODULE, SCRAM_MODULE
from reference_impl.core.security.sasl.states import SASL, Move, State, next_state
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, request_definition

CONFIG = {
    "listeners": "PLAINTEXT://:1,OUT://:2",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUT:SASL_PLAINTEXT",
    "listener.name.out.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.out.plain.sasl.jaas.config": f"{PLAIN_MODULE} required user_a=x user_b=y;",
    "listener.name.out.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    "listener.name.out.plain.connections.max.reauth.ms": "5000",
}
CLIENT = 7
FAILED = ErrorCode.SASL_AUTHENTICATION_FAILED


class SaslWorld(World):
    """A World with a client at the listener with SASL."""

    def __init__(self) -> None:
        super().__init__(CONFIG)
        self.come()

    def come(self) -> None:
        self._step(ConnectionOpened(*self.moment(), CLIENT, "OUT"))

    def send_token(self, token: bytes) -> None:
        self._step(TokenArrived(*self.moment(), CLIENT, token))

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> int:
        answer = self.call(ApiKey.SASL_HANDSHAKE, version, CLIENT, mechanism=mechanism)
        return int(answer.error_code)

    def authenticate(self, token: bytes) -> Any:
        return self.call(ApiKey.SASL_AUTHENTICATE, 2, CLIENT, auth_bytes=token)

    def log_in(self, user: str = "a", password: str = "x") -> Any:
        assert self.handshake() == ErrorCode.NONE
        return self.authenticate(plain(user, password))

    def refused(self, user: str, password: str) -> Any:
        """Return the answer that comes after the delay of a refusal."""
        assert self.handshake() == ErrorCode.NONE
        body = request_definition(ApiKey.SASL_AUTHENTICATE).new(auth_bytes=plain(user, password))
        number = self.send(ApiKey.SASL_AUTHENTICATE, 2, body, CLIENT)
        self.wait(99)
        assert self.answer_to(number) is None
        assert CLIENT not in self.closed
        self.wait(1)
        return self.answer_to(number)

    def is_served(self) -> bool:
        body = request_definition(ApiKey.METADATA).new(topics=[])
        number = self.send(ApiKey.METADATA, 12, body, CLIENT)
        return self.answer_to(number) is not None

    def principal(self) -> str:
        return self.node.broker.principals.of(CLIENT)


def test_the_table_leads_nowhere_but_in_and_out() -> None:
    assert set(SASL) == set(State)
    reached = {state for moves in SASL.values() for state in moves.values()}
    assert reached == set(State) - {State.NEW}
    with pytest.raises(ValueError, match="NEW cannot make the move PROVEN"):
        next_state(State.NEW, Move.PROVEN)


def test_who_has_proven_who_it_is_has_a_principal() -> None:
    world = SaslWorld()
    assert not world.is_served()
    assert "NEW, not authenticated" in world.closed[CLIENT]
    world = SaslWorld()
    answer = world.log_in()
    assert (answer.error_code, answer.session_lifetime_ms) == (ErrorCode.NONE, 5000)
    assert world.principal() == "User:a"
    assert world.is_served()
    assert world.node.broker.authentication.outside == {}


def test_a_refusal_comes_late_and_closes() -> None:
    world = SaslWorld()
    answer = world.refused("a", "wrong")
    assert answer.error_code == FAILED
    assert world.closed == {CLIENT: "authentication failed"}
    assert world.principal() == "User:ANONYMOUS"


def test_a_client_that_goes_while_its_refusal_waits_leaves_nothing() -> None:
    world = SaslWorld()
    world.handshake()
    before = set(world.timers)
    body = request_definition(ApiKey.SASL_AUTHENTICATE).new(auth_bytes=b"nonsense")
    world.send(ApiKey.SASL_AUTHENTICATE, 2, body, CLIENT)
    assert len(set(world.timers) - before) == 1
    world.disconnect(CLIENT)
    assert set(world.timers) == before
    authentication = world.node.broker.authentication
    assert (authentication.outside, authentication._sessions) == ({}, {})
    world.come()
    assert world.log_in().error_code == ErrorCode.NONE, "the number is free for another"


def test_a_session_ends_and_begins_again() -> None:
    world = SaslWorld()
    world.log_in()
    world.wait(4000)
    assert world.log_in().session_lifetime_ms == 5000
    world.wait(4999)
    assert world.is_served()
    world.wait(1)
    assert world.handshake() == ErrorCode.NONE, "late, but the same user"
    assert world.authenticate(plain("a", "x")).error_code == ErrorCode.NONE
    assert world.is_served()
    world.wait(5000)
    assert not world.is_served()
    assert "EXPIRED" in world.closed[CLIENT]


def test_a_user_stays_who_it_is() -> None:
    world = SaslWorld()
    world.log_in()
    answer = world.refused("b", "y")
    assert answer.error_code == FAILED
    assert "from User.a: User.b" in answer.error_message
    assert CLIENT in world.closed


def test_during_the_exchange_nothing_else_is_served() -> None:
    world = SaslWorld()
    world.log_in()
    world.handshake()
    assert not world.is_served()
    assert "RENEWING" in world.closed[CLIENT]


def test_handshakes_within_a_second_are_refused_and_harm_nothing() -> None:
    world = SaslWorld()
    world.log_in()
    world.log_in()
    assert world.handshake() == ErrorCode.ILLEGAL_SASL_STATE
    assert world.is_served()
    world.wait(1000)
    assert world.log_in().error_code == ErrorCode.NONE


def test_bare_tokens_after_a_handshake_of_version_0() -> None:
    world = SaslWorld()
    user, password, salt = "carl", "pencil", b"salt"
    of = request_definition(ApiKey.ALTER_USER_SCRAM_CREDENTIALS)
    row = of.struct(
        "ScramCredentialUpsertion",
        name=user,
        mechanism=1,
        iterations=4096,
        salt=salt,
        salted_password=salted("SCRAM-SHA-256", password, salt, 4096),
    )
    answer = world.call(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 1, upsertions=[row])
    assert answer.results[0].error_code == ErrorCode.NONE
    world.restart()  # the metadata log has the user
    world.come()
    client = Scram("SCRAM-SHA-256", user, password)
    assert world.handshake("SCRAM-SHA-256", version=0) == ErrorCode.NONE
    assert "ReadTokens(connection=7)" in world.trace
    world.send_token(client.first())
    world.send_token(client.final(world.tokens.pop()))
    assert world.tokens == [client.server_signature()]
    assert world.principal() == "User:carl"
    assert world.is_served()


def test_a_bare_token_that_is_wrong_closes_late_and_says_nothing() -> None:
    world = SaslWorld()
    world.handshake(version=0)
    world.send_token(plain("a", "wrong"))
    assert CLIENT not in world.closed
    world.wait(100)
    assert CLIENT in world.closed
    assert world.tokens == []


def test_who_does_not_come_by_that_listener_is_anonymous() -> None:
    world = SaslWorld()
    answer = world.call(ApiKey.SASL_HANDSHAKE, 1, 1, mechanism="PLAIN")
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    answer = world.call(ApiKey.SASL_AUTHENTICATE, 2, 1, auth_bytes=plain("a", "x"))
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert world.call(ApiKey.METADATA, 12, 1, topics=[]).brokers
