"""Controllers come and go: what one has decided in vain is forgotten, and nobody is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn
from uuid import UUID

import pytest

from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.effects import Effect, Failed, Respond
from reference_impl.core.events import ConnectionOpened, Request, RequestArrived
from reference_impl.core.handlers import envelope
from reference_impl.core.rules import Rules
from reference_impl.core.tests.cluster import CLIENT, Cluster
from reference_impl.wire import (
    ApiKey,
    ErrorCode,
    Malformed,
    Struct,
    decode_response,
    definition,
    encode_request,
    request_definition,
)

INIT = definition("InitProducerIdRequest")
CREATE, BEAT = definition("CreateTopicsRequest"), definition("BrokerHeartbeatRequest")


def create(cluster: Cluster, node: int, topic: str) -> None:
    """Ask a node for a topic."""
    row = CREATE.struct("CreatableTopic", name=topic, num_partitions=1, replication_factor=1)
    cluster.send(node, ApiKey.CREATE_TOPICS, 7, CREATE.new(topics=[row]))


def cluster_of_three(rules: type[Rules] = Rules) -> tuple[Cluster, int]:
    """Return three nodes whose brokers are registered, and the active controller."""
    cluster = Cluster(seed=1, voters=3, rules=rules)
    cluster.run(5_000)
    return cluster, active(cluster)


def active(cluster: Cluster) -> int:
    """Return the one node whose controller is active."""
    (found,) = (
        n for n, node in cluster.nodes.items() if node.broker.quorum.active_epoch is not None
    )
    return found


def isolate(cluster: Cluster, node: int) -> None:
    """Let nothing reach the node, and nothing leave it."""
    for other in cluster.nodes.keys() - {node}:
        cluster.silent |= {(node, other), (other, node)}


def codes(cluster: Cluster, node: int) -> list[int]:
    """Return the error codes of the topics that a node has answered for."""
    return [row.error_code for body in cluster.answers[node] for row in rows_of(body)]


def rows_of(body: Struct) -> list[Struct]:
    topics: list[Struct] = body.topics
    return topics


class KeepDecisions(Rules):
    def forgets_decisions(self, end_offset: int, high_watermark: int) -> bool:
        return False


class TellOfLostDecisions(Rules):
    def check_still_decides(self, decided_in: int, active_epoch: int | None) -> None:
        """Take whatever is at the offset for the decision."""


@pytest.mark.parametrize("rules", [Rules, KeepDecisions, TellOfLostDecisions])
def test_what_a_controller_decided_alone_is_forgotten_and_told_to_nobody(
    rules: type[Rules],
) -> None:
    cluster, old = cluster_of_three(rules)
    isolate(cluster, old)
    create(cluster, old, "lost")
    assert "lost" in cluster.nodes[old].broker.controller.image.topics
    cluster.run(900)
    assert codes(cluster, old) == []
    cluster.run(6_000)
    new = next(n for n, node in cluster.nodes.items() if n != old and node.broker.quorum.is_leader)
    for index in range(3):
        create(cluster, new, f"kept-{index}")
        cluster.run(100)
    cluster.silent.clear()
    cluster.run(30_000)
    assert codes(cluster, new) == [ErrorCode.NONE] * 3
    # The old controller's broker has forwarded the request to the new one.
    assert codes(cluster, old) == [ErrorCode.NONE]
    committed = names(cluster.nodes[new].broker.image)
    agrees = names(cluster.nodes[old].broker.controller.image) == committed
    assert (agrees, "lost" in committed.values()) == (
        rules is not KeepDecisions,
        rules is not TellOfLostDecisions,
    )


def names(image: MetadataImage) -> dict[UUID, str]:
    """Return the names of the topics by their ids."""
    return {topic_id: topic.name for topic_id, topic in image.topics_by_id.items()}


class AskAboutTheForwarder(Rules):
    def forwarded_principal(self, named: str, sender: str) -> str:
        return sender


AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""Nodes, which do not authenticate themselves to each other here, may do everything."""


def test_any_broker_forwards_what_changes_the_cluster() -> None:
    cluster, leader = cluster_of_three()
    for node in cluster.nodes:
        create(cluster, node, f"t{node}")
    cluster.run(1_000)
    for node, each in cluster.nodes.items():
        assert codes(cluster, node) == [ErrorCode.NONE]
        assert set(each.broker.image.topics) == {"t1", "t2", "t3"}
    create(cluster, leader % 3 + 1, f"t{leader}")
    cluster.run(1_000)
    assert codes(cluster, leader % 3 + 1) == [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS]


@pytest.mark.parametrize("rules", [Rules, AskAboutTheForwarder])
def test_the_authorizer_is_asked_about_the_client_and_not_about_the_broker(
    rules: type[Rules],
) -> None:
    cluster = Cluster(seed=1, voters=3, rules=rules, configs=AUTHORIZED)
    cluster.run(5_000)
    follower = active(cluster) % 3 + 1
    cluster.nodes[follower].broker.principals.authenticated(CLIENT, "User:alice")
    create(cluster, follower, "t")
    cluster.run(1_000)
    is_refused = codes(cluster, follower) == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    assert is_refused is (rules is Rules)


