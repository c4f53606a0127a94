"""Clients' metrics as conversations; what a client sees over the wire is in conformance."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from reference_impl.core import telemetry
from reference_impl.core.configs import client_metrics
from reference_impl.core.configs.client_metrics import Subscription, subscription_of
from reference_impl.core.configs.entries import ConfigSource
from reference_impl.core.events import ConnectionOpened
from reference_impl.core.telemetry import Telemetry
from reference_impl.core.tests.counting import counted
from reference_impl.core.tests.test_configs import SET, alter, describe
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

DEFAULT_MS = 300_000
METRICS = 16
EARLY = ErrorCode.THROTTLING_QUOTA_EXCEEDED


class MetricsWorld(World):
    """A World with an administrator who creates subscriptions, and clients that push metrics."""

    @property
    def telemetry(self) -> Telemetry:
        return self.node.broker.telemetry

    def subscribe(self, name: str, **given: str | None) -> int:
        of = request_definition(ApiKey.INCREMENTAL_ALTER_CONFIGS)
        rows = [
            of.struct(
                "AlterableConfig",
                name=key.replace("_", "."),
                value=value,
                config_operation=int(value is None),
            )
            for key, value in given.items()
        ]
        resource = of.struct(
            "AlterConfigsResource", resource_type=METRICS, resource_name=name, configs=rows
        )
        answer = self.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, 1, resources=[resource])
        return int(answer.responses[0].error_code)

    def asked(self, client: int = 7, id: int = 0) -> Struct:
        return self.call(
            ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, client, client_instance_id=UUID(int=id)
        )

    def push(self, told: Struct, client: int = 7, **changes: Any) -> int:
        fields = {
            "client_instance_id": told.client_instance_id,
            "subscription_id": told.subscription_id,
            "metrics": b"m",
        }
        answer = self.call(ApiKey.PUSH_TELEMETRY, 0, client, **(fields | changes))
        return int(answer.error_code)


def test_without_a_subscription_nothing_is_asked_for_every_five_minutes() -> None:
    told = MetricsWorld().asked()
    assert (told.requested_metrics, told.push_interval_ms) == ([], DEFAULT_MS)
    assert (told.telemetry_max_bytes, told.delta_temporality) == (1048576, True)
    assert told.accepted_compression_types == [4, 3, 1, 2]


def test_the_subscription_id_is_kafkas() -> None:
    """Compare with the id that Apache Kafka 4.3.1 told for the same subscription and client."""
    world = MetricsWorld()
    world.subscribe("s", metrics="org.apache.kafka.producer.", interval_ms="100")
    id = UUID("00112233-4455-6677-8899-aabbccddeeff").int
    assert world.asked(id=id).subscription_id == -281444566


def test_subscriptions_survive_a_restart_and_clients_do_not() -> None:
    world = MetricsWorld()
    world.subscribe("s", metrics="a.", interval_ms="100", match="client_id=te.*")
    told = world.asked()
    assert told.requested_metrics == ["a."]
    world.kill()
    again = world.asked(id=told.client_instance_id.int)
    assert (again.error_code, again.requested_metrics) == (ErrorCode.NONE, ["a."])
    assert again.subscription_id == told.subscription_id
    world.subscribe("s", metrics=None, interval_ms=None, match=None)
    assert world.asked(id=told.client_instance_id.int).requested_metrics == []


def test_a_subscription_to_metrics_outlives_a_restart() -> None:
    world = World()
    rows = (("metrics", "org.", SET), ("interval.ms", "500", SET))
    assert alter(world, METRICS, "s", *rows) is ErrorCode.NONE
    world.restart()
    found = describe(world, METRICS, "s", "interval.ms")
    assert found is not None
    assert (found.value, found.config_source) == ("500", ConfigSource.CLIENT_METRICS)
    assert alter(world, METRICS, "s", ("match", "client_id=[", SET)) is ErrorCode.INVALID_CONFIG
    assert alter(world, METRICS, "", rows[0]) is ErrorCode.INVALID_REQUEST


def test_a_client_may_ask_and_push_once_an_interval() -> None:
    world = MetricsWorld()
    world.subscribe("s", metrics="a.", interval_ms="1000")
    told = world.asked(id=5)
    assert world.asked(id=5).error_code == EARLY
    assert [world.push(told), world.push(told)] == [ErrorCode.NONE, EARLY]
    world.wait(999)
    assert [world.push(told), world.asked(id=5).error_code] == [EARLY, EARLY]
    world.wait(1)
    assert world.push(told) == ErrorCode.NONE
    world.wait(1000)
    assert world.asked(id=5).error_code == ErrorCode.NONE
    assert world.push(told) == ErrorCode.NONE
    assert world.push(told, terminating=True) == ErrorCode.NONE
    world.wait(1000)
    assert world.push(told) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("jump_ms", [-3_600_000, 3_600_000])
def test_a_jump_of_the_wall_clock_moves_no_interval(jump_ms: int) -> None:
    world = MetricsWorld()
    world.subscribe("s", metrics="a.", interval_ms="1000")
    told = world.asked(id=5)
    assert world.push(told) == ErrorCode.NONE
    world.now_ms += jump_ms
    world.wait(999)
    assert world.push(told) == EARLY
    world.wait(1)
    assert world.push(told) == ErrorCode.NONE


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        ("client_id=test", True),
        ("client_id=tes", False),
        ("client_id=t(e|x)st,client_source_address=1[.]2[.]3[.]4", True),
        ("client_source_port=4242", True),
        ("client_source_port=42", False),
        ("client_software_name=librdkafka,client_software_version=2[.].*", True),
        ("client_software_name=unknown", False),
        ("client_instance_id=AAAAAAAAAAAAAAAAAAAABQ", True),
    ],
)
def test_every_pattern_must_fit_the_whole_of_what_it_names(match: str, fits: bool) -> None:
    world = MetricsWorld()
    world._step(ConnectionOpened(*world.moment(), 7, "PLAINTEXT", 4242))
    world.call(
        ApiKey.API_VERSIONS, 3, 7, client_software_name="librdkafka", client_software_version="2.11"
    )
    assert world.subscribe("s", metrics="a.", match=match) == ErrorCode.NONE
    assert world.asked(id=5).requested_metrics == (["a."] if fits else [])


@pytest.mark.parametrize("pattern", ["client_id=(a)\\1", "client_id=(?=a)", "client_id=["])
def test_a_pattern_that_a_client_name_could_make_slow_is_refused(pattern: str) -> None:
    assert MetricsWorld().subscribe("s", match=pattern) == ErrorCode.INVALID_CONFIG


def test_the_patterns_of_all_subscriptions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_metrics, "PATTERN_CHARACTERS_MAX", 40)
    world = MetricsWorld()
    assert world.subscribe("s", match=f"client_id={'a' * 20}") == ErrorCode.NONE
    assert world.subscribe("t", match="client_id=b") == ErrorCode.INVALID_CONFIG
    assert world.subscribe("t", metrics="a.b") == ErrorCode.NONE, "without a pattern"
    assert world.subscribe("s", match=f"client_id={'a' * 19}") == ErrorCode.NONE, "instead"
    assert world.subscribe("t", match="client_id=b") == ErrorCode.NONE


def test_a_subscription_with_a_pattern_costs_no_more_beside_many() -> None:
    """The patterns were summed up for each: 30,000 of them in one request took 40 seconds."""
    world = MetricsWorld()
    costs = [
        counted(partial(world.subscribe, f"s{number}", match="client_id=a"))[1]
        for number in range(101)
    ]
    assert costs[100] - costs[1] < 100


def test_what_is_known_of_a_client_ends_with_its_connection_or_its_silence() -> None:
    world = MetricsWorld()
    world.subscribe("s", metrics="a.", interval_ms="100")
    world.asked(id=5)
    world.disconnect(7)
    broker = world.telemetry
    assert (dict(broker._instances), broker._id_of_connection, broker._ports) == ({}, {}, {})
    told = world.asked(id=5)
    assert world.push(told, terminating=True) == ErrorCode.NONE
    world.wait(telemetry.SILENCE_MS)
    assert world.push(told) == ErrorCode.INVALID_REQUEST
    world.wait(telemetry.SILENCE_MS + 1)
    assert world.push(told) == ErrorCode.NONE, "known anew"


def test_clients_and_what_they_send_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "INSTANCES_MAX", 3)
    monkeypatch.setattr(telemetry, "RECEIVED_BYTES_MAX", 3000)
    world = MetricsWorld()
    told = [world.asked(client=10 + number, id=10 + number) for number in range(5)]
    assert [id.int for id in world.telemetry._instances] == [12, 13, 14]
    for number in (2, 3, 4):
        assert world.push(told[number], 10 + number, metrics=bytes(800)) == ErrorCode.NONE
    kept = [push.client_instance_id.int for push in world.telemetry.received]
    assert kept == [13, 14], "the newest"
    assert len(world.reports) == 3
    long = request_definition(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS).new()
    world.send(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, long, 9, client_id="x" * 30000)
    newest = list(world.telemetry._instances.values())[-1]
    assert "client_id" not in newest.attributes


def test_the_most_bytes_are_a_configuration() -> None:
    world = MetricsWorld({"telemetry.max.bytes": "10"})
    told = world.asked(id=5)
    assert told.telemetry_max_bytes == 10
    assert world.push(told, metrics=bytes(11)) == ErrorCode.TELEMETRY_TOO_LARGE
    assert world.telemetry.received == type(world.telemetry.received)()


def test_a_subscription_is_parsed_again_only_if_it_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To parse all of them at each change took minutes with 2,000 subscriptions."""
    parsed: list[Mapping[str, str]] = []

    def parse(given: Mapping[str, str]) -> Subscription:
        parsed.append(given)
        return subscription_of(given)

    monkeypatch.setattr(telemetry, "subscription_of", parse)
    world = MetricsWorld()
    for number in range(20):
        world.subscribe(f"s{number}", metrics="a.b", interval_ms="1000")
    world.asked()
    assert len(parsed) == 20
    world.subscribe("s3", metrics="c.d")
    world.asked(client=8)
    assert len(parsed) == 21


def test_the_patterns_of_many_subscriptions_are_not_compiled_in_one_step() -> None:
    world = MetricsWorld()
    for number in range(20):
        assert world.subscribe(f"s-{number}", metrics="a", match="client_id=test") == 0
    body = request_definition(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS).new(
        client_instance_id=UUID(int=9)
    )
    world.node.must_give_way = lambda: True
    number, turns = world.send(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, body), 0
    while world.gave_way:
        world.go_on()
        turns += 1
    answer = world.answer_to(number)
    assert answer is not None and answer.requested_metrics == ["a"]
    assert turns >= 20
