"""Test `touchstone conform --prefix`: the names of all that is made, and its removal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.clients.wire.admin import Admin
from chaos.means.real_world import REAL_WORLD, run
from chaos.targets import parse_target
from ci.cli import app

PREFIX = "team.a-"


def test_all_names_begin_with_the_prefix_and_nothing_is_left(tmp_path: Path) -> None:
    cluster = parse_target("reference").start(tmp_path / "cluster")
    try:
        examine_with_prefix(cluster.bootstrap, tmp_path / "found.json")
    finally:
        cluster.stop()


def examine_with_prefix(bootstrap: str, out: Path) -> None:
    words = ["conform", "--bootstrap", bootstrap, "--prefix", PREFIX, "--all-messages"]
    words += ["PROD-01", "GRPC-01", "TXN-01", "META-03", "--out", str(out), "-q"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    cases = json.loads(out.read_text())["cases"]
    frames = [bytes.fromhex(each["hex"]) for case in cases for each in case["exchange"]]
    ours = [part for frame in frames for part in frame.split(b"touchstone-")[:-1]]
    assert ours
    assert all(part.endswith(PREFIX.encode()) for part in ours)
    assert all(f"--prefix {PREFIX}" in case["reproduce"] for case in cases)
    admin = Admin(REAL_WORLD, bootstrap)
    left = run(admin.topic_ids())
    admin.close()
    assert {name for name in left if not name.startswith("__")} == set()


@pytest.mark.parametrize("prefix", ["a b", "x" * 101, "é"])
def test_a_prefix_that_no_topic_can_have_is_refused(prefix: str) -> None:
    done = CliRunner().invoke(app, ["conform", "--bootstrap", "127.0.0.1:1", "--prefix", prefix])
    assert done.exit_code == 2
    assert "give at most 100 letters" in done.output