def test_a_request_waits_for_the_next_controller_and_ends_in_time_without_one() -> None:
    cluster, leader = cluster_of_three()
    follower, other = leader % 3 + 1, (leader + 1) % 3 + 1
    cluster.kill(leader)
    create(cluster, follower, "next")
    cluster.run(10_000)
    assert codes(cluster, follower) == [ErrorCode.NONE]
    cluster.kill(other)
    cluster.run(5_000)
    create(cluster, follower, "never")
    cluster.run(59_000)
    assert codes(cluster, follower) == [ErrorCode.NONE]
    cluster.run(1_500)
    assert codes(cluster, follower) == [ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT]


ENVELOPE = definition("EnvelopeRequest")
WELL_FORMED = {
    "request_data": encode_request(ApiKey.CREATE_TOPICS, 7, 1, "c", CREATE.new())[4:],
    "request_principal": b"\0\0\5User\6alice\0\0",
    "client_host_address": b"\1\2\3\4",
}


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        ({}, ErrorCode.NONE),
        ({"request_principal": None}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": b""}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": b"\0\1\5User"}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": b"\0\0\5User"}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"client_host_address": b"\1\2\3"}, ErrorCode.INVALID_REQUEST),
        ({"request_data": b"\0"}, ErrorCode.INVALID_REQUEST),
        ({"request_data": WELL_FORMED["request_data"][:-3]}, ErrorCode.UNSUPPORTED_VERSION),
        ({"request_data": b"\0\x13\0\x63\0\0\0\1\0\1c\0"}, ErrorCode.UNSUPPORTED_VERSION),
        (
            {"request_data": encode_request(ApiKey.BROKER_HEARTBEAT, 1, 1, "c", BEAT.new())[4:]},
            ErrorCode.INVALID_REQUEST,
        ),
    ],
)
def test_a_damaged_envelope_is_refused_as_apache_does(
    damage: dict[str, bytes | None], code: ErrorCode
) -> None:
    cluster, leader = cluster_of_three()
    assert envelope_answered(cluster, leader, damage).error_code == code


def test_a_name_that_fills_a_string_is_refused_in_an_envelope() -> None:
    """The message repeats the name, and is cut so that the answer can be encoded."""
    cluster, leader = cluster_of_three()
    row = CREATE.struct("CreatableTopic", name="é" * 16_383, num_partitions=1, replication_factor=1)
    frame = encode_request(ApiKey.CREATE_TOPICS, 7, 1, "c", CREATE.new(topics=[row]))[4:]
    answer = envelope_answered(cluster, leader, {"request_data": frame})
    assert answer.error_code == ErrorCode.NONE
    _, body = decode_response(answer.response_data, ApiKey.CREATE_TOPICS, 7)
    assert body.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("where", ["decision", "answer_to_envelope"])
