"""Test the target librdkafka-mock: a child process behind a port of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.targets import parse_target
from chaos.values.faults import Heal, Kill
from chaos.values.protocols import Cluster, TargetError

NAME = "librdkafka-mock"


@pytest.fixture
def mock(tmp_path: Path) -> Iterator[Cluster]:
    cluster = parse_target(NAME).start(tmp_path)
    yield cluster
    cluster.stop()


def test_it_answers_is_killed_and_comes_back_at_the_same_address(mock: Cluster) -> None:
    assert mock.alive()
    mock.perform(Kill("all"))
    assert not mock.alive()
    mock.perform(Heal())
    mock.restart()
    assert mock.alive()


def test_it_has_one_node_no_settings_no_versions_and_no_bugs(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="runs 1 node"):
        parse_target(NAME).start(tmp_path, nodes=3)
    with pytest.raises(TargetError, match="takes no configuration; leave out a"):
        parse_target(NAME).start(tmp_path, config={"a": "b"})
    with pytest.raises(TargetError, match="that of the installed confluent-kafka"):
        parse_target(f"{NAME}:2")
    with pytest.raises(TargetError, match="no planted bugs"):
        parse_target(NAME, bug="a")
