"""Delegation tokens as conversations; what a client sees over the wire is in conformance."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from conformance.clients.sasl import Scram, plain
from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.controller import token_changes
from reference_impl.core.events import ConnectionOpened
from reference_impl.core.security.listener_settings import PLAIN_MODULE, SCRAM_MODULE
from reference_impl.core.tests.world import START_MS, World
from reference_impl.wire import ApiKey, ErrorCode, Struct, encode_response, request_definition
from reference_impl.wire.tests.memory import peak_memory

SECRET, CHECK = "delegation.token.secret.key", "delegation.token.expiry.check.interval.ms"
CONFIG = {
    "listeners": "PLAINTEXT://:1,OUT://:2",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUT:SASL_PLAINTEXT",
    "listener.name.out.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.out.plain.sasl.jaas.config": f"{PLAIN_MODULE} required user_a=x user_b=y;",
    "listener.name.out.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    SECRET: "secret",
    CHECK: "60000",
    "delegation.token.expiry.time.ms": "10000",
    "delegation.token.max.lifetime.ms": "30000",
}
ANN, BEN, WORKER = 7, 8, 9


class TokenWorld(World):
    """A World with two users of PLAIN, and a client that logs in with a token."""

    def __init__(self, **config: str) -> None:
        super().__init__(CONFIG | config)

    def boot(self) -> None:
        super().boot()
        self.closed.clear()
        for client, user, password in ((ANN, "a", "x"), (BEN, "b", "y")):
            self.come(client)
            self.call(ApiKey.SASL_HANDSHAKE, 1, client, mechanism="PLAIN")
            token = plain(user, password)
            answer = self.call(ApiKey.SASL_AUTHENTICATE, 2, client, auth_bytes=token)
            assert answer.error_code == ErrorCode.NONE

    def come(self, client: int) -> None:
        self._step(ConnectionOpened(*self.moment(), client, "OUT"))

    def make(self, client: int = ANN, *renewers: str, **fields: Any) -> Struct:
        of = request_definition(ApiKey.CREATE_DELEGATION_TOKEN)
        rows = [
            of.struct("CreatableRenewers", principal_type="User", principal_name=name)
            for name in renewers
        ]
        fields = {"max_lifetime_ms": -1, "renewers": rows} | fields
        return self.call(ApiKey.CREATE_DELEGATION_TOKEN, 3, client, **fields)

    def renew(self, token: Struct, client: int = ANN, period_ms: int = -1) -> tuple[int, int]:
        answer = self.call(
            ApiKey.RENEW_DELEGATION_TOKEN, 2, client, hmac=token.hmac, renew_period_ms=period_ms
        )
        return answer.error_code, answer.expiry_timestamp_ms

    def expire(self, token: Struct, client: int = ANN, period_ms: int = -1) -> tuple[int, int]:
        answer = self.call(
            ApiKey.EXPIRE_DELEGATION_TOKEN,
            2,
            client,
            hmac=token.hmac,
            expiry_time_period_ms=period_ms,
        )
        return answer.error_code, answer.expiry_timestamp_ms

    def seen(self, client: int = ANN) -> list[str]:
        answer = self.call(ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, client, owners=None)
        assert answer.error_code == ErrorCode.NONE
        return [row.token_id for row in answer.tokens]

    def log_in(self, token: Struct) -> Struct | None:
        """Come in by a token; the last answer, None if it is held back."""
        self.come(WORKER)
        self.call(ApiKey.SASL_HANDSHAKE, 1, WORKER, mechanism="SCRAM-SHA-256")
        password = base64.b64encode(bytes(token.hmac)).decode()
        scram = Scram("SCRAM-SHA-256", token.token_id, password, extensions=",tokenauth=true")
        body = request_definition(ApiKey.SASL_AUTHENTICATE).new(auth_bytes=scram.first())
        number = self.send(ApiKey.SASL_AUTHENTICATE, 2, body, WORKER)
        first = self.answer_to(number)
        if first is None:
            return None
        proof = scram.final(bytes(first.auth_bytes))
        return self.call(ApiKey.SASL_AUTHENTICATE, 2, WORKER, auth_bytes=proof)

    def is_served(self) -> bool:
        body = request_definition(ApiKey.METADATA).new(topics=[])
        return self.answer_to(self.send(ApiKey.METADATA, 12, body, WORKER)) is not None


def test_a_client_that_comes_in_by_a_token_is_its_owner() -> None:
    world = TokenWorld()
    answer = world.log_in(world.make())
    assert answer is not None
    assert (answer.error_code, answer.session_lifetime_ms) == (ErrorCode.NONE, 10000)
    assert world.node.broker.principals.of(WORKER) == "User:a"
    assert world.is_served()


def test_a_session_ends_with_its_token_and_goes_on_with_a_renewed_one() -> None:
    world = TokenWorld()
    token = world.make()
    world.log_in(token)
    world.wait(9999)
    assert world.is_served()
    world.renew(token)
    world.wait(1)
    assert not world.is_served()
    assert "EXPIRED" in world.closed[WORKER]
    answer = world.log_in(token)
    assert answer is not None
    assert answer.session_lifetime_ms == 9999


def test_a_session_by_token_ends_at_the_listeners_bound_if_that_is_earlier() -> None:
    world = TokenWorld(**{"listener.name.out.scram-sha-256.connections.max.reauth.ms": "4000"})
    answer = world.log_in(world.make())
    assert answer is not None
    assert answer.session_lifetime_ms == 4000


def test_an_expired_token_that_is_still_there_begins_a_session_that_is_over() -> None:
    world = TokenWorld()
    token = world.make()
    world.wait(10001)
    answer = world.log_in(token)
    assert answer is not None
    assert (answer.error_code, answer.session_lifetime_ms) == (ErrorCode.NONE, 0)
    assert not world.is_served()


def test_expired_tokens_are_refused_and_then_removed() -> None:
    world = TokenWorld()
    token, lasting = world.make(ANN, "b"), world.make()
    world.wait(10000)
    world.renew(lasting)
    world.wait(1)
    expired = ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert world.renew(token) == (expired, 0)
    assert world.renew(token, BEN) == (expired, 0), "before it is asked whose it is"
    assert world.expire(token, period_ms=5) == (expired, 0)
    assert set(world.seen()) == {token.token_id, lasting.token_id}
    world.wait(60000 - 10001)
    assert world.seen() == [], "the other one has reached the end of its lifetime, too"
    assert world.renew(token) == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)
    world.kill()
    assert world.seen() == []


def test_an_expired_token_can_still_be_removed_by_its_owner() -> None:
    world = TokenWorld()
    token = world.make()
    world.wait(10001)
    assert world.expire(token, BEN) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
    assert world.expire(token) == (ErrorCode.NONE, world.now_ms)
    assert world.seen() == []
    assert world.log_in(token) is None


@pytest.mark.parametrize("end", ["kill", "restart", "lose_power"])
def test_tokens_and_their_expiry_are_in_the_metadata_log(end: str) -> None:
    world = TokenWorld()
    token, gone = world.make(ANN, "b"), world.make()
    world.wait(5000)
    assert world.renew(token, BEN) == (ErrorCode.NONE, START_MS + 15000)
    world.expire(gone)
    getattr(world, end)()
    assert world.seen(BEN) == world.seen() == [token.token_id]
    assert world.renew(token, period_ms=10**15) == (ErrorCode.NONE, START_MS + 15000)
    world.wait(9000)
    assert world.renew(token) == (ErrorCode.NONE, START_MS + 24000)
    world.wait(9000)
    assert world.renew(token) == (ErrorCode.NONE, START_MS + 30000), "the end of the lifetime"
    assert world.log_in(token) is not None


def test_another_secret_makes_every_token_worthless() -> None:
    world = TokenWorld()
    token = world.make()
    world.config = BrokerConfig.of({**world.config.given, SECRET: "another"})
    world.restart()
    assert world.seen() == [token.token_id]
    assert world.renew(token) == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)
    world.config = BrokerConfig.of({k: v for k, v in world.config.given.items() if k != SECRET})
    world.restart()
    assert world.renew(token) == (ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, 0)
    assert world.log_in(token) is None


def test_an_owner_without_a_type_is_refused() -> None:
    world = TokenWorld()
    answer = world.make(owner_principal_name="a", owner_principal_type=None)
    assert answer.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
    assert world.seen() == []


def test_the_largest_lifetime_stays_a_timestamp() -> None:
    most = str(2**63 - 1)
    world = TokenWorld(
        **{"delegation.token.max.lifetime.ms": most, "delegation.token.expiry.time.ms": most}
    )
    token = world.make()
    assert (token.max_timestamp_ms, token.expiry_timestamp_ms) == (2**63 - 1, 2**63 - 1)
    assert world.renew(token) == (ErrorCode.NONE, 2**63 - 1)


def test_many_tokens_are_described_and_removed_a_part_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(token_changes, "REMOVED_AT_ONCE", 250)
    world = TokenWorld()
    broker = world.node.broker
    for _ in range(600):
        token_changes.create_token(broker.controller, "User:a", "User:a", (), -1)
    world.node.must_give_way = lambda: True
    body = request_definition(ApiKey.DESCRIBE_DELEGATION_TOKEN).new(owners=None)
    number = world.send(ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, body, ANN)
    turns = 0
    while world.gave_way:
        world.go_on(ANN)
        turns += 1
    answer = world.answer_to(number)
    assert answer is not None
    assert (len(answer.tokens), turns >= 2) == (600, True)
    world.wait(60000 - (world.now_ms - START_MS))
    assert len(list(broker.image.delegation_tokens)) == 350
    world.wait(2)
    assert list(broker.image.delegation_tokens) == []


def test_without_a_secret_no_timer_runs_for_tokens() -> None:
    assert any("tokens" in key for key in TokenWorld().timers)
    world = World({name: text for name, text in CONFIG.items() if name != SECRET})
    assert not any("tokens" in key for key in world.timers)


def test_an_interval_that_is_none_is_refused() -> None:
    with pytest.raises(BadConfig, match="at least 1"):
        BrokerConfig.of({CHECK: "0"})


def test_tokens_with_very_many_renewers_are_described_in_little_memory() -> None:
    """20 tokens with 140,000 renewers each took 260 MB, and their description 1.3 GB."""
    world, number = TokenWorld(), 50_000
    world.make(ANN, "r")
    (token,) = world.node.broker.image.delegation_tokens
    record = token.to_record()
    record.renewers = [f"User:{'r'}" for _ in range(number)]
    world.node.broker.image.delegation_tokens.set(record)
    (token,) = world.node.broker.image.delegation_tokens
    assert len(set(map(id, token.renewers))) == 1
    body = request_definition(ApiKey.DESCRIBE_DELEGATION_TOKEN).new(owners=None)
    with peak_memory() as peak:
        answer = world.ask(ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, body, ANN)
        size = len(encode_response(ApiKey.DESCRIBE_DELEGATION_TOKEN, 3, 1, answer))
    assert [len(row.renewers) for row in answer.tokens] == [number]
    assert (answer.tokens[0].renewers[-1].principal_name, size > 7 * number) == ("r", True)
    assert peak() < 10 * size
