"""Test, with Docker, that no loss of power removes data that a container has acknowledged after a
sync."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from chaos.means.docker.containers import Engine
from chaos.targets.clusters import equipment
from chaos.targets.dockerized import cluster, network
from chaos.targets.dockerized.cluster import ContainerNode
from chaos.targets.dockerized.reference import IMAGE
from chaos.tests.acknowledging import WRITERS, command, lies, strike
from chaos.values.faults import DiskDead, Fault, LostNames, PowerLoss, TornWrites

pytestmark = [pytest.mark.nightly, pytest.mark.needs("docker")]
ROUNDS = 300 // WRITERS


@pytest.fixture
def node(tmp_path: Path) -> ContainerNode:
    return ContainerNode(1, (), ("127.0.0.1", 9), tmp_path / "node", data=tmp_path / "data/1")


def found(node: ContainerNode, processes: int, fault: Fault) -> list[str]:
    """Return the broken promises of all rounds."""
    assert node.data is not None
    engine, home = Engine.connect(), node.directory.parent / "told"
    home.mkdir()
    place = node.data.resolve()
    sidecar = network.build(engine, 1, proxied=False).sidecars[1]
    options = dict(cluster._options(node, sidecar, engine.user()))
    options["volumes"] |= {str(home): {"bind": str(home), "mode": "rw"}}
    arguments = command(place, home / "told", processes)
    node.make = partial(engine.create, IMAGE, "node 1", ["python", *arguments], **options)

    def hit() -> None:
        strike(node, fault)
        equipment.heal_disks([node])
        assert node.child is not None
        node.child.kill()

    try:
        return list(lies(place, home / "told", ROUNDS, node.start, hit))
    finally:
        engine.remove_all()


@pytest.mark.needs("root", "loop")
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(
    "fault", [PowerLoss("all"), DiskDead("all")], ids=lambda one: str(one.name)
)
def test_a_disk_keeps_what_was_acknowledged(
    node: ContainerNode, fault: Fault, processes: int, tmp_path: Path
) -> None:
    with equipment.disks_for(tmp_path, 1, wanted=True) as disks:
        node.disk = disks[1]
    try:
        assert found(node, processes, fault) == []
    finally:
        equipment.heal_disks([node])
        equipment.remove_disks([node])


@pytest.mark.needs("shim")
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(
    "fault", [PowerLoss("all"), LostNames("all"), TornWrites("all")], ids=lambda one: str(one.name)
)
def test_a_ledger_keeps_what_was_acknowledged(
    node: ContainerNode, fault: Fault, processes: int, tmp_path: Path
) -> None:
    equipment.preload([node], tmp_path)
    try:
        assert found(node, processes, fault) == []
    finally:
        equipment.close_shims([node])
