"""The checks that a probe makes by requests to a Kafka broker or a socket, such as: is a connection
refused, is it silent, was a record stored?"""

from __future__ import annotations

import socket
import time
from contextlib import closing

from chaos.clients.wire.wire_link import LATEST, PartitionState, WireCluster, check, insist
from chaos.means.connection import WireError, connected
from chaos.means.real_world import REAL_WORLD, run
from chaos.probes.frame import PATIENCE_S, Site
from chaos.world import Address, joined
from reference_impl.wire import ApiKey, Record, RecordBatch, request_definition

TOPIC_TIMEOUT_S = 60.0
RETRY_S = 0.05


def is_refused(address: Address) -> bool:
    """Return whether a new connection is refused, or ends within a second. Return False if it stays
    open or cannot be opened in a second."""
    try:
        with socket.create_connection(address, timeout=1) as connection:
            connection.settimeout(1)
            return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def is_silent(address: Address, quiet_s: float) -> bool:
    """Return whether a connection is accepted and a request then gets neither a response nor a
    close for quiet_s seconds. Return True also if the connection itself is not accepted in that
    time."""
    try:
        with closing(run(connected(REAL_WORLD, address, quiet_s))) as connection:
            run(connection.ask(ApiKey.API_VERSIONS))
    except WireError as error:
        return isinstance(error.__cause__, TimeoutError)
    return False


def make_topic(address: Address, topic: str, replicas: int = 1) -> None:
    """Create a topic with one partition, unless the topic exists, and wait for its leader. Raise
    WireError if none leads within TOPIC_TIMEOUT_S."""
    struct = request_definition(ApiKey.CREATE_TOPICS).struct
    wanted = struct("CreatableTopic", name=topic, num_partitions=1, replication_factor=replicas)
    deadline = time.monotonic() + TOPIC_TIMEOUT_S
    with closing(WireCluster(REAL_WORLD, joined(address))) as cluster:
        run(cluster.ask_any(ApiKey.CREATE_TOPICS, topics=[wanted], timeout_ms=10_000))
        run(insist(REAL_WORLD, lambda: cluster.leader(topic, 0), deadline, RETRY_S))


def partition(address: Address, topic: str) -> PartitionState:
    """Return the state of partition 0 of a topic as the node at the address reports it. Raise
    WireError if the node does not answer, KeyError if it does not know the topic."""
    with closing(WireCluster(REAL_WORLD, joined(address))) as cluster:
        return run(cluster.view([topic])).partitions[topic, 0]


def topics(address: Address) -> list[str]:
    """Return the names of all topics that the node reports. Raise WireError if it does not
    answer."""
    with closing(run(connected(REAL_WORLD, address, TOPIC_TIMEOUT_S))) as connection:
        return [topic.name for topic in run(connection.ask(ApiKey.METADATA, topics=None)).topics]


def append(address: Address, topic: str, timeout_s: float) -> int:
    """Send one record with acks=all and return its offset. Raise WireError if it is refused or
    there is no response."""
    now_ms = time.time_ns() // 1_000_000
    batch = RecordBatch([Record(b"probe")], base_timestamp=now_ms).encode()
    struct = request_definition(ApiKey.PRODUCE).struct
    partition = struct("PartitionProduceData", index=0, records=batch)
    data = struct("TopicProduceData", name=topic, partition_data=[partition])
    with closing(run(connected(REAL_WORLD, address, timeout_s))) as connection:
        answer = run(
            connection.ask(
                ApiKey.PRODUCE, acks=-1, timeout_ms=int(timeout_s * 1000), topic_data=[data]
            )
        )
    found = answer.responses[0].partition_responses[0]
    check(found.error_code, f"Produce {topic}-0")
    return int(found.base_offset)


def refusal(site: Site, topic: str, what: str) -> str:
    """Send records until one is refused, and return the error. Raise ProbeFailed if none is refused
    in time. what: the refusal expected, for the message."""
    refused: list[str] = []

    def is_refused() -> bool:
        try:
            append(site.cluster.direct(1), topic, PATIENCE_S)
        except WireError as error:
            refused.append(str(error))
        return bool(refused)

    site.expect(is_refused, what)
    return refused[0]


def log_end(address: Address, topic: str) -> int:
    """Return the high watermark of the topic's partition 0. Raise WireError if its leader does not
    answer."""
    with closing(WireCluster(REAL_WORLD, joined(address))) as cluster:
        return run(cluster.offset(run(cluster.leader(topic, 0)), topic, 0, LATEST))
