"""The doctor names what a killed command has left behind, and removes it if asked."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from ci import places
from ci.commands import leftovers_shown

ALL_THERE = {"child": True, "mounted": True, "namespace": True, "paused": True}
NOTHING = dict.fromkeys(ALL_THERE, False)
NETWORKS = range(100, 250, 2)
TIMEOUT_S = 300.0


@pytest.mark.needs("root", "loop", "netns")
def test_what_a_killed_command_left_is_named_and_removed(tmp_path: Path) -> None:
    """The test runs in its own pid namespace, so that no other command on this machine cleans up
    first."""
    (home := tmp_path / "t").mkdir()
    scene = [sys.executable, "-m", "ci.tests.leftover_scene", str(home)]
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", *scene, str(random.choice(NETWORKS))],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        cwd=places.ROOT,
        env={**os.environ, "TMPDIR": str(home)},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["made"] == told["untouched"] == ALL_THERE
    status, said = told["told"]
    assert status == 1
    for name in told["names"]:
        assert name in said, name
    assert leftovers_shown.MEND_LEFTOVERS in said
    status, as_json = told["told as json"]
    assert status == 1
    assert json.loads(as_json)[-1]["name"] == "leftovers"
    assert told["mended"][0] == 0
    assert told["gone"] == NOTHING
    status, said = told["told again"]
    assert status == 0
    assert "left behind" not in said
    assert told["living"] == ALL_THERE
    for name in told["others"]:
        assert name not in told["told"][1], name


def test_nothing_left_is_not_worth_a_word() -> None:
    assert leftovers_shown.render_left_behind([]) == ""
    assert leftovers_shown.left_behind([]) == []


def test_what_is_left_is_named_with_what_removes_it() -> None:
    text = leftovers_shown.render_left_behind(["disk a", "process 7"])
    assert "disk a\n" in text and "process 7\n" in text and "touchstone doctor --mend" in text
    assert "could not be removed" in leftovers_shown.render_left_behind(["disk a"], mended=True)
