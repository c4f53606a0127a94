"""Two nodes on loopback: one asks the other over a socket, and hears when it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from reference_impl.core.broker import Broker
from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.handlers import BROKER, CONTROLLER
from reference_impl.core.node import Node
from reference_impl.core.requests.api import Api, Served
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.storage import MemoryStorage
from reference_impl.core.waiting.waits import Answer, Unanswered
from reference_impl.host.node import NodeHost
from reference_impl.host.outgoing.connections import Connections
from reference_impl.host.tcp.server import Server
from reference_impl.links.effects import Ask, Destination, Lane
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition, response_definition

LIMIT_S = 20


def handle(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer a Heartbeat by the number of brokers that node 2 tells of, or by an error."""
    code, brokers = ErrorCode.NONE, 0
    try:
        answer = yield Answer(2, ApiKey.METADATA, request_definition(ApiKey.METADATA).new(), 5_000)
        assert isinstance(answer, Struct)
        brokers = len(answer.brokers)
    except Unanswered as unanswered:
        code = unanswered.code
    body = response_definition(ApiKey.HEARTBEAT).new(error_code=code, throttle_time_ms=brokers)
    yield Respond(request, body)


async def started(node_id: int) -> tuple[Server, NodeHost, int]:
    """Start a node on a free port."""
    config = BrokerConfig.of({"node.id": str(node_id), "listeners": "PLAINTEXT://127.0.0.1:0"})
    server = Server(config)
    port = await server.listen(config.listeners()[0])
    apis = Served({**BROKER, ApiKey.HEARTBEAT: Api(handle, 0, 4)}, CONTROLLER)
    node = Node(config, MemoryStorage(), "data", Endpoint("127.0.0.1", port), apis=apis)
    host = NodeHost(node, pytest.fail)
    host.start()
    await server.accept(host)
    return server, host, port


def test_a_node_asks_another_over_a_socket_and_hears_when_it_is_gone() -> None:
    async def test() -> None:
        first, host, port = await started(1)
        second, other, other_port = await started(2)
        host.node.peer_addresses[2] = Endpoint("127.0.0.1", other_port)
        answers: asyncio.Queue[Struct | None] = asyncio.Queue()
        client = Connections(lambda _, body: answers.put_nowait(body), lambda *_: None)
        destination = Destination("127.0.0.1", port, Lane.DATA)

        async def heartbeat(number: int) -> tuple[int, int]:
            body = request_definition(ApiKey.HEARTBEAT).new()
            client.ask(Ask(number, destination, ApiKey.HEARTBEAT, 4, "test", body))
            answer = await asyncio.wait_for(answers.get(), LIMIT_S)
            assert answer is not None
            return answer.error_code, answer.throttle_time_ms

        assert await heartbeat(1) == (ErrorCode.NONE, 1)
        assert await heartbeat(2) == (ErrorCode.NONE, 1)
        await second.close()
        other.stop()
        assert (await heartbeat(3))[0] == ErrorCode.NETWORK_EXCEPTION
        client.close()
        await first.close()
        host.stop()

    asyncio.run(test())


def vote(_: object, request: Request) -> Iterator[Effect]:
    """Answer a Vote, which no broker serves, with its own error code."""
    yield Respond(
        request, response_definition(ApiKey.VOTE).new(error_code=ErrorCode.NOT_CONTROLLER)
    )


def test_a_controller_is_asked_on_its_own_listener_by_a_name_of_the_hosts_file() -> None:
    async def test() -> None:
        listeners = "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"
        config = BrokerConfig.of({"listeners": listeners})
        server = Server(config)
        bound = (*config.listeners(), *config.controller_listeners())
        of_broker, of_controller = [await server.listen(each) for each in bound]
        apis = Served(BROKER, {**CONTROLLER, ApiKey.VOTE: Api(vote, 0, 2)})
        told = {"CONTROLLER": Endpoint("b1", of_controller)}
        first = Endpoint("b1", of_broker)
        node = Node(config, MemoryStorage(), "data", first, apis=apis, also_advertised=told)
        host = NodeHost(node, pytest.fail)
        host.start()
        await server.accept(host)
        heard: asyncio.Queue[Struct | str | None] = asyncio.Queue()
        client = Connections(
            lambda _, body: heard.put_nowait(body),
            lambda _, reason: heard.put_nowait(reason),
            resolve={"b1": "127.0.0.1"},
        )
        body = request_definition(ApiKey.VOTE).new()
        for number, port in enumerate((of_controller, of_broker)):
            client.ask(Ask(number, Destination("b1", port, Lane.DATA), ApiKey.VOTE, 2, "", body))
        answers = [await asyncio.wait_for(heard.get(), LIMIT_S) for _ in range(2)]
        assert [each.error_code for each in answers if isinstance(each, Struct)] == [
            ErrorCode.NOT_CONTROLLER
        ]
        assert any("closed by the broker" in each for each in answers if isinstance(each, str))
        client.close()
        await server.close()
        host.stop()

    asyncio.run(test())
