"""Simulated runs for tests. As a program it prints a hash of the history and disks of each run that
its arguments name, as NEMESIS:NODES:SEED."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from chaos.record.run_directory import Scenario
from chaos.run.fitting import Parts, nemesis_named, workload_named
from chaos.run.result import RunResult
from chaos.run.runner import run
from chaos.sim.cluster.cluster import SimCluster
from chaos.sim.target import Sim
from chaos.values.protocols import Cluster

SECONDS, RATE = 10.0, 60.0
SECONDS_OF = {"seeks": 4.0}
"""Readers that seek read the same records again and again: a few seconds are enough."""


class SeveralNodes(Sim):
    """A simulator of three nodes, whose last cluster can be looked at after its run."""

    cluster: SimCluster
    size = 3

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        cluster = super().start(directory, nodes, config, proxied)
        assert isinstance(cluster, SimCluster)
        self.cluster = cluster
        return cluster


def simulate(
    target: Sim,
    workload: str,
    nemesis: str,
    seed: int,
    runs: Path,
    config: Mapping[str, str] | None = None,
) -> RunResult:
    """Make one run in virtual time, on the number of nodes that the target's class says."""
    seconds = SECONDS_OF.get(workload, SECONDS)
    nodes = target.size if isinstance(target, SeveralNodes) else 1
    scenario = Scenario("sim", workload, nemesis, nodes, seconds, seed, config or {}, rate=RATE)
    parts = Parts(target, workload_named(workload), nemesis_named(nemesis))
    return run(scenario, runs, parts=parts, tools=None, progress=False)


def hash_of(workload: str, nemesis: str, seed: int, nodes: int) -> str:
    """Return the hash of everything that a run has left: each row, and each byte on the disks."""
    target, found = SeveralNodes(), hashlib.sha256()
    target.size = nodes
    with tempfile.TemporaryDirectory() as runs:
        result = simulate(target, workload, nemesis, seed, Path(runs))
        rows = pl.read_parquet(result.directory / "history.parquet")
    found.update(rows.write_csv().encode() if not rows.is_empty() else b"")
    for member in target.cluster.members.values():
        files = member.medium.files
        for path in sorted(files):
            found.update(path.encode() + files[path].data)
    return found.hexdigest()


if __name__ == "__main__":
    for nemesis_name, node_count, seed_text in (word.split(":") for word in sys.argv[1:]):
        print(hash_of("transactions", nemesis_name, int(seed_text), int(node_count)))
