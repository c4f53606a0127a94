"""Test that one sentence says what was removed, and that none is printed if nothing was removed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chaos.means import disks, leftovers, owed, processes
from chaos.means.docker import containers
from chaos.means.netns import namespaces


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Provide how much of each kind dead owners have left, without looking at this machine."""
    left = {"processes": 0, "disks": 0, "namespaces": 0, "containers": 0}
    monkeypatch.setattr(disks, "thaw_leftovers", lambda: None)
    monkeypatch.setattr(processes, "end_leftovers", lambda: list(range(left["processes"])))
    monkeypatch.setattr(disks, "remove_leftovers", lambda: list(range(left["disks"])))
    monkeypatch.setattr(namespaces, "remove_leftovers", lambda: left["namespaces"])
    monkeypatch.setattr(containers, "remove_leftovers", lambda: left["containers"])
    monkeypatch.setattr(owed, "repair_leftovers", owed.Repaired)
    return left


def test_nothing_left_is_not_worth_a_word(
    found: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    leftovers.remove()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ["processes", "disks", "namespaces", "containers"])
def test_what_was_left_is_said(
    kind: str, found: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    found[kind] = 3
    leftovers.remove()
    said = capsys.readouterr().err
    assert "removed what an earlier, killed command had left behind" in said
    assert said.count("3 ") == 1
    assert said.count("0 ") == 3


def test_what_is_started_by_other_means_is_found_when_its_owner_has_died() -> None:
    """Fuzz and kills start brokers in this way. The next command on this machine ends it."""
    program = (
        "import os, subprocess; from chaos.means import leftovers\n"
        "leftovers.remove_and_mark_children()\n"
        "print(subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL).pid, flush=True)\n"
        "os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    left = int(done.stdout)
    found = [pid for pid, _ in processes.leftovers()]
    assert left in found or not is_there(left)
    processes.end_leftovers()
    deadline = time.monotonic() + 60
    while is_there(left):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
