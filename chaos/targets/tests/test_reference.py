"""Test the reference broker as a target: killed, paused and cut off, as one node or three."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos.means.connection import WireError
from chaos.targets import parse_target
from chaos.targets.clusters import probe
from chaos.targets.clusters.kraft import KraftCluster
from chaos.values.faults import CutClients, CutLink, DelayAnswers, Heal, Isolate, Kill, Pause
from chaos.values.protocols import Cluster, TargetError
from chaos.world import Address

pytestmark = pytest.mark.needs("toxiproxy")
WAIT_S = 180.0
QUICK_S = 1.0


@pytest.fixture
def reference(tmp_path: Path) -> Iterator[Cluster]:
    cluster = parse_target("reference").start(tmp_path, 1, {"num.partitions": "2"}, True)
    yield cluster
    cluster.stop()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {WAIT_S:.0f} s: {what}"
        time.sleep(0.05)


def as_clients_see_it(cluster: Cluster) -> Address:
    return as_address(cluster.bootstrap)


def as_address(where: str) -> Address:
    host, port = where.split(":")
    return host, int(port)


def test_it_tells_clients_the_proxy_and_answers_the_harness_without_it(reference: Cluster) -> None:
    seen = as_clients_see_it(reference)
    assert probe.brokers(seen, WAIT_S) == {1: seen}
    for how in ("blackhole", "refuse"):
        reference.perform(CutClients("all", how=how))
        with pytest.raises(WireError):
            probe.check_kafka(seen, QUICK_S)
        assert reference.alive()
        reference.perform(Heal())
        probe.check_kafka(seen, WAIT_S)


def test_answers_are_held_back(reference: Cluster) -> None:
    reference.perform(DelayAnswers(1, latency_ms=400))
    started = time.monotonic()
    probe.check_kafka(as_clients_see_it(reference), WAIT_S)
    assert time.monotonic() - started >= 0.4


def test_it_comes_back_after_kill_and_pause(reference: Cluster) -> None:
    assert reference.perform(Kill("all")).nodes == (1,)
    assert not reference.alive()
    assert reference.perform(Heal()).nodes == (1,)
    wait_until(reference.alive, "it answers again after the kill")
    assert reference.perform(Pause("random")).nodes == (1,)
    assert reference.perform(Heal()).nodes == (1,)
    wait_until(reference.alive, "it answers again after the pause")
    probe.check_kafka(as_clients_see_it(reference), WAIT_S)


def test_one_node_has_no_links_to_others(reference: Cluster) -> None:
    assert reference.perform(Isolate(1)).note.endswith("no such link")


@pytest.fixture
def three(tmp_path: Path) -> Iterator[KraftCluster]:
    cluster = parse_target("reference").start(tmp_path, 3, {}, True)
    assert isinstance(cluster, KraftCluster)
    yield cluster
    cluster.stop()


def test_a_controller_that_is_cut_off_is_replaced_and_comes_back(three: KraftCluster) -> None:
    seen = tuple(as_address(where) for where in three.bootstrap.split(","))
    assert probe.brokers(seen[0], WAIT_S) == dict(enumerate(seen, 1))
    first = three.controller()
    assert first is not None
    assert three.perform(Isolate("controller")).nodes == (first,)
    others = {1, 2, 3} - {first}
    wait_until(lambda: three.controller() in others, "another controller is elected")
    wait_until(lambda: brokers_of(three, others) == [others] * 2, "its broker is fenced")
    assert brokers_of(three, {first}) == [{1, 2, 3}]  # it has heard nothing of that
    three.perform(Heal())
    three.wait_ready()


def test_a_link_is_cut_in_one_direction(three: KraftCluster) -> None:
    """The broker whose heartbeats do not arrive is fenced, and no election disturbs the
    controller, since its other follower denies the pre-vote (KIP-996)."""
    controller = three.controller()
    assert controller is not None
    cut_off = next(iter({1, 2, 3} - {controller}))
    assert three.perform(CutLink(cut_off, controller, how="refuse")).nodes
    rest = {1, 2, 3} - {cut_off}
    wait_until(lambda: brokers_of(three, rest) == [rest] * 2, "the broker is fenced")
    assert three.controller() == controller
    three.perform(Heal())
    three.wait_ready()


@pytest.mark.nightly
def test_three_nodes_come_back_after_the_kill_of_all(three: KraftCluster) -> None:
    assert three.perform(Kill("all")).nodes == (1, 2, 3)
    three.restart()
    assert three.alive()


def brokers_of(cluster: KraftCluster, nodes: set[int]) -> list[set[int]]:
    """Return the living brokers, as each of these nodes knows them."""
    return [set(probe.brokers(cluster.direct(node), WAIT_S)) for node in sorted(nodes)]


def test_more_nodes_than_it_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="reference runs 1 to 9 nodes, not 10"):
        parse_target("reference").start(tmp_path, 10)


@pytest.mark.parametrize(("config", "bug"), [({"num.partitons": "1"}, None), ({}, "no-such-bug")])
def test_what_the_broker_refuses_is_a_sentence_with_its_own_words(
    config: dict[str, str], bug: str | None, tmp_path: Path
) -> None:
    wrong = bug or next(iter(config))
    with pytest.raises(TargetError, match=f"node 1 ended with status 2; its last.*{wrong}") as told:
        parse_target("reference", bug=bug).start(tmp_path, 1, config)
    assert "\n" not in str(told.value)
    assert "Traceback" not in str(told.value)
