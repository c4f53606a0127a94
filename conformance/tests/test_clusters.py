"""A correct cluster of several brokers is accused of nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parent.parent / "cases"
PASSED_MIN = 500
"""Of the 560 runs of P0 on three nodes; fewer would mean that cases have become unsupported."""


@pytest.mark.nightly  # three JVMs, and some minutes
@pytest.mark.needs("java", "kafka-jars")
def test_three_nodes_of_apache_kafka_pass(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    command = [
        sys.executable,
        "-m",
        "pytest",
        str(CASES),
        "-q",
        "-p",
        "no:cacheprovider",
        "--target",
        "apache:4.3.1",
        "--nodes",
        "3",
        "--priority",
        "P0",
        "--results-json",
        str(results),
    ]
    subprocess.run(command, check=False, timeout=1500)
    found = json.loads(results.read_text())
    failed = [run for run in found["cases"] if run["result"] == "failed"]
    assert failed == []
    assert found["passed"] >= PASSED_MIN, found
