"""Test attacks on clusters in which some nodes are Apache Kafka and the others the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.record.run_directory import Scenario
from chaos.run.runner import run
from linearizability import check
from linearizability.verdict import Validity

SECONDS = 40


@pytest.mark.nightly
@pytest.mark.needs("java", "kafka-jars", "toxiproxy")
@pytest.mark.parametrize("nemesis", ["kill-leader", "rolling-restart"])
@pytest.mark.parametrize("target", ["mixed:apache=2,reference=1", "mixed:reference=2,apache=1"])
def test_nothing_is_lost_in_a_mixed_cluster(target: str, nemesis: str, tmp_path: Path) -> None:
    result = run(Scenario(target, "appends", nemesis, 3, SECONDS, 1), tmp_path, progress=False)
    assert not result.problems
    assert check(result.directory, engine="local").validity is Validity.VALID
