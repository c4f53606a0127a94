"""Test that no fault removes data that a node has acknowledged after a sync, and that no sync on a
dead disk reports success."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos.means import processes
from chaos.targets.clusters import equipment
from chaos.targets.clusters.node import LocalNode
from chaos.tests.acknowledging import WRITERS, command, lies, strike
from chaos.values.faults import (
    DiskDead,
    DiskFull,
    DiskReadOnly,
    DiskStall,
    Fault,
    LostNames,
    PowerLoss,
    TornWrites,
)

HOW_OFTEN = [
    pytest.param(6, id="a-slice"),
    pytest.param(300 // WRITERS, id="300-files", marks=pytest.mark.nightly),
]
OF_DISKS = [kind("all") for kind in (PowerLoss, DiskDead, DiskReadOnly, DiskFull, DiskStall)]
OF_LEDGERS = [
    PowerLoss("all"),
    LostNames("all"),
    TornWrites("all", "torn"),
    TornWrites("all", "reordered"),
    TornWrites("all", "scattered"),
]
FELT_S = 0.05
"""The seconds in which a node may still acknowledge writes under a fault that it survives."""


def writing_node(directory: Path) -> LocalNode:
    data = directory / "data" / "1"
    arguments = command(data, directory / "told")
    node = LocalNode(1, [sys.executable, *arguments], ("127.0.0.1", 9), directory / "node")
    node.data = data
    return node


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[LocalNode]:
    node = writing_node(tmp_path)
    with equipment.disks_for(tmp_path, 1, wanted=True) as disks:
        node.disk = disks[1]
    try:
        yield node
    finally:
        equipment.heal_disks([node])
        node.stop()
        equipment.remove_disks([node])


@pytest.fixture
def preloaded(tmp_path: Path) -> Iterator[LocalNode]:
    node = writing_node(tmp_path)
    equipment.preload([node], tmp_path)
    try:
        yield node
    finally:
        node.stop()
        equipment.close_shims([node])


def found(node: LocalNode, rounds: int, hit: Callable[[], object]) -> list[str]:
    """Return the lost acknowledgements of `rounds` rounds."""

    def struck_and_healed() -> None:
        hit()
        if node.running:
            time.sleep(FELT_S)
        equipment.heal_disks([node])
        node.stop()

    assert node.data is not None
    told = node.directory.parent / "told"
    return list(lies(node.data, told, rounds, node.start, struck_and_healed))


@pytest.mark.needs("root", "loop")
@pytest.mark.parametrize("rounds", HOW_OFTEN)
@pytest.mark.parametrize("fault", OF_DISKS, ids=lambda fault: str(fault.name))
def test_a_disk_keeps_what_was_acknowledged(on_disk: LocalNode, fault: Fault, rounds: int) -> None:
    assert found(on_disk, rounds, lambda: strike(on_disk, fault)) == []


@pytest.mark.needs("shim")
@pytest.mark.parametrize("rounds", HOW_OFTEN)
@pytest.mark.parametrize("fault", OF_LEDGERS, ids=lambda fault: str(fault.to_json()))
def test_a_ledger_keeps_what_was_acknowledged(
    preloaded: LocalNode, fault: Fault, rounds: int
) -> None:
    assert found(preloaded, rounds, lambda: strike(preloaded, fault)) == []


@pytest.mark.nightly
@pytest.mark.needs("root", "loop")
def test_the_order_matters(on_disk: LocalNode) -> None:
    """Power first and the kill afterwards, as nothing should do it: some syncs lie."""
    disk = on_disk.disk
    assert disk is not None

    def power_first() -> None:
        disk.cut_power()
        time.sleep(0.01)
        assert on_disk.child is not None
        processes.strike([on_disk.child])
        on_disk.child.kill()
        disk.replug()

    assert found(on_disk, 300 // WRITERS, power_first)
