"""A node connects to listeners of others by TLS and SASL, and tells why it gets no access."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from conformance.target import certificates
from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.node import Node
from reference_impl.core.security.listener_settings import PLAIN_MODULE
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.storage import MemoryStorage
from reference_impl.host.node import NodeHost
from reference_impl.host.outgoing.connections import Connections
from reference_impl.host.outgoing.peer_access import Refusals, access_to_nodes
from reference_impl.host.seldom import AGAIN_S, Seldom
from reference_impl.host.tcp.server import Server
from reference_impl.host.tcp.tls import server_context
from reference_impl.links.effects import Ask, Destination, Lane
from reference_impl.wire import ApiKey, Struct, request_definition

LIMIT_S = 20
OWN, OTHER = certificates.for_loopback(), certificates.for_client("other")
KEY = {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.key": OWN.key,
    "ssl.keystore.certificate.chain": OWN.chain,
}
TRUST = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": OWN.chain}
WRONG_TRUST = TRUST | {"ssl.truststore.certificates": OTHER.chain}
OTHER_KEY = KEY | {"ssl.keystore.key": OTHER.key, "ssl.keystore.certificate.chain": OTHER.chain}


def login(password: str = "secret") -> dict[str, str]:
    module = f'{PLAIN_MODULE} required username="node" password="{password}" user_node="secret";'
    return {
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.x.plain.sasl.jaas.config": module,
        "connection.failed.authentication.delay.ms": "0",
    }


def config(protocol: str, settings: dict[str, str]) -> BrokerConfig:
    """Return the settings of a node in a cluster whose brokers use this protocol."""
    return BrokerConfig.of(
        {
            "node.id": "1",
            "controller.quorum.voters": "1@127.0.0.1:1,2@127.0.0.1:2",
            "listeners": "X://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
            "listener.security.protocol.map": f"X:{protocol},CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "X",
            **settings,
        }
    )


@dataclass
class Peer:
    """One side of the connection, which asks; and what it has heard."""

    connections: Connections
    port: int
    host: NodeHost
    answers: asyncio.Queue[Struct | str] = field(default_factory=asyncio.Queue)
    lost: list[str] = field(default_factory=list)

    async def ask(self, number: int, host: str = "127.0.0.1") -> Struct | str:
        """Send ApiVersions and another request, as links do, and return the answer to that, or why
        it gets no access."""
        destination = Destination(host, self.port, Lane.DATA)
        versions = request_definition(ApiKey.API_VERSIONS).new()
        metadata = request_definition(ApiKey.METADATA).new(topics=[])
        for request_id, api, version, body in (
            (2 * number, ApiKey.API_VERSIONS, 0, versions),
            (2 * number + 1, ApiKey.METADATA, 9, metadata),
        ):
            self.connections.ask(Ask(request_id, destination, api, version, "test", body))
        said = await asyncio.wait_for(self.answers.get(), LIMIT_S)
        if isinstance(said, str) or hasattr(said, "brokers"):
            return said
        return await asyncio.wait_for(self.answers.get(), LIMIT_S)


@asynccontextmanager
async def between(server_side: BrokerConfig, client_side: BrokerConfig) -> AsyncIterator[Peer]:
    """Run a node that listens as the first settings say, and yield one that connects to it as the
    second say."""
    server = Server(server_side)
    listener = server_side.listeners()[0]
    tls = None if listener.tls is None else server_context(listener.name, listener.tls)
    port = await server.listen(listener, tls)
    alone = {"node.id": "1"} | {
        key: text for key, text in server_side.given.items() if not key.startswith("controller.")
    }
    alone["listeners"] = "X://127.0.0.1:0"
    node = Node(BrokerConfig.of(alone), MemoryStorage(), "data", Endpoint("127.0.0.1", port))
    host = NodeHost(node, pytest.fail)
    host.start()
    await server.accept(host)
    refusals = Refusals()
    peer: Peer

    def on_refused(destination: Destination, reason: str) -> None:
        refusals.refused(destination, reason)
        peer.answers.put_nowait(reason)

    connections = Connections(
        lambda _, body: peer.answers.put_nowait(body) if body is not None else None,
        lambda _, reason: peer.lost.append(reason),
        access_to_nodes(client_side),
        {"b1": "127.0.0.1"},
        on_refused,
    )
    peer = Peer(connections, port, host)
    yield peer
    connections.close()
    await server.close()
    host.stop()


REQUIRED = {"ssl.client.auth": "required"}
REFUSED = {
    "not trusted": (("SSL", KEY), ("SSL", WRONG_TRUST | KEY), "certificate of 127.0.0.1 is not"),
    "TLS to plain": (("PLAINTEXT", {}), ("SSL", KEY | TRUST), "listener may have no TLS"),
    "plain to TLS": (
        ("SSL", KEY),
        ("PLAINTEXT", {}),
        "demands TLS, where this side uses PLAINTEXT",
    ),
    "no login there": (("PLAINTEXT", {}), ("SASL_PLAINTEXT", login()), "demands no login"),
    "login": (
        ("SASL_PLAINTEXT", login()),
        ("PLAINTEXT", {}),
        "demands a login, where this side uses PLAINTEXT",
    ),
    "password": (
        ("SASL_PLAINTEXT", login()),
        ("SASL_PLAINTEXT", login("wrong")),
        "user 'node' is refused by PLAIN: SASL_AUTHENTICATION_FAILED",
    ),
    "certificate": (
        ("SSL", KEY | REQUIRED | TRUST),
        ("SSL", OTHER_KEY | TRUST),
        "does not accept the certificate of this side",
    ),
}


@pytest.mark.parametrize(("there", "here", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_node_that_gets_no_access_says_why_and_may_try_again(
    there: tuple[str, dict[str, str]],
    here: tuple[str, dict[str, str]],
    sentence: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        async with between(config(*there), config(*here)) as peer:
            for number in (1, 2):
                said = await peer.ask(number)
                assert isinstance(said, str) and sentence in said
                assert len(peer.lost) == number

    with caplog.at_level(logging.WARNING, "reference_impl.host"):
        asyncio.run(test())
    told = [record.getMessage() for record in caplog.records if "no access" in record.getMessage()]
    assert len(told) == 1 and sentence in told[0] and "to the broker at 127.0.0.1:" in told[0]


@pytest.mark.parametrize(
    ("protocol", "settings"),
    [
        ("SSL", KEY | TRUST),
        ("SSL", KEY | TRUST | REQUIRED),
        ("SASL_PLAINTEXT", login()),
        ("SASL_SSL", KEY | TRUST | login()),
    ],
)
def test_a_node_gets_access_by_the_settings_of_the_other(
    protocol: str, settings: dict[str, str]
) -> None:
    async def test() -> None:
        same = config(protocol, settings)
        async with between(same, same) as peer:
            assert isinstance(await peer.ask(1), Struct)

    asyncio.run(test())


def test_a_certificate_must_name_the_host_unless_nobody_checks_that() -> None:
    async def test() -> None:
        own = KEY | TRUST
        unchecked = own | {"listener.name.x.ssl.endpoint.identification.algorithm": ""}
        async with between(config("SSL", own), config("SSL", own)) as peer:
            said = await peer.ask(1, "b1")
            assert isinstance(said, str) and "Hostname mismatch" in said
        async with between(config("SSL", own), config("SSL", unchecked)) as peer:
            assert isinstance(await peer.ask(1, "b1"), Struct)

    asyncio.run(test())


def test_a_login_is_renewed_on_the_same_connection_before_its_session_ends() -> None:
    async def test() -> None:
        brief = login() | {"listener.name.x.plain.connections.max.reauth.ms": "1200"}
        there = config("SASL_PLAINTEXT", brief)
        async with between(there, there) as peer:
            began_s, number = time.monotonic(), 0
            while time.monotonic() - began_s < 3.5:
                number += 1
                assert isinstance(await peer.ask(number), Struct)
                await asyncio.sleep(0.05)
            await asyncio.sleep(1.5)  # the session ends while nobody asks
            assert isinstance(await peer.ask(number + 1), Struct)
            assert peer.lost == []
            assert list(peer.host.connections) == [1]

    asyncio.run(test())


def test_answers_to_requests_before_a_renewed_login_are_not_taken_for_its_own() -> None:
    async def test() -> None:
        lasting = login() | {"listener.name.x.plain.connections.max.reauth.ms": "60000"}
        there = config("SASL_PLAINTEXT", lasting)
        async with between(there, there) as peer:
            assert isinstance(await peer.ask(1), Struct)
            (connection,) = peer.connections._open.values()
            first = asyncio.ensure_future(peer.ask(2))
            await asyncio.sleep(0)  # it is sent
            connection._renewal_s = 0.0
            second = asyncio.ensure_future(peer.ask(3))
            assert all(isinstance(each, Struct) for each in await asyncio.gather(first, second))
            assert connection._login is None and connection._renewal_s is not None
            assert connection._renewal_s > 0.0
            assert peer.lost == []

    asyncio.run(test())


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (KEY | TRUST | {"ssl.truststore.certificates": "none"}, "does not hold certificates"),
        (
            KEY | {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/no/such.pem"},
            "/no/such.pem of listener X cannot be read",
        ),
    ],
)
def test_trust_that_cannot_be_loaded_is_one_sentence(
    settings: dict[str, str], sentence: str
) -> None:
    with pytest.raises(BadConfig, match=sentence):
        access_to_nodes(config("SSL", settings))


def test_the_same_is_said_again_only_after_a_while() -> None:
    now_s = 1000.0
    seldom = Seldom(lambda: now_s)
    assert [seldom.is_due("a", text) for text in ("x", "x", "y", "x")] == [True, False, True, True]
    assert seldom.is_due("b", "x")
    now_s += AGAIN_S
    assert seldom.is_due("a", "x")
