"""Fixtures that several tests of the commands use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.targets import parse_target
from chaos.targets.clusters.cluster import LocalCluster


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[LocalCluster]:
    """Start the reference broker here, so that it is foreign to the examination."""
    cluster = parse_target("reference").start(tmp_path / "broker")
    assert isinstance(cluster, LocalCluster)
    yield cluster
    cluster.stop()
