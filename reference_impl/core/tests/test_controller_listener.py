"""A controller listens by itself: it serves its own table there, and no client of a broker."""

from __future__ import annotations

import pytest

from reference_impl.core.configs.broker import STANDARD_AUTHORIZER, BrokerConfig
from reference_impl.core.effects import CloseConnection, Effect, Respond
from reference_impl.core.events import ConnectionOpened, Request, RequestArrived, Started
from reference_impl.core.handlers import CONTROLLER, QUORUM
from reference_impl.core.node import Node
from reference_impl.core.requests.api import ON_EVERY_LISTENER
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.storage import MemoryStorage
from reference_impl.wire import ApiKey, ErrorCode, request_definition

MOMENT = (1_700_000_000_000, 0, bytes(16))
OF_BROKER, OF_CONTROLLER = 1, 2


def started(**settings: str) -> Node:
    """Start a node with a listener for its broker and one for its controller."""
    given = {
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        **{key.replace("_", "."): value for key, value in settings.items()},
    }
    config = BrokerConfig.of(given)
    told = {"CONTROLLER": Endpoint("here", 9093)}
    made = Node(config, MemoryStorage(), "data", Endpoint("here", 9092), also_advertised=told)
    made.step(Started(*MOMENT))
    made.step(ConnectionOpened(*MOMENT, OF_BROKER, "PLAINTEXT"))
    made.step(ConnectionOpened(*MOMENT, OF_CONTROLLER, "CONTROLLER"))
    return made


@pytest.fixture
def node() -> Node:
    return started()


def ask(node: Node, connection: int, api: ApiKey, version: int, **fields: object) -> Effect:
    body = request_definition(api).new(**fields)
    request = Request(connection, api, version, 1, "test", "/1.2.3.4", body)
    effects = node.step(RequestArrived(*MOMENT, request))
    (answer,) = (each for each in effects if isinstance(each, Respond | CloseConnection))
    return answer


def test_each_listener_tells_the_apis_that_it_serves(node: Node) -> None:
    told = {}
    for connection in (OF_BROKER, OF_CONTROLLER):
        answer = ask(node, connection, ApiKey.API_VERSIONS, 0)
        assert isinstance(answer, Respond)
        told[connection] = {row.api_key for row in answer.body.api_keys}
    assert told[OF_CONTROLLER] == CONTROLLER.keys() | QUORUM.keys() | set(ON_EVERY_LISTENER)
    assert ApiKey.PRODUCE in told[OF_BROKER]


def test_the_controller_decides_what_it_is_asked_for_itself(node: Node) -> None:
    topic = request_definition(ApiKey.CREATE_TOPICS).struct(
        "CreatableTopic", name="t", num_partitions=2, replication_factor=1
    )
    answer = ask(node, OF_CONTROLLER, ApiKey.CREATE_TOPICS, 7, topics=[topic], timeout_ms=1000)
    assert isinstance(answer, Respond)
    assert [each.error_code for each in answer.body.topics] == [ErrorCode.NONE]
    assert len(node.broker.image.topics["t"].partitions) == 2


def test_a_controller_serves_no_client_of_a_broker(node: Node) -> None:
    answer = ask(node, OF_CONTROLLER, ApiKey.METADATA, 12, topics=[])
    assert answer == CloseConnection(OF_CONTROLLER, "Metadata version 12 is not served")


def test_others_are_given_the_address_of_each_listener(node: Node) -> None:
    assert node.broker.connection_listeners.endpoints == {
        "PLAINTEXT": Endpoint("here", 9092),
        "CONTROLLER": Endpoint("here", 9093),
    }


@pytest.mark.parametrize("api", [ApiKey(key) for key in QUORUM], ids=lambda api: api.name)
def test_whoever_is_no_node_has_no_part_in_the_quorum(api: ApiKey) -> None:
    node = started(authorizer_class_name=STANDARD_AUTHORIZER, super_users="User:admin")
    before = node.broker.quorum.epoch
    answer = ask(node, OF_CONTROLLER, api, QUORUM[api].max_version)
    assert isinstance(answer, Respond)
    assert answer.body.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert node.broker.quorum.epoch == before
