"""Test whole runs in virtual time: the correct broker is never accused, and planted bugs are
caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.scenarios.exploration import promised_config
from chaos.sim.cluster.cluster import SimCluster
from chaos.sim.target import Sim
from chaos.sim.tests.simulated import SeveralNodes, simulate
from chaos.values.faults import FailedSync, FailedWrite, Kill, NarrowLinks
from chaos.values.protocols import Performed, TargetError
from linearizability.judging import check
from linearizability.verdict import Validity
from reference_impl.core.storage import StorageError


@pytest.mark.sliced(5)
@pytest.mark.parametrize(
    ("workload", "nemesis"),
    [
        ("appends", "kill"),
        ("transactions", "kill"),
        ("transactions", "reset"),
        ("groups-consumer", "pause"),
        ("groups-cooperative", "kill"),
        ("zombies", "cut-clients"),
        ("register", "stalled-connections"),
        # Its final read is made twice: the second one begins a session of its own.
        ("compaction-transactions", "kill"),
    ],
)
def test_a_correct_node_is_not_accused(workload: str, nemesis: str, tmp_path: Path) -> None:
    result = simulate(Sim(), workload, nemesis, 1, tmp_path)
    assert result.recovered and result.counts["records_acknowledged"] > 50, result
    verdict = check(result.directory)
    assert verdict.validity is not Validity.INVALID, verdict
    assert not [one for one in result.problems if "ended early" in one]


@pytest.mark.sliced(5)
@pytest.mark.parametrize(
    ("workload", "nemesis", "controllers"),
    [
        ("transactions", "kill-leader", None),
        ("transactions", "partition-leader", 1),
        ("appends", "partition-link", None),
        ("groups-consumer", "partition-ring", None),
        ("zombies", "kill-controller", 1),
        ("appends", "isolate-controller", None),
        ("groups", "pause", 1),
        ("transactions", "power-loss-minority", None),
        ("appends-mixed", "one-way-packets", None),
        ("appends", "rolling-restart", None),
        # Found: the power was cut before the nodes that were shut down had ended.
        ("appends", "power-loss-when-shut", None),
        # Found: followers that copied no more after their disks had been full, or after a sync that
        # failed and a heal without a restart.
        ("transactions", "disk-full", None),
        ("transactions", "failed-syncs", None),
    ],
)
def test_a_correct_cluster_is_not_accused(
    workload: str, nemesis: str, controllers: int | None, tmp_path: Path
) -> None:
    target = SeveralNodes(controllers=controllers)
    result = simulate(target, workload, nemesis, 1, tmp_path, promised_config(nemesis))
    assert result.recovered and result.counts["records_acknowledged"] > 50, result
    verdict = check(result.directory)
    assert verdict.validity is not Validity.INVALID, verdict
    assert not [one for one in result.problems if "ended early" in one]
    assert target.broken == []


def test_a_loss_of_power_takes_what_was_not_flushed_and_nothing_else(tmp_path: Path) -> None:
    flushed = {"log.flush.interval.messages": "1"}
    kept = simulate(Sim(), "appends", "power-loss-all", 1, tmp_path, flushed)
    assert check(kept.directory).validity is Validity.VALID, kept
    lost = check(simulate(Sim(), "appends", "power-loss-all", 1, tmp_path).directory)
    assert lost.checkers["lost_writes"].validity is Validity.INVALID


@pytest.mark.sliced(5)
@pytest.mark.parametrize(
    ("bug", "workload", "nemesis", "checkers"),
    [
        ("acknowledge-before-append", "appends", "kill", {"lost_writes", "inconsistent_offsets"}),
        ("remember-newest-batch", "appends", "reset", {"duplicates"}),
        ("serve-undecided-records", "transactions", "none", {"dirty_reads", "aborted_reads"}),
        ("reuse-producer-ids", "sequences", "kill", {"fencing", "inconsistent_offsets"}),
    ],
)
def test_a_planted_bug_is_caught(
    bug: str, workload: str, nemesis: str, checkers: set[str], tmp_path: Path
) -> None:
    accused = set[str]()
    for seed in range(1, 9):
        verdict = check(simulate(Sim(bug), workload, nemesis, seed, tmp_path).directory)
        found = verdict.checkers.items()
        accused |= {name for name, one in found if one.validity is Validity.INVALID}
        if accused & checkers:
            return
    pytest.fail(f"{bug}: only {accused or 'nobody'} accused it in 8 seeds")


def test_what_the_simulator_cannot_do_is_said(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="runs 1 to 9 nodes, not 12"):
        Sim().start(tmp_path, 12)
    with pytest.raises(TargetError, match="sim:4 with --nodes 3: give a number of controllers"):
        Sim(controllers=4).start(tmp_path, 3)
    with pytest.raises(TargetError, match="'sim' cannot NarrowLinks; it can: "):
        Sim().start(tmp_path).perform(NarrowLinks(1, 1))
    with pytest.raises(TargetError, match="there is no node 2; this cluster has 1 to 1"):
        Sim().start(tmp_path).perform(Kill(2))
    with pytest.raises(TargetError, match="sets listeners for each node; leave it out"):
        Sim().start(tmp_path, 1, {"listeners": "PLAINTEXT://x:1"})
    with pytest.raises(TargetError, match="there is no bug 'nonsense'"):
        Sim("nonsense")
    assert list(tmp_path.iterdir()) == []


def test_a_sync_that_is_to_fail_strikes_when_the_node_syncs(tmp_path: Path) -> None:
    target = Sim()
    target.make_world(1)
    cluster = target.start(tmp_path)
    assert isinstance(cluster, SimCluster)
    for fault in (FailedSync(1, number=2), FailedWrite(1, number=2)):
        assert cluster.perform(fault).nodes == () and cluster.take_struck() == []
    disk = cluster.members[1].disk
    disk.write("file")
    disk.sync("file", None)
    assert cluster.take_struck() == []
    with pytest.raises(StorageError):
        disk.write("file")
    with pytest.raises(StorageError):
        disk.sync("file", None)
    struck = [performed for _, performed in cluster.take_struck()]
    assert struck == [Performed(kind(1, number=2), (1,)) for kind in (FailedWrite, FailedSync)]