def test_a_forwarded_request_that_fails_inside_the_controller_is_answered(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """A closed connection would make the broker forward the request again, for a minute."""

    def fails(*_: object) -> NoReturn:
        raise Malformed("is longer than 32767 bytes", "topics[0].name")

    cluster, leader = cluster_of_three()
    cluster.step(leader, ConnectionOpened(*cluster.moment(), CLIENT, "CONTROLLER", 0))
    monkeypatch.setattr(envelope, where, fails)
    request = Request(CLIENT, ApiKey.ENVELOPE, 0, 1, "c", "/", ENVELOPE.new(**WELL_FORMED))
    effects = cluster.nodes[leader].step(RequestArrived(*cluster.moment(), request))
    (failed,) = (effect for effect in effects if isinstance(effect, Failed))
    assert (failed.connection, type(failed.error)) == (None, Malformed)
    (answer,) = (effect for effect in effects if isinstance(effect, Respond))
    assert answer.body.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_request_that_fails_inside_the_controller_of_the_clients_node_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client gets UNKNOWN_SERVER_ERROR in the API's own form, and keeps its connection."""

    def fails(*_: object) -> Iterator[Effect]:
        raise RuntimeError("a defect")
        yield

    cluster, leader = cluster_of_three()
    controller = cluster.nodes[leader].broker.controller
    failing = replace(controller.apis[ApiKey.CREATE_TOPICS], handle=fails)
    apis = {**controller.apis, ApiKey.CREATE_TOPICS: failing}
    monkeypatch.setattr(controller, "apis", apis)
    body = CREATE.new(topics=[CREATE.struct("CreatableTopic", name="t")])
    for listener in ("PLAINTEXT", "CONTROLLER"):
        cluster.step(leader, ConnectionOpened(*cluster.moment(), CLIENT, listener, 0))
        request = Request(CLIENT, ApiKey.CREATE_TOPICS, 7, 1, "c", "/", body)
        effects = cluster.nodes[leader].step(RequestArrived(*cluster.moment(), request))
        (failed,) = (effect for effect in effects if isinstance(effect, Failed))
        assert (failed.connection, str(failed.error)) == (None, "a defect")
        (answer,) = (effect for effect in effects if isinstance(effect, Respond))
        (row,) = answer.body.topics
        assert (row.name, row.error_code) == ("t", ErrorCode.UNKNOWN_SERVER_ERROR)


def test_only_nodes_may_send_envelopes_and_only_to_the_active_controller() -> None:
    cluster = Cluster(seed=1, voters=3, configs=AUTHORIZED)
    cluster.run(5_000)
    leader = active(cluster)
    answer = envelope_answered(cluster, leader % 3 + 1, {})
    assert answer.error_code == ErrorCode.NOT_CONTROLLER
    cluster.nodes[leader].broker.principals.authenticated(CLIENT, "User:alice")
    answer = envelope_answered(cluster, leader, {})
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def envelope_answered(cluster: Cluster, node: int, damage: dict[str, bytes | None]) -> Struct:
    """Return a node's answer to an envelope."""
    cluster.step(node, ConnectionOpened(*cluster.moment(), CLIENT, "CONTROLLER", 0))
    cluster.send(node, ApiKey.ENVELOPE, 0, ENVELOPE.new(**{**WELL_FORMED, **damage}))
    cluster.run(100)
    return cluster.answers[node].pop()


def take(cluster: Cluster, node: int, count: int = 1) -> list[int]:
    """Ask a node for producer ids, again and again while it has none."""
    taken: list[int] = []
    for _ in range(50):
        while len(taken) < count:
            cluster.send(
                node,
                ApiKey.INIT_PRODUCER_ID,
                5,
                INIT.new(transactional_id=None, producer_id=-1, producer_epoch=-1),
            )
            answer = cluster.answers[node].pop()
            if answer.error_code != ErrorCode.NONE:
                assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                break
            taken.append(answer.producer_id)
        cluster.run(100)
    return taken


def test_each_broker_gets_blocks_of_producer_ids_of_its_own() -> None:
    cluster, leader = cluster_of_three()
    taken = {node: take(cluster, node, 1_500) for node in cluster.nodes}
    assert all(len(ids) == 1_500 for ids in taken.values())
    together = [each for ids in taken.values() for each in ids]
    assert len(set(together)) == len(together)
    cluster.kill(leader)
    cluster.run(5_000)
    for node in cluster.nodes:
        more = take(cluster, node, 1_500)
        assert len(more) == 1_500
        assert not set(more) & set(together)
        together += more


@pytest.mark.parametrize("rules", [Rules, TellOfLostDecisions])
def test_producer_ids_of_a_lost_decision_are_given_to_nobody(rules: type[Rules]) -> None:
    cluster, old = cluster_of_three(rules)
    isolate(cluster, old)
    cluster.send(
        old,
        ApiKey.INIT_PRODUCER_ID,
        5,
        INIT.new(transactional_id=None, producer_id=-1, producer_epoch=-1),
    )
    assert cluster.answers[old].pop().error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    cluster.run(6_000)
    new = next(n for n, node in cluster.nodes.items() if n != old and node.broker.quorum.is_leader)
    given = take(cluster, new, 10)
    cluster.silent.clear()
    cluster.run(30_000)
    assert (not set(given) & set(take(cluster, old, 10))) is (rules is Rules)


@pytest.mark.parametrize("is_active", [True, False])
def test_topics_are_created_when_they_are_needed_first_at_any_broker(is_active: bool) -> None:
    cluster, leader = cluster_of_three()
    node = leader if is_active else leader % 3 + 1
    of = request_definition(ApiKey.METADATA)
    body = of.new(topics=[of.struct("MetadataRequestTopic", name="needed")])
    cluster.send(node, ApiKey.METADATA, 12, body)
    of = request_definition(ApiKey.FIND_COORDINATOR)
    cluster.send(node, ApiKey.FIND_COORDINATOR, 4, of.new(key_type=0, coordinator_keys=["g"]))
    cluster.run(1_000)
    for each in cluster.nodes.values():
        topics = each.broker.image.topics
        assert set(topics) == {"needed", "__consumer_offsets"}
        assert topics["__consumer_offsets"].configs["cleanup.policy"] == "compact"
        assert len(topics["__consumer_offsets"].partitions) == 50


@pytest.mark.parametrize("phase_ms", range(0, 2_000, 400))
def test_brokers_stay_registered_and_alive_while_the_active_controller_is_replaced(
    phase_ms: int,
) -> None:
    cluster, old = cluster_of_three()
    cluster.run(phase_ms)
    before = {n: node.broker.broker_epoch for n, node in cluster.nodes.items()}
    isolate(cluster, old)
    for _ in range(30):
        cluster.run(1_000)
        for node in cluster.nodes.keys() - {old}:
            image = cluster.nodes[node].broker.image
            for each in cluster.nodes.keys() - {old}:
                assert image.brokers[each].broker_epoch == before[each]
                assert not image.brokers[each].fenced
    assert image.brokers[old].fenced


def test_a_forwarded_request_reaches_the_next_controller_when_the_last_one_falls_silent() -> None:
    cluster, old = cluster_of_three()
    node = old % 3 + 1
    isolate(cluster, old)
    create(cluster, node, "t")
    cluster.run(35_000)
    assert codes(cluster, node) == [ErrorCode.NONE]
