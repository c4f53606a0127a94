"""A node knows its place in the cluster by its settings; a contradiction is one sentence."""

from __future__ import annotations

import pytest

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.security.listener_settings import PLAIN_MODULE
from reference_impl.core.security.listeners import Endpoint

THREE = "1@b1:9093,2@b2:9093,3@[::1]:9093"
VOTER = {
    "node.id": "1",
    "controller.quorum.voters": THREE,
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
}
BROKER = {
    "process.roles": "broker",
    "node.id": "4",
    "controller.quorum.voters": THREE,
    "listeners": "PLAINTEXT://:9092",
}
CONTROLLER = VOTER | {"process.roles": "controller", "listeners": "CONTROLLER://:9093"}
SECURED = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_a="b";',
}


def test_a_node_without_settings_is_a_cluster_of_itself() -> None:
    alone = BrokerConfig.of({}).membership()
    assert (alone.is_broker, alone.is_controller, alone.is_alone) == (True, True, True)
    assert (dict(alone.voters), alone.between_brokers) == ({}, "PLAINTEXT")
    assert BrokerConfig.of({"controller.quorum.voters": "1@b1:9093"}).membership().is_alone


def test_a_voter_knows_the_others_and_listens_for_them() -> None:
    config = BrokerConfig.of(VOTER)
    found = config.membership()
    assert (found.is_broker, found.is_controller, found.is_alone) == (True, True, False)
    assert found.voters[3] == Endpoint("::1", 9093)
    assert found.controller_listener == "CONTROLLER"
    assert [listener.name for listener in config.listeners()] == ["PLAINTEXT"]
    assert [listener.endpoint.port for listener in config.controller_listeners()] == [9093]


def test_a_node_may_be_a_broker_or_a_controller_alone() -> None:
    broker = BrokerConfig.of(BROKER)
    assert (broker.membership().is_controller, broker.controller_listeners()) == (False, ())
    controller = BrokerConfig.of(CONTROLLER)
    assert (controller.membership().is_broker, controller.listeners()) == (False, ())
    assert controller.membership().between_brokers is None


def test_controllers_may_be_found_by_bootstrap_servers() -> None:
    given = {key: text for key, text in BROKER.items() if key != "controller.quorum.voters"}
    found = BrokerConfig.of(given | {"controller.quorum.bootstrap.servers": "b1:1,b2:2"})
    assert found.membership().bootstrap == (Endpoint("b1", 1), Endpoint("b2", 2))
    assert not found.membership().is_alone


def test_clients_may_be_asked_for_more_than_nodes_are() -> None:
    given = VOTER | SECURED
    given["listeners"] += ",INTERNAL://:9094"
    given["listener.security.protocol.map"] += ",INTERNAL:PLAINTEXT"
    given["inter.broker.listener.name"] = "INTERNAL"
    assert BrokerConfig.of(given).membership().between_brokers == "INTERNAL"


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"listeners": "CONTROLLER://:1"}, "there is none for clients"),
        ({"process.roles": ""}, "process.roles is empty"),
        ({"process.roles": "broker,broker"}, "is named twice"),
        ({"process.roles": "observer"}, "broker and controller"),
        ({"process.roles": "broker"}, "name the controllers"),
        ({"process.roles": "controller", "listeners": "CONTROLLER://:1"}, "name the controllers"),
        ({"controller.quorum.voters": "b1:9093"}, "is not a voter"),
        ({"controller.quorum.voters": "1@b1"}, "is not an address"),
        ({"controller.quorum.voters": "1@b1:0"}, "is not an address"),
        ({"controller.quorum.voters": "1@b1:1,1@b2:1"}, "node 1 is named twice"),
        ({"controller.quorum.voters": "1@b1:1,2@b1:1"}, "b1:1 is named twice"),
        ({"controller.quorum.voters": THREE}, "node.id is not given"),
        (VOTER | {"node.id": "4"}, "add it there"),
        (VOTER | {"listeners": "PLAINTEXT://:9092"}, "add CONTROLLER://"),
        (BROKER | {"controller.listener.names": ""}, "is empty; name the listener"),
        (VOTER | {"controller.quorum.bootstrap.servers": "b1:1"}, "both given"),
        (VOTER | {"inter.broker.listener.name": "CONTROLLER"}, "no such listener for brokers"),
        (VOTER | SECURED, "nodes cannot log in to PLAINTEXT by it"),
        (
            VOTER | {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"},
            "CONTROLLER has no security protocol",
        ),
        (CONTROLLER | {"listeners": VOTER["listeners"]}, "PLAINTEXT is for clients"),
        (BROKER | {"node.id": "3"}, "another node.id"),
        (BROKER | {"listeners": VOTER["listeners"]}, "remove it"),
        ({"broker.heartbeat.interval.ms": "9001"}, "at most broker.session.timeout.ms=9000"),
        ({"replica.fetch.wait.max.ms": "30001"}, "at most replica.lag.time.max.ms=30000"),
    ],
)
def test_a_contradiction_is_one_sentence(config: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadConfig, match=sentence) as caught:
        BrokerConfig.of(config)
    assert "\n" not in str(caught.value)
