"""Test Apache Kafka and the reference in one cluster: the target's names, and which node leads."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from chaos.means.connection import WireError
from chaos.record.run_directory import Scenario
from chaos.scenarios.fitting import why_not
from chaos.targets import parse_target
from chaos.targets.clusters import probe
from chaos.targets.clusters.kraft import KraftCluster
from chaos.targets.mixed import Mixed
from chaos.values.able_targets import RunningTarget
from chaos.values.faults import Heal, Kill
from chaos.values.protocols import TargetError
from chaos.workloads import WORKLOADS
from reference_impl.wire import ApiKey, ErrorCode, request_definition

MIXES = ("mixed:apache=2,reference=1", "mixed:reference=2,apache=1")
WAIT_S = 60.0
ROUNDS = 12
"""The number of controllers that are killed at most, until one of either kind has led."""


def test_the_name_says_which_nodes_are_of_which_kind() -> None:
    first, second = (parse_target(name) for name in MIXES)
    assert isinstance(first, Mixed)
    assert isinstance(second, Mixed)
    assert first.numbers == {"apache": range(1, 3), "reference": range(3, 4)}
    assert second.numbers == {"reference": range(1, 3), "apache": range(3, 4)}
    assert parse_target("mixed").name == first.name


def test_a_workload_gets_its_broker_settings() -> None:
    needs = next(name for name, workload in WORKLOADS.items() if workload.config)
    assert why_not(Scenario("mixed", needs, "none", 3, 5.0, 1)) is None
    assert not isinstance(parse_target("mixed"), RunningTarget)  # the run would be a guest


@pytest.mark.parametrize(
    "name", ["mixed:apache=3", "mixed:apache=2,kfake=1", "mixed:apache=2,reference=0", "mixed:3"]
)
def test_a_name_without_two_kinds_is_refused(name: str) -> None:
    with pytest.raises(TargetError, match="write for example mixed:apache=2,reference=1"):
        parse_target(name)


def wait_for(what: str, found: Callable[[], int | None]) -> int:
    """Return the result of `found` as soon as it is a number above zero."""
    deadline = time.monotonic() + WAIT_S
    while not (number := found()):
        assert time.monotonic() < deadline, f"not within {WAIT_S:.0f} s: {what}"
        time.sleep(0.1)
    return number


def create(cluster: KraftCluster, node: int, topic: str) -> ErrorCode:
    """Let a node create a topic with one partition, which it leads, on all nodes."""
    of = request_definition(ApiKey.CREATE_TOPICS)
    replicas = [node, *(each for each in cluster.layout.numbers() if each != node)]
    row = of.struct("CreatableReplicaAssignment", partition_index=0, broker_ids=replicas)
    wanted = of.struct(
        "CreatableTopic", name=topic, num_partitions=-1, replication_factor=-1, assignments=[row]
    )
    body = of.new(topics=[wanted], timeout_ms=10_000)
    answer = probe.exchange(cluster.direct(node), ApiKey.CREATE_TOPICS, 5, body, WAIT_S)
    return ErrorCode(answer.topics[0].error_code)


def leader_everywhere(cluster: KraftCluster, topic: str) -> int | None:
    """Return the leader of a topic's partition if all nodes name the same one."""
    try:
        views = [
            probe.partition(cluster.direct(node), topic, 0, WAIT_S)
            for node in cluster.layout.numbers()
        ]
    except WireError:
        return None
    leaders = {None if view is None else view.leader for view in views}
    return leaders.pop() if len(leaders) == 1 else None


@pytest.mark.nightly
@pytest.mark.needs("java", "kafka-jars")
@pytest.mark.parametrize("name", MIXES)
def test_a_controller_of_either_kind_leads_brokers_of_both(name: str, tmp_path: Path) -> None:
    target = parse_target(name)
    assert isinstance(target, Mixed)
    kinds = {number: kind for kind, numbers in target.numbers.items() for number in numbers}
    cluster = target.start(tmp_path)
    assert isinstance(cluster, KraftCluster)
    try:
        led = set()
        for attempt in range(ROUNDS):
            controller = wait_for("a controller is active", cluster.controller)
            for node in kinds:
                topic = f"of-{controller}-{node}-{attempt}"
                assert create(cluster, node, topic) is ErrorCode.NONE
                everywhere = partial(leader_everywhere, cluster, topic)
                assert wait_for("all nodes name the leader", everywhere) == node
            led.add(kinds[controller])
            if len(led) == len(target.numbers):
                break
            cluster.perform(Kill(controller))
            wait_for("another controller is active", cluster.controller)
            cluster.perform(Heal())
            cluster.wait_ready()
        assert led == set(target.numbers)
    finally:
        cluster.stop()
