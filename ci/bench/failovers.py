"""Measure for how long a cluster acknowledges nothing after one of its nodes was killed.

A client sends the same request again and again, one at a time; the result is the longest time
between two acknowledgements. The killed leader is not the active controller, and changes of
configurations are requested from a broker that is not killed, so that each row measures one
failover.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import pairwise

from chaos.targets.clusters.cluster import LocalCluster
from chaos.values.faults import Heal, Kill
from conformance.connection import Connection, ConnectionClosed, part, request
from conformance.wire import Topic, Wire, batch, eventually
from reference_impl.wire import ErrorCode, Malformed, Struct

TIMEOUT_S, PAUSE_S = 1.0, 0.01
BEFORE_S, AFTER_S = 1.0, 1.0
RECOVERED_S_MAX = 60.0
TOPIC_RESOURCE, SET = 2, 0
Attempt = Callable[[], bool]
"""A function that sends one request and returns whether it was acknowledged."""


class Client:
    """A client with one connection, to the first broker that can be reached; after an error it
    connects again."""

    def __init__(self, addresses: Callable[[], list[tuple[str, int]]]) -> None:
        """Set the function that returns the addresses to try, in order; the first call connects."""
        self._addresses = addresses
        self._connection: Connection | None = None

    def call(self, api: str, version: int, body: Struct) -> Struct | None:
        """Send a request and return the answer, or None if there was none; then the next call
        connects again."""
        try:
            if self._connection is None:
                self._connection = self._connected()
            return self._connection.call(api, version, body)
        except (OSError, ConnectionClosed, Malformed):
            self.close()
            return None

    def _connected(self) -> Connection:
        for address in self._addresses():
            try:
                return Connection(*address, TIMEOUT_S)
            except OSError:
                continue
        raise ConnectionRefusedError("no broker can be reached")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def leader_failover(cluster: LocalCluster, wire: Wire) -> float:
    """Kill the leader of a partition. Return the longest time in seconds without an acknowledgement
    of acks=all."""
    controller = cluster.controller()
    brokers = sorted(wire.brokers())
    first = [node for node in brokers if cluster.number_of(node) != controller]
    topic = placed_topic(wire, [*first, *(node for node in brokers if node not in first)])
    asker = Client(lambda: wire.addresses)
    wanted = request("Metadata", topics=[part("Metadata", "MetadataRequestTopic", name=topic.name)])

    def leader() -> list[tuple[str, int]]:
        answer = asker.call("Metadata", 12, wanted)
        brokers = (
            {each.node_id: (each.host, each.port) for each in answer.brokers} if answer else {}
        )
        led_by = [each.leader_id for each in answer.topics[0].partitions] if answer else []
        return [brokers[node] for node in led_by if node in brokers]

    body = wire.produce_request(topic, batch(b"x" * 100).encode())
    writer = Client(leader)

    def write() -> bool:
        answer = writer.call("Produce", 9, body)
        if answer is None:
            return False
        code = answer.responses[0].partition_responses[0].error_code
        if code != ErrorCode.NONE:
            writer.close()
        return bool(code == ErrorCode.NONE)

    return longest_gap(cluster, wire, topic, write, cluster.number_of(first[0]))


def controller_failover(cluster: LocalCluster, wire: Wire) -> float:
    """Kill the active controller. Return the longest time in seconds in which no change of a
    topic's configuration, requested from another broker, was acknowledged."""
    controller = cluster.controller()
    assert controller is not None
    brokers = wire.brokers()
    others = [at for node, at in brokers.items() if cluster.number_of(node) != controller]
    topic = placed_topic(wire, sorted(brokers))
    config = part(
        "IncrementalAlterConfigs", "AlterableConfig", name="retention.ms", value="1000000"
    )
    config.config_operation = SET
    resource = part(
        "IncrementalAlterConfigs",
        "AlterConfigsResource",
        resource_type=TOPIC_RESOURCE,
        resource_name=topic.name,
        configs=[config],
    )
    body = request("IncrementalAlterConfigs", resources=[resource])
    client = Client(lambda: others)

    def change() -> bool:
        answer = client.call("IncrementalAlterConfigs", 1, body)
        return answer is not None and answer.responses[0].error_code == ErrorCode.NONE

    return longest_gap(cluster, wire, topic, change, controller)


def longest_gap(
    cluster: LocalCluster, wire: Wire, topic: Topic, attempt: Attempt, victim: int
) -> float:
    """Kill a node while attempts continue, then bring it back and wait until all replicas are in
    sync. Return the longest time in seconds between two acknowledged attempts. Raise Deviation if
    attempts or replicas have not recovered after RECOVERED_S_MAX."""
    acknowledged: list[float] = []
    is_over = threading.Event()

    def go_on() -> None:
        while not is_over.is_set():
            if attempt():
                acknowledged.append(time.monotonic())
            time.sleep(PAUSE_S)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        time.sleep(BEFORE_S)
        killed_s = time.monotonic()
        cluster.perform(Kill(victim))
        eventually(
            lambda: acknowledged[-1:] and acknowledged[-1] > killed_s + AFTER_S,
            bool,
            "requests are acknowledged again",
            RECOVERED_S_MAX,
        )
        time.sleep(AFTER_S)
    finally:
        is_over.set()
        thread.join()
        cluster.perform(Heal())
    cluster.wait_ready()
    wire.forget_connections()
    wait_until_in_sync(wire, topic)
    return max(after - before for before, after in pairwise(acknowledged))


def replicated_topic(wire: Wire) -> Topic:
    """Create a topic of one partition with the brokers' default number of replicas, three. Return
    it once each broker knows its leader."""
    row = part(
        "CreateTopics",
        "CreatableTopic",
        name=wire.new_name(),
        num_partitions=1,
        replication_factor=-1,
    )
    return created(wire, row)


def placed_topic(wire: Wire, replicas: list[int]) -> Topic:
    """Create a topic of one partition with these replicas, the first of which leads. Return it once
    each broker knows its leader."""
    placed = part(
        "CreateTopics", "CreatableReplicaAssignment", partition_index=0, broker_ids=replicas
    )
    row = part(
        "CreateTopics",
        "CreatableTopic",
        name=wire.new_name(),
        num_partitions=-1,
        replication_factor=-1,
        assignments=[placed],
    )
    return created(wire, row)


def created(wire: Wire, row: Struct) -> Topic:
    """Create the topic that this row of a CreateTopics request describes, and wait until each
    broker knows its leader. Return the topic."""
    answer = wire.call("CreateTopics", topics=[row], timeout_ms=20_000)
    assert answer.topics[0].error_code == ErrorCode.NONE, answer.topics[0].error_message
    return wire.wait_for_topic(row.name, 1)


def wait_until_in_sync(wire: Wire, topic: Topic) -> None:
    """Wait until all replicas of a topic's partition are in its ISR. Raise Deviation if that takes
    longer than RECOVERED_S_MAX."""
    eventually(
        lambda: wire.topic_metadata(topic.name).partitions[0],
        lambda partition: len(partition.isr_nodes) == len(partition.replica_nodes),
        f"all replicas of {topic.name} are in sync",
        RECOVERED_S_MAX,
    )
