"""A client that shows a certificate is named by its subject, by the rules of the listener."""

from __future__ import annotations

import pytest

from reference_impl.core.configs.broker import STANDARD_AUTHORIZER, BrokerConfig
from reference_impl.core.effects import CloseConnection, Effect, Respond
from reference_impl.core.events import ConnectionOpened, Request, RequestArrived, Started
from reference_impl.core.node import Node
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.storage import MemoryStorage
from reference_impl.wire import ApiKey, ErrorCode, request_definition

MOMENT = (1_700_000_000_000, 0, bytes(16))
CLIENT = 7
CONTROLLER_LISTENER, BROKER_LISTENER = "CONTROLLER", "SSL"


@pytest.fixture
def node() -> Node:
    """Start a node with TLS, on which the user `node-a` may do everything."""
    config = BrokerConfig.of(
        {
            "listeners": "SSL://:9092,CONTROLLER://:9093",
            "listener.security.protocol.map": "SSL:SSL,CONTROLLER:SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": "node.pem",
            "ssl.client.auth": "requested",
            "ssl.principal.mapping.rules": "RULE:^CN=([a-z]+)$/node-$1/",
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": "User:node-a",
            "delegation.token.secret.key": "secret",
        }
    )
    told = {CONTROLLER_LISTENER: Endpoint("here", 9093)}
    made = Node(config, MemoryStorage(), "data", Endpoint("here", 9092), also_advertised=told)
    made.step(Started(*MOMENT))
    return made


def connect(node: Node, listener: str, subject: str | None) -> tuple[Effect, ...]:
    return node.step(ConnectionOpened(*MOMENT, CLIENT, listener, 0, subject))


def ask(node: Node, api: ApiKey, version: int, **fields: object) -> int:
    """Send a request, and return the error code of its response."""
    body = request_definition(api).new(**fields)
    request = Request(CLIENT, api, version, 1, "test", "/1.2.3.4", body)
    effects = node.step(RequestArrived(*MOMENT, request))
    (answer,) = (each for each in effects if isinstance(each, Respond))
    code: int = answer.body.error_code
    return code


@pytest.mark.parametrize(
    ("subject", "code"),
    [
        ("CN=a", ErrorCode.STALE_BROKER_EPOCH),
        ("CN=b", ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (None, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
def test_only_the_certificate_of_a_node_acts_as_one(
    node: Node, subject: str | None, code: ErrorCode
) -> None:
    assert connect(node, CONTROLLER_LISTENER, subject) == ()
    answered = ask(node, ApiKey.BROKER_HEARTBEAT, 1, broker_id=9, broker_epoch=1)
    assert ErrorCode(answered) is code


def test_a_client_that_no_rule_names_is_closed(node: Node) -> None:
    (closed,) = connect(node, BROKER_LISTENER, "CN=B2,OU=x")
    assert isinstance(closed, CloseConnection)
    assert closed.reason == (
        "no rule of ssl.principal.mapping.rules matches the certificate of CN=B2,OU=x"
    )


@pytest.mark.parametrize(
    ("subject", "code"),
    [("CN=a", ErrorCode.NONE), (None, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)],
)
def test_a_client_with_a_certificate_may_have_tokens(
    node: Node, subject: str | None, code: ErrorCode
) -> None:
    connect(node, BROKER_LISTENER, subject)
    answered = ask(node, ApiKey.CREATE_DELEGATION_TOKEN, 3, renewers=[], max_lifetime_ms=1000)
    assert ErrorCode(answered) is code
