"""`touchstone conform --jobs N` as a user runs it: the same results, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from chaos.clients.wire.admin import Admin
from chaos.means.real_world import REAL_WORLD, run
from chaos.targets.clusters.cluster import LocalCluster
from ci.cli import app
from ci.tests.test_conform import check_saved, children_of, conform, ended, wait_for_results

SLICE = ("CONF-16", "META-01", "META-02", "IDEM-01", "GRPC-11", "GUAR-10")
"""Cases with settings of their own, cases that restart the target, and usual ones."""

WITHOUT_GROUPS = ("--area", "ADMIN", "--area", "PROD", "--area", "META")
"""Many cases that leave no group with members, which a broker keeps until their session is over."""


def examined(where: Path, *words: str, status: int = 0) -> list[tuple[str, str]]:
    """Run `conform`; return the node id and the result of each run, in the order of the report."""
    running = conform(*words, "--out", str(where), env=os.environ | {"TMPDIR": str(where.parent)})
    out, err = ended(running)
    assert running.returncode == status, (out, err)
    assert left_in(where.parent) == []
    found: dict[str, Any] = json.loads(where.read_text())
    assert (found["ended"], found["not_run"]) == (None, 0)
    return [(entry["nodeid"], entry["result"]) for entry in found["cases"]]


def left_in(folder: Path) -> list[str]:
    """Return the folders that a command with this TMPDIR has left."""
    return [path.name for path in folder.iterdir() if path.is_dir() and path.name != "broker"]


@pytest.mark.nightly
def test_results_on_targets_that_are_started_are_those_of_one_job(tmp_path: Path) -> None:
    one = examined(tmp_path / "one.json", *SLICE, "--target", "reference")
    two = examined(tmp_path / "two.json", *SLICE, "--target", "reference", "--jobs", "2")
    assert len(one) == 20
    assert two == one


@pytest.mark.nightly
def test_a_planted_bug_is_found_by_the_same_cases(tmp_path: Path) -> None:
    words = (
        "IDEM-03",
        "IDEM-04",
        "PROD-05",
        "--target",
        "reference",
        "--bug",
        "remember-newest-batch",
    )
    one = examined(tmp_path / "one.json", *words, status=1)
    two = examined(tmp_path / "two.json", *words, "--jobs", "2", status=1)
    assert "failed" in dict(one).values()
    assert two == one


def test_results_on_a_cluster_that_is_shared_are_those_of_one_job(
    broker: LocalCluster, tmp_path: Path
) -> None:
    words = (*SLICE, "PROD-05", "QUOT-01", "--bootstrap", broker.bootstrap)
    one = examined(tmp_path / "one.json", *words)
    three = examined(tmp_path / "three.json", *words, "--jobs", "3")
    assert three == one
    assert topics_of(broker) == set()


def topics_of(broker: LocalCluster) -> set[str]:
    admin = Admin(REAL_WORLD, broker.bootstrap)
    found = {name for name in run(admin.topic_ids()) if not name.startswith("__")}
    admin.close()
    return found


@pytest.mark.sliced(2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_all_processes_in_order(
    broker: LocalCluster, tmp_path: Path, number: signal.Signals
) -> None:
    json_at, xml_at = tmp_path / "found.json", tmp_path / "found.xml"
    files = ("--out", str(json_at), "--junit", str(xml_at), "--json")
    kept = os.environ | {"TMPDIR": str(tmp_path)}
    words = ("--bootstrap", broker.bootstrap, *WITHOUT_GROUPS, "--jobs", "2")
    running = conform(*words, *files, env=kept)
    wait_for_results(json_at)
    (child,) = children_of(running.pid)
    workers = children_of(child)
    assert len(workers) == 2
    running.send_signal(number)
    out, err = ended(running)
    assert running.returncode == 3, (out, err)
    found = check_saved(json_at, xml_at)
    assert found["ended"] == "interrupted"
    assert found["failed"] == 0
    assert json.loads(out)["passed"] == found["passed"] > 0
    assert f"the results so far are in {json_at} and {xml_at}" in err
    assert [pid for pid in workers if Path(f"/proc/{pid}").exists()] == []
    assert topics_of(broker) == set()
    assert left_in(tmp_path) == []


def test_max_time_ends_all_processes(broker: LocalCluster, tmp_path: Path) -> None:
    json_at, xml_at = tmp_path / "found.json", tmp_path / "found.xml"
    files = ("--out", str(json_at), "--junit", str(xml_at))
    words = ("--bootstrap", broker.bootstrap, "--jobs", "2", "--max-time", "20")
    running = conform(*words, *files)
    ended(running)
    assert running.returncode == 3
    assert check_saved(json_at, xml_at)["ended"] == "20 s are over (--max-time)"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--target", "reference", "--jobs", "0"), "--jobs 0: give a finite number above zero"),
        (("--target", "reference", "--jobs", "2", "--fuzz", "10s"), "--jobs is for cases"),
        (("--target", "nonsuch", "--jobs", "2"), "unknown target 'nonsuch'"),
    ],
)
def test_jobs_that_cannot_be_are_refused(words: tuple[str, ...], why: str) -> None:
    result = CliRunner().invoke(app, ["conform", *words])
    said = result.stdout + result.stderr + str(result.exception)
    assert result.exit_code != 0
    assert why in " ".join(said.split())


def test_a_cluster_that_its_owners_commands_start_has_one_job(tmp_path: Path) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text(
        '[[node]]\naddress = "127.0.0.1:9"\nstart = "true"\npid_file = "node.pid"\n',
        encoding="utf-8",
    )
    running = conform("--cluster", str(file), "--jobs", "2", "META-01")
    _, err = ended(running)
    assert running.returncode == 2
    assert "has commands that reset or start the cluster" in err
