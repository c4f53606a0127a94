"""Measure three reference nodes with 2,000 partitions of three replicas, each row with a bound: the
return of a killed node, memory, the cost of a Produce, and the CPU time of an idle cluster.

CPU time is read from /proc, so that other processes affect only the time of the return.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from chaos.targets import parse_target
from chaos.targets.clusters.cluster import LocalCluster
from chaos.values.faults import Heal, Kill
from ci.bench import broker_loads as loads
from ci.bench.broker import running
from ci.bench.table import Ratio, Table
from conformance.connection import part
from conformance.wire import Topic, Wire, batch, eventually
from reference_impl.robustness.usage import cpu_s, resident_mib
from reference_impl.wire import ErrorCode

NODES, TOPICS, PARTITIONS = 3, 4, 500
FEW = 20
SLICES, SLICE_S = 5, 2.0
IDLE_S = 5.0
RETURN_S_MAX, RESIDENT_MIB_MAX, COST_RATIO_MAX, IDLE_CPUS_MAX = 30.0, 500.0, 1.5, 0.1
PATIENCE_S = 300.0
SMALL = 1_000


def add_rows(table: Table, scratch: Path, config: Mapping[str, str]) -> None:
    """Add one row for each bound; its figures are in the columns `reference` and `ratio`."""
    with running(parse_target("reference"), scratch / "many", NODES, config) as (started, wire):
        cluster = cast(LocalCluster, started)
        few = topic_of(wire, FEW)
        with_few_ms = produce_cpu_ms(cluster, wire, few)
        topics = [topic_of(wire, PARTITIONS) for _ in range(TOPICS)]
        ratio = produce_cpu_ms(cluster, wire, topics[0]) / with_few_ms
        _add(table, "produce with 2,000 partitions to one with 20 (CPU)", ratio, COST_RATIO_MAX)
        idle = max(idle_cpus(cluster))
        _add(table, "CPUs of an idle node with 2,000 partitions", idle, IDLE_CPUS_MAX)
        returned_s = return_s(cluster, wire, topics)
        _add(table, "killed node in all ISRs of 2,000 again (s)", returned_s, RETURN_S_MAX)
        resident = max(resident_mib(pid) for pid in pids_of(cluster))
        _add(table, "resident node with 2,000 partitions (MiB)", resident, RESIDENT_MIB_MAX)


def _add(table: Table, name: str, value: float, at_most: float) -> None:
    table.add(name, value, "", Ratio(value, at_most=at_most), "", "", "", "")
    print(f"  {name}: {value:.2f}, at most {at_most:g}", flush=True)


def topic_of(wire: Wire, partitions: int) -> Topic:
    """Create a topic with three replicas of each partition, and write one record to each, so that
    each replica has files with something in them. Return the topic."""
    row = part(
        "CreateTopics",
        "CreatableTopic",
        name=wire.new_name(),
        num_partitions=partitions,
        replication_factor=NODES,
    )
    answer = wire.call("CreateTopics", topics=[row], timeout_ms=60_000)
    # If the controller changes meanwhile, the broker forwards the request to the next one, too.
    expected = ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS
    assert answer.topics[0].error_code in expected, answer.topics[0].error_message
    topic = Topic(row.name, wire.topic_metadata(row.name).topic_id, partitions)
    eventually(
        lambda: write_to_each(wire, topic), lambda done: done == partitions, "writes", PATIENCE_S
    )
    return topic


def write_to_each(wire: Wire, topic: Topic) -> int:
    """Write a record to each partition, with one request to each leader. Return the number of
    partitions that accepted it."""
    described = wire.topic_metadata(topic.name)
    led: dict[int, list[int]] = {}
    for each in described.partitions:
        led.setdefault(each.leader_id, []).append(each.partition_index)
    data, written = batch(b"x" * SMALL).encode(), 0
    for indexes in led.values():
        body = wire.produce_request(topic, data)
        entry = body.topic_data[0]
        entry.partition_data = [
            part("Produce", "PartitionProduceData", index=index, records=data) for index in indexes
        ]
        answer = wire.leader(topic, indexes[0]).call("Produce", loads.PRODUCE_VERSION, body)
        rows = answer.responses[0].partition_responses
        written += sum(row.error_code == ErrorCode.NONE for row in rows)
    return written


def produce_cpu_ms(cluster: LocalCluster, wire: Wire, topic: Topic) -> float:
    """Return the CPU time in milliseconds that all nodes together spend on a Produce request to one
    of a topic's partitions, beyond the CPU time of the idle cluster."""
    connection = wire.connect_to_leader(topic)
    frame = loads.produce_frame(wire, topic, SMALL, -1)
    loads.pipelined(connection, frame, SLICE_S)  # so that caches are warm, and files open
    idle = sum(idle_cpus(cluster))
    costs_ms = []
    for _ in range(SLICES):
        before_s, since = used_s(cluster), time.monotonic()
        rate = loads.pipelined(connection, frame, SLICE_S)
        passed_s = time.monotonic() - since
        spent_s = used_s(cluster) - before_s - idle * passed_s
        costs_ms.append(1_000 * spent_s / (rate * passed_s))
    connection.close()
    return statistics.median(costs_ms)


def used_s(cluster: LocalCluster) -> float:
    """Return the CPU time in seconds that all nodes together have used so far."""
    return sum(cpu_s(pid) for pid in pids_of(cluster))


def pids_of(cluster: LocalCluster) -> list[int]:
    """Return the process ids of the nodes."""
    return [member.child.pid for member in cluster.members() if member.child is not None]


def idle_cpus(cluster: LocalCluster) -> list[float]:
    """Return the number of CPUs that each node uses on average while no client sends requests."""
    before = [cpu_s(pid) for pid in pids_of(cluster)]
    since = time.monotonic()
    time.sleep(IDLE_S)
    passed_s = time.monotonic() - since
    after = [cpu_s(pid) for pid in pids_of(cluster)]
    return [(b - a) / passed_s for a, b in zip(before, after, strict=True)]


def return_s(cluster: LocalCluster, wire: Wire, topics: list[Topic]) -> float:
    """Kill a node, wait until the ISRs shrink, and start it again. Return the seconds from its
    restart until it is in all ISRs of these topics again."""
    cluster.perform(Kill(NODES))
    wire.forget_connections()
    eventually(
        lambda: smallest_isr(wire, topics), lambda size: size < NODES, "ISRs shrink", PATIENCE_S
    )
    began = time.monotonic()
    cluster.perform(Heal())
    wire.forget_connections()
    eventually(
        lambda: smallest_isr(wire, topics),
        lambda size: size == NODES,
        "the node is in sync",
        PATIENCE_S,
    )
    return time.monotonic() - began


def smallest_isr(wire: Wire, topics: list[Topic]) -> int:
    """Return the size of the smallest ISR of these topics' partitions."""
    return min(
        len(partition.isr_nodes)
        for topic in topics
        for partition in wire.topic_metadata(topic.name).partitions
    )
