"""Nodes ask each other and themselves, over connections that are late, broken and silent."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import ConnectionClosed, Request
from reference_impl.core.tests.cluster import CLIENT, Cluster, Handle
from reference_impl.core.waiting.waits import Answer, Later, Unanswered
from reference_impl.links.effects import Lane
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition, response_definition

TIMEOUT_MS = 1_000
HEARTBEAT = request_definition(ApiKey.HEARTBEAT).new()
ANSWER = response_definition(ApiKey.HEARTBEAT)


def question(api: ApiKey) -> Struct:
    """Return a valid request of an API, for one node to send to another."""
    of = request_definition(api)
    if api is ApiKey.API_VERSIONS:
        return of.new(client_software_name="test", client_software_version="1")
    if api is ApiKey.METADATA:
        return of.new(topics=None)
    topic = of.struct("CreatableTopic", name="t", num_partitions=2, replication_factor=1)
    return of.new(topics=[topic], timeout_ms=TIMEOUT_MS)


def relays(node: int, api: ApiKey = ApiKey.METADATA, lane: Lane = Lane.DATA) -> Handle:
    """Return a handler of Heartbeat that asks a node and tells the code and the time it took."""

    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        began_ms = broker.monotonic_ms
        code = ErrorCode.NONE
        try:
            answer = yield Answer(node, api, question(api), TIMEOUT_MS, lane)
            assert isinstance(answer, Struct)
            if api is ApiKey.METADATA:
                assert [row.node_id for row in answer.brokers] == [node]
            if api is ApiKey.CREATE_TOPICS:
                code = ErrorCode(answer.topics[0].error_code)
        except Unanswered as unanswered:
            code = unanswered.code
        took_ms = broker.monotonic_ms - began_ms
        yield Respond(request, ANSWER.new(error_code=code, throttle_time_ms=took_ms))

    return handle


def cluster_of(handle: Handle, seed: int = 0) -> Cluster:
    return Cluster({ApiKey.HEARTBEAT: handle}, seed)


def asked(cluster: Cluster, ms: int = 10 * TIMEOUT_MS) -> tuple[ErrorCode, int]:
    """Ask node 1, let time pass, and return the code and the time that its own question took."""
    cluster.answers[1].clear()
    cluster.send(1, ApiKey.HEARTBEAT, 4, HEARTBEAT)
    cluster.run(ms)
    (answer,) = cluster.answers[1]
    return ErrorCode(answer.error_code), answer.throttle_time_ms


@pytest.mark.parametrize("lane", list(Lane))
@pytest.mark.parametrize("node", [1, 2, 3])
@pytest.mark.parametrize("api", [ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.CREATE_TOPICS])
def test_a_node_asks_another_and_itself(api: ApiKey, node: int, lane: Lane) -> None:
    cluster = cluster_of(relays(node, api, lane))
    there_and_back_twice = 4  # ApiVersions comes first
    assert asked(cluster) == (ErrorCode.NONE, 0 if node == 1 else there_and_back_twice)
    made = {n for n in cluster.nodes if "t" in cluster.nodes[n].broker.image.topics}
    assert made == ({node} if api is ApiKey.CREATE_TOPICS else set())
    assert {c.destination.lane for c in cluster.connections.values()} <= {lane}


def test_a_node_negotiates_once_for_a_connection() -> None:
    cluster = cluster_of(relays(2))
    assert [asked(cluster)[1] for _ in range(3)] == [4, 2, 2]


def test_an_answer_that_is_late_but_in_time_counts() -> None:
    cluster = cluster_of(relays(2))
    asked(cluster)
    cluster.delays_ms[2, 1] = TIMEOUT_MS - 3
    assert asked(cluster) == (ErrorCode.NONE, TIMEOUT_MS - 1)


@pytest.mark.parametrize("way", [(1, 2), (2, 1)], ids=["request", "answer"])
@pytest.mark.parametrize("is_known", [False, True], ids=["new", "established"])
def test_silence_ends_at_the_time_out(way: tuple[int, int], is_known: bool) -> None:
    cluster = cluster_of(relays(2))
    if is_known:
        asked(cluster)
    cluster.silent.add(way)
    assert asked(cluster, TIMEOUT_MS) == (ErrorCode.REQUEST_TIMED_OUT, TIMEOUT_MS)
    cluster.silent.clear()
    cluster.run(20_000)
    assert asked(cluster)[0] is ErrorCode.NONE


def test_a_question_that_nobody_waits_for_any_more_is_not_sent_later() -> None:
    cluster = cluster_of(relays(2, ApiKey.CREATE_TOPICS))
    cluster.delays_ms[2, 1] = 2 * TIMEOUT_MS  # the answer to ApiVersions comes after the time-out
    assert asked(cluster)[0] is ErrorCode.REQUEST_TIMED_OUT
    assert "t" not in cluster.nodes[2].broker.image.topics


def test_a_broken_connection_fails_what_was_asked_on_it_and_is_made_anew() -> None:
    cluster = cluster_of(relays(2))
    asked(cluster)
    cluster.send(1, ApiKey.HEARTBEAT, 4, HEARTBEAT)
    cluster.cut(1, 2)
    assert asked_again(cluster) is ErrorCode.NETWORK_EXCEPTION
    assert asked(cluster)[0] is ErrorCode.NONE


def asked_again(cluster: Cluster) -> ErrorCode:
    """Return the code of the answer that has come meanwhile."""
    cluster.run(10)
    return ErrorCode(cluster.answers[1].pop().error_code)


def test_a_node_that_refuses_connections_is_come_back_to_after_a_while() -> None:
    cluster = cluster_of(relays(2))
    cluster.refusing.add(2)
    assert asked(cluster, 10) == (ErrorCode.NETWORK_EXCEPTION, 1)
    cluster.refusing.clear()
    code, took_ms = asked(cluster)
    assert code is ErrorCode.NONE
    assert 4 + 25 <= took_ms <= 4 + 60  # reconnect.backoff.ms, jittered


def test_a_node_whose_address_is_unknown_is_not_available() -> None:
    cluster = cluster_of(relays(9))
    assert asked(cluster) == (ErrorCode.BROKER_NOT_AVAILABLE, 0)


def test_a_handler_that_is_closed_with_its_client_hears_no_answer() -> None:
    cluster = cluster_of(relays(2))
    cluster.send(1, ApiKey.HEARTBEAT, 4, HEARTBEAT)
    cluster.step(1, ConnectionClosed(*cluster.moment(), CLIENT))
    cluster.run(20_000)
    assert cluster.answers[1] == []
    assert not any("Ask(" in line and "METADATA" in line for line in cluster.trace)
    assert asked(cluster)[0] is ErrorCode.NONE


def test_two_nodes_wait_for_each_other_without_standing_still() -> None:
    """Node 1 asks 2, which asks 1 on a connection of its own before it answers."""

    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        depth = request.body.generation_id
        if depth:
            body = request_definition(ApiKey.HEARTBEAT).new(generation_id=depth - 1)
            yield Answer(3 - broker.node_id, ApiKey.HEARTBEAT, body, TIMEOUT_MS)
        yield Later(1)
        yield Respond(request, ANSWER.new())

    cluster = cluster_of(handle)
    body = request_definition(ApiKey.HEARTBEAT).new(generation_id=2)
    cluster.send(1, ApiKey.HEARTBEAT, 4, body)
    cluster.run(TIMEOUT_MS)
    assert [answer.error_code for answer in cluster.answers[1]] == [0]


def story(seed: int) -> str:
    """Return everything that the nodes do while connections come and go."""
    cluster = cluster_of(relays(2, ApiKey.CREATE_TOPICS), seed)
    asked(cluster)
    cluster.silent.add((2, 1))
    asked(cluster)
    cluster.silent.clear()
    cluster.refusing.add(2)
    asked(cluster)
    cluster.refusing.clear()
    asked(cluster)
    return "\n".join(cluster.trace)


def test_the_same_seed_gives_the_same_bytes_under_any_hash_seed() -> None:
    script = "from reference_impl.core.tests.test_cluster import story; print(story(7))"
    told = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert len(told[0]) > 1_000
    assert story(7) != story(8)
