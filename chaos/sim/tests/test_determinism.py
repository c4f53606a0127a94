"""The same seed gives the same history and the same disk, in any process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

Run = tuple[str, str, str]
"""The nemesis, the number of nodes, and the seed."""
SCENES = (("kill", "1"), ("partition-ring", "3"))
BY_NIGHT = (("reset", "1"), ("kill-leader", "3"))
ANOTHER_SEED = (*SCENES[0], "2")


def hashes_in_a_process(runs: Sequence[Run], hash_seed: str) -> dict[Run, str]:
    """Return the hash of each run, all made in this order in one separate process."""
    ended = subprocess.run(
        [sys.executable, "-m", "chaos.sim.tests.simulated", *(":".join(run) for run in runs)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return dict(zip(runs, ended.stdout.split(), strict=True))


@pytest.fixture(scope="module")
def twice(request: pytest.FixtureRequest) -> tuple[dict[Run, str], dict[Run, str]]:
    """Make the runs in two processes at once; the second process makes those of the first seed in
    reverse order. Return the hashes of both."""
    scenes = (*SCENES, *(BY_NIGHT if request.config.getoption("--nightly") else ()))
    first = [*((*scene, "1") for scene in scenes), ANOTHER_SEED]
    again = [(*scene, "1") for scene in reversed(scenes)]
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(hashes_in_a_process, (first, again), ("0", "4711"))
    return one, other


@pytest.mark.parametrize(
    ("nemesis", "nodes"),
    [*SCENES, *(pytest.param(*scene, marks=pytest.mark.nightly) for scene in BY_NIGHT)],
)
def test_the_same_seed_gives_the_same_history_and_disks(
    nemesis: str, nodes: str, twice: tuple[dict[Run, str], dict[Run, str]]
) -> None:
    first, again = twice
    assert len(first[nemesis, nodes, "1"]) == 64
    assert first[nemesis, nodes, "1"] == again[nemesis, nodes, "1"]
    assert first[nemesis, nodes, "1"] != first[ANOTHER_SEED]
