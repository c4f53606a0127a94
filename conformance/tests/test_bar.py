"""The bar that a terminal shows while cases run."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from conformance.session.bar import bar_line

CASES = """
import pytest
from conformance.session.bar import Bar

def pytest_configure(config):
    config.pluginmanager.register(Bar())
"""


def shown_on_a_terminal(folder: Path, *options: str) -> str:
    """Return what pytest prints on a terminal about two tests, of which one fails."""
    (folder / "conftest.py").write_text(CASES)
    (folder / "test_two.py").write_text("def test_a(): pass\ndef test_b(): assert not 1\n")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", str(folder)]
    path = {"PYTHONPATH": str(Path(__file__).parents[2]), "NO_COLOR": "1"}
    ran = subprocess.Popen(command, stdout=theirs, stderr=theirs, cwd=folder, env=os.environ | path)
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        text += part
    os.close(ours)
    ran.wait(60)
    return text.decode()


def test_a_terminal_shows_a_bar_in_place_of_dots(tmp_path: Path) -> None:
    text = shown_on_a_terminal(tmp_path, "-q")
    first, last = bar_line(1, 2, 0, 0), bar_line(2, 2, 1, 0)
    assert first.partition(",")[0] in text
    assert last.rpartition(",")[0] in text
    assert "[100%]" not in text
    assert "1 failed, 1 passed" in text


def test_other_verbosities_are_as_pytest_prints_them(tmp_path: Path) -> None:
    assert "runs, " not in shown_on_a_terminal(tmp_path, "-v")


def test_a_line_says_how_far_it_is_and_how_long_it_took() -> None:
    assert bar_line(5, 10, 1, 61.5) == f"[{'#' * 15}{'.' * 15}] 5/10 runs, 1 failed, 1:01"
    assert bar_line(0, 0, 0, 0).startswith("[....")
