"""Our own broker as a target: killed, paused, and behind one proxied link."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos.means.connection import WireError
from chaos.targets import parse_target
from chaos.targets.clusters import probe
from chaos.values.faults import CutClients, CutLink, DelayAnswers, Heal, Kill, Pause
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
    host, port = cluster.bootstrap.split(":")
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


def test_links_between_nodes_it_has_none(reference: Cluster) -> None:
    with pytest.raises(
        TargetError, match="target 'reference' cannot CutLink; it can: AdminStorm, BitFlip"
    ):
        reference.perform(CutLink(1, 2))


@pytest.mark.parametrize(("config", "bug"), [({"num.partitons": "1"}, None), ({}, "no-such-bug")])
def test_what_the_broker_refuses_is_a_sentence_with_its_own_words(
    config: dict[str, str], bug: str | None, tmp_path: Path
) -> None:
    wrong = bug or next(iter(config))
    with pytest.raises(TargetError, match=f"node 1 ended with status 2; its last.*{wrong}") as told:
        parse_target("reference", bug=bug).start(tmp_path, 1, config)
    assert "\n" not in str(told.value)
    assert "Traceback" not in str(told.value)
