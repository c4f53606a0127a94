"""Test the notes about repairs of foreign nodes: whose notes are trusted, and how often they are
performed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chaos.means import guard, leftovers, owed
from chaos.means.owed import Note, Repair
from chaos.means.pidfd import HeldProcess

ADDRESS = ("127.0.0.1", 9)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a directory that takes the place of the machine's directory for temporary files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def left_by_a_dead_owner(tmp_path: Path, *command: str) -> Path:
    """Write a note to run that command, in its directory."""
    Note(Repair.of_command(ADDRESS, command, tmp_path))
    (directory,) = tmp_path.glob("touchstone-owed-*")
    pid, started, namespace = guard.owner_tag(os.getpid()).split("-")
    return directory.rename(tmp_path / f"touchstone-owed-{pid}-{int(started) - 1}-{namespace}")


def test_nobody_elses_notes_are_believed(tmp_path: Path) -> None:
    """Notes of other users are not trusted: every user can write to the directory for temporary
    files, and notes name commands."""
    left = left_by_a_dead_owner(tmp_path, "touch", "done")
    left.chmod(0o777)
    assert owed.repair_leftovers().nodes == []
    left.chmod(0o700)
    assert owed.repair_leftovers().nodes == ["127.0.0.1:9"]
    assert (tmp_path / "done").exists()
    assert not left.exists()


def test_of_several_commands_that_begin_at_once_one_pays(tmp_path: Path) -> None:
    left_by_a_dead_owner(tmp_path, "sh", "-c", "echo again >> done; sleep 0.3")
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(owed.repair_leftovers) for _ in range(2)]
    assert sorted(len(paid.result().nodes) for paid in both) == [0, 1]
    assert (tmp_path / "done").read_text() == "again\n"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("sh", "-c", "exit 3"), "the command \"sh -c 'exit 3'\" ended with status 3"),
        (("no-such-program",), "No such file or directory"),
    ],
)
def test_what_could_not_be_put_right_is_said_once(
    command: Sequence[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = left_by_a_dead_owner(tmp_path, *command)
    leftovers.remove()
    said = capsys.readouterr().err
    assert "could not repair" in said and "127.0.0.1:9" in said and reason in said
    assert not left.exists()
    leftovers.remove()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"command": [], "node": 1})])
def test_what_is_no_note_is_named_and_goes(text: str, tmp_path: Path) -> None:
    left = left_by_a_dead_owner(tmp_path, "true")
    (note,) = left.glob("*.json")
    note.write_text(text)
    repaired = owed.repair_leftovers()
    assert repaired.nodes == [] and str(note) in repaired.failures[0]
    assert not left.exists()


def test_a_signal_is_for_the_process_that_started_then_and_for_no_other() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        started = guard.start_time(process.pid)
        assert started is not None
        HeldProcess.signal(process.pid, f"{started}0", signal.SIGKILL)
        assert process.poll() is None
        HeldProcess.signal(process.pid, started, signal.SIGKILL)
        assert process.wait(10) == -signal.SIGKILL
