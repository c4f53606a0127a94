"""Test, with Docker, that the reference in a real container can be struck and healed, and is
removed completely."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chaos.means import disks, guard
from chaos.means.docker import containers
from chaos.means.docker.containers import LABEL, daemon_url
from chaos.means.shim.control import library
from chaos.targets import parse_target
from chaos.targets.clusters import probe
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.dockerized import cluster as nodes
from chaos.values.able_targets import DiskTarget, PreloadTarget
from chaos.values.faults import CutClients, DelayAnswers, Heal, Kill, Pause, PowerLoss
from chaos.values.protocols import Cluster, TargetError

ASK_TIMEOUT_S = 2.0

pytestmark = [pytest.mark.nightly, pytest.mark.needs("docker")]


def left_of_ours() -> list[str]:
    """Containers and networks of this process."""
    client = containers._client(daemon_url())
    labelled = {"label": f"{LABEL}={guard.owner_name(os.getpid())}"}
    found = client.containers.list(all=True, filters=labelled)
    found += client.networks.list(filters=labelled)
    return [str(one.name) for one in found]


def answers(cluster: Cluster) -> bool:
    """Return whether the node answers as a client sees it, through toxiproxy."""
    host, _, port = cluster.bootstrap.rpartition(":")
    return probe.answers((host, int(port)), ASK_TIMEOUT_S)


def test_a_node_in_a_container_is_killed_paused_cut_off_and_comes_back(tmp_path: Path) -> None:
    cluster = parse_target("docker:reference").start(tmp_path, proxied=True)
    assert isinstance(cluster, LocalCluster)
    try:
        for fault in (Kill(1), Pause(1), CutClients(1), CutClients(1, how="refuse")):
            assert answers(cluster)
            assert cluster.perform(fault).nodes == (1,)
            assert not answers(cluster)
            cluster.perform(Heal())
            cluster.wait_ready()
        cluster.perform(DelayAnswers(1, latency_ms=round(2 * ASK_TIMEOUT_S * 1000)))
        assert not answers(cluster)
        cluster.perform(Heal())
        assert len(left_of_ours()) == 5  # sidecar, toxiproxy and its own, node, network
        cluster.collect(tmp_path / "kept")
        assert (tmp_path / "kept" / "1" / "node.log").read_text()
    finally:
        cluster.stop()
    assert left_of_ours() == []


def test_a_toxiproxy_that_hangs_is_replaced_under_its_address(tmp_path: Path) -> None:
    cluster = parse_target("docker:reference").start(tmp_path, proxied=True)
    assert isinstance(cluster, LocalCluster)
    try:
        cluster.perform(CutClients(1))
        cluster.open_links()._child.pause()
        assert not answers(cluster)
        cluster.perform(Heal())
        assert answers(cluster)
        cluster.perform(CutClients(1, how="refuse"))
        assert not answers(cluster)
    finally:
        cluster.stop()
    assert left_of_ours() == []


@pytest.mark.needs("shim")
def test_a_node_whose_image_cannot_load_the_shim_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / library().name
    other.write_text("of another system")
    monkeypatch.setattr(nodes, "library", lambda: other)
    target = parse_target("docker:reference")
    assert isinstance(target, PreloadTarget)
    with pytest.raises(TargetError, match="this image cannot load the shim"):
        target.with_shim().start(tmp_path)
    assert left_of_ours() == []


@pytest.mark.needs("loop")
def test_a_node_on_a_disk_of_its_own_loses_power_and_comes_back(tmp_path: Path) -> None:
    target = parse_target("docker:reference")
    assert isinstance(target, DiskTarget)
    cluster = target.with_disks().start(tmp_path)
    assert isinstance(cluster, LocalCluster)
    try:
        (member,) = cluster.members()
        assert member.disk is not None
        assert list((member.disk.mount_point / "data").iterdir())
        assert cluster.perform(PowerLoss(1)).nodes == (1,)
        assert not answers(cluster)
        cluster.perform(Heal())
        cluster.wait_ready()
        assert answers(cluster)
    finally:
        cluster.stop()
    assert left_of_ours() == []
    assert not disks.remove_leftovers()
