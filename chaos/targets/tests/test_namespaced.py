"""The target whose nodes have network namespaces: its names, its faults, and Apache Kafka in it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from chaos.targets import parse_target
from chaos.targets.clusters import probe
from chaos.values.faults import DropPackets, Heal, NarrowLinks, SlowLinks
from chaos.values.protocols import TargetError
from chaos.world import Address

WAIT_S = 180.0


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("netns", "netns:apache:4.3.1"),
        ("netns:apache", "netns:apache:4.3.1"),
        ("netns:apache:3.9", "netns:apache:3.9.1"),
    ],
)
def test_its_name_says_what_runs_in_it(asked: str, name: str) -> None:
    target = parse_target(asked)
    assert target.name == name
    assert parse_target(target.name).name == name  # so that a run can be made again
    assert DropPackets in target.faults
    assert SlowLinks in target.faults
    assert NarrowLinks not in target.faults


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("netns:reference", "'reference' has no nodes to be put into namespaces; write netns:apac"),
        ("netns:apache:9", "no Apache Kafka '9' is pinned here"),
    ],
)
def test_what_cannot_be_in_it_is_said(asked: str, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        parse_target(asked)


@pytest.mark.nightly
@pytest.mark.needs("root", "netns", "java", "kafka-jars")
def test_a_node_whose_packets_are_lost_is_given_up_and_comes_back(tmp_path: Path) -> None:
    cluster = parse_target("netns").start(tmp_path, 3)
    host, _, port = cluster.bootstrap.split(",")[1].rpartition(":")
    try:
        assert cluster.perform(DropPackets(1, "all")).nodes == (1, 2, 3)
        wait_until_known((host, int(port)), {2, 3})
        cluster.perform(Heal())
        wait_until_known((host, int(port)), {1, 2, 3})
    finally:
        cluster.stop()


def wait_until_known(address: Address, wanted: set[int]) -> None:
    """Wait until the node at this address considers exactly these nodes alive."""
    deadline = time.monotonic() + WAIT_S
    while (known := set(probe.brokers(address, WAIT_S))) != wanted:
        assert time.monotonic() < deadline, f"{known} are known, not {wanted}"
        time.sleep(0.1)
