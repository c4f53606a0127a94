"""The same seed gives the same history and the same disk, in any process."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest


def hash_in_a_process(nemesis: str, nodes: int, seed: int, hash_seed: str) -> str:
    """Return the output of `simulated` in a separate process."""
    command = [sys.executable, "-m", "chaos.sim.tests.simulated", "transactions", nemesis]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    ended = subprocess.run(
        [*command, str(seed), str(nodes)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return ended.stdout.strip()


@pytest.mark.parametrize(
    ("nemesis", "nodes"), [("kill", 1), ("reset", 1), ("kill-leader", 3), ("partition-ring", 3)]
)
def test_the_same_seed_gives_the_same_history_and_disks(nemesis: str, nodes: int) -> None:
    asked = [(1, "0"), (1, "4711"), (2, "0")]
    with ThreadPoolExecutor(2) as pool:
        first, again, other = pool.map(lambda one: hash_in_a_process(nemesis, nodes, *one), asked)
    assert len(first) == 64
    assert first == again
    assert first != other
