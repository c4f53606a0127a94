"""Handlers wait, go on, and are closed; an error in one loses nothing of the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Failed, Report, Respond, SetTimer
from reference_impl.core.events import ConnectionClosed, Request, RequestArrived
from reference_impl.core.handlers import BROKER, CONTROLLER
from reference_impl.core.node import Node
from reference_impl.core.refused import Refused
from reference_impl.core.requests.api import Api, Served
from reference_impl.core.storage import StorageError
from reference_impl.core.tests.world import World
from reference_impl.core.waiting.waits import Applied, Later, Replicated
from reference_impl.host.node import NodeHost
from reference_impl.wire import ApiKey, request_definition, response_definition

Handle = Callable[[Broker, Request], Iterator[Effect]]
ANSWER = response_definition(ApiKey.HEARTBEAT)


def world_with(handle: Handle) -> World:
    """Return a node that answers Heartbeat in its own way, with the topic `t`."""

    class Scripted(Node):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.apis = Served({**BROKER, ApiKey.HEARTBEAT: Api(handle, 0, 4)}, CONTROLLER)

    world = World(node=Scripted)
    world.create_topic("t")
    return world


def ask(world: World, client: int = 1) -> int:
    return world.send(ApiKey.HEARTBEAT, 4, request_definition(ApiKey.HEARTBEAT).new(), client)


def produce(world: World, value: str) -> None:
    world.send(ApiKey.PRODUCE, 9, world.produce_body("t", world.batch(value)), client=9)


def delete_topic(world: World) -> None:
    row = request_definition(ApiKey.DELETE_TOPICS).struct("DeleteTopicState", name="t")
    body = request_definition(ApiKey.DELETE_TOPICS).new(topics=[row], timeout_ms=1000)
    world.send(ApiKey.DELETE_TOPICS, 6, body, client=9)


def test_a_handler_goes_on_after_a_while() -> None:
    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        began_ms = broker.now_ms
        yield Later(300)
        yield Later(200)
        yield Respond(request, ANSWER.new(throttle_time_ms=broker.now_ms - began_ms))

    world = world_with(handle)
    before = {key for key in world.timers if key[0] == "waiting"}  # sessions and heartbeats
    number = ask(world)
    world.wait(499)
    assert world.answer_to(number) is None
    world.wait(1)
    answer = world.answer_to(number)
    assert answer is not None
    assert answer.throttle_time_ms == 500
    assert {key for key in world.timers if key[0] == "waiting"} == before


def test_a_handler_goes_on_when_its_record_is_below_the_high_watermark() -> None:
    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        yield Replicated("t", 0, 2, timeout_ms=1000)
        yield Respond(request, ANSWER.new())

    world = world_with(handle)
    first, second = ask(world, 1), ask(world, 2)
    produce(world, "one")
    assert world.answer_to(first) is None
    produce(world, "two")
    assert world.answer_to(first) is not None
    assert world.answer_to(second) is not None
    assert ("waiting", 1) not in world.timers
    third = ask(world)  # it is there already: nothing waits
    assert world.answer_to(third) is not None


def test_a_handler_goes_on_when_metadata_are_applied() -> None:
    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        yield Applied(broker.image.end_offset + 1)
        yield Respond(request, ANSWER.new(error_code=0 if "new" in broker.image.topics else 3))

    world = world_with(handle)
    number = ask(world, 2)
    assert world.answer_to(number) is None
    world.create_topic("new")
    answer = world.answer_to(number)
    assert answer is not None
    assert answer.error_code == 0


@pytest.mark.parametrize(
    ("happens", "code"),
    [(lambda world: world.wait(1000), 7), (delete_topic, 3)],
    ids=["time-out", "deleted"],
)
def test_a_wait_in_vain_is_refused(happens: Callable[[World], None], code: int) -> None:
    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        try:
            yield Replicated("t", 0, 1, timeout_ms=1000)
        except Refused as refused:
            yield Respond(request, ANSWER.new(error_code=refused.code))

    world = world_with(handle)
    number = ask(world)
    happens(world)
    answer = world.answer_to(number)
    assert answer is not None
    assert answer.error_code == code
    assert not world.node.broker.purgatory.awaited


def test_a_handler_is_closed_with_its_connection_and_leaves_nothing() -> None:
    ended: list[str] = []

    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        try:
            yield Replicated("t", 0, 1, timeout_ms=1000)
        finally:
            ended.append("closed")
        ended.append("went on")

    world = world_with(handle)
    ask(world)
    world.disconnect(1)
    assert ended == ["closed"]
    assert not world.node.broker.purgatory.awaited
    assert ("waiting", 1) not in world.timers
    produce(world, "late")
    assert ended == ["closed"]


def test_what_nobody_waits_for_is_done_after_the_answer_once_under_its_name() -> None:
    def aside(what: str) -> Iterator[Effect]:
        yield Report(f"begins {what}")
        yield Later(100)
        yield Report(f"ends {what}")

    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        broker.outbox.post("aside", aside("first"))
        broker.outbox.post("aside", aside("second"))
        yield Respond(request, ANSWER.new())

    world = world_with(handle)
    world.reports.clear()
    ask(world)
    world.disconnect(1)
    ask(world, 2)
    assert world.reports == ["begins first"]
    world.wait(100)
    assert world.reports == ["begins first", "ends first"]
    ask(world, 2)
    assert world.reports[-1] == "begins first"


def fails_after_a_report(broker: Broker, request: Request) -> Iterator[Effect]:
    broker.outbox.post("aside", iter((Report("after"),)))
    yield Report("before")
    raise KeyError("planted")


def heartbeat(world: World, client: int = 1) -> RequestArrived:
    body = request_definition(ApiKey.HEARTBEAT).new()
    return RequestArrived(*world.moment(), Request(client, ApiKey.HEARTBEAT, 4, 1, None, "", body))


def test_an_error_keeps_the_effects_before_it_and_stops_nobody() -> None:
    world = world_with(fails_after_a_report)
    before, failed, after = world.node.step(heartbeat(world))
    assert before == Report("before")
    assert isinstance(failed, Failed)
    assert (failed.connection, str(failed.error)) == (1, "'planted'")
    assert after == Report("after")


def test_an_error_in_one_woken_request_does_not_keep_the_others_asleep() -> None:
    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        yield Replicated("t", 0, 1)
        if request.connection == 1:
            raise KeyError("planted")
        yield Respond(request, ANSWER.new())

    world = world_with(handle)
    numbers = [ask(world, client) for client in (1, 2)]
    body = world.produce_body("t", world.batch("x"))
    request = Request(9, ApiKey.PRODUCE, 9, 99, None, "", body)
    effects = world.node.step(RequestArrived(*world.moment(), request))
    assert [e.connection for e in effects if isinstance(e, Failed)] == [1]
    answered = [e.request.correlation_id for e in effects if isinstance(e, Respond)]
    assert numbers[1] in answered


def test_an_error_of_the_disk_is_the_last_effect() -> None:
    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        broker.outbox.post("aside", iter((Report("after"),)))
        yield Report("before")
        raise StorageError("data", "planted")

    world = world_with(handle)
    before, failed = world.node.step(heartbeat(world))
    assert before == Report("before")
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, StorageError)


def test_a_second_request_of_a_connection_that_waits_costs_the_connection_alone() -> None:
    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        yield Later(100)
        yield Respond(request, ANSWER.new())

    world = world_with(handle)
    number = ask(world)
    (failed,) = world.node.step(heartbeat(world))
    assert isinstance(failed, Failed)
    assert "waits already" in str(failed.error)
    world.wait(100)
    assert world.answer_to(number) is not None


class Client:
    """A connection that notes what the host does with it."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def answer(self, data: bytes | None) -> None:
        self.seen.append("answered")

    def drop(self, reason: str) -> None:
        self.seen.append(reason)


def test_the_host_performs_what_came_before_an_error_and_serves_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        other = Request(2, ApiKey.HEARTBEAT, 4, 9, None, "", request.body)
        yield Respond(other, ANSWER.new())
        if request.connection == 1:
            raise KeyError("planted")
        unreadable = ANSWER.new(error_code="what is this?")
        yield Respond(request, unreadable)
        yield Respond(other, ANSWER.new())

    world = world_with(handle)
    host = NodeHost(world.node, pytest.fail)
    clients = {number: Client() for number in (1, 2, 3)}
    host.connections = clients  # type: ignore[assignment]
    with caplog.at_level(logging.ERROR, "reference_impl.host"):
        for number in (1, 3):
            host.request_arrived(heartbeat(world, number).request)
    assert clients[1].seen == clients[3].seen == ["internal error"]
    assert clients[2].seen == ["answered"] * 3
    assert "the broker failed" in caplog.text
    assert "planted" in caplog.text
    assert [type(e) for e in world.node.step(ConnectionClosed(*world.moment(), 1))] == []
    assert not [
        e for e in world.node.step(ConnectionClosed(*world.moment(), 2)) if isinstance(e, SetTimer)
    ]
