"""Test that verdicts are coloured only on a terminal, and not if NO_COLOR is set."""

from __future__ import annotations

import io
import sys

import pytest

from ci.report.colours import coloured


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_colours_and_a_file_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert coloured("INVALID", "invalid").startswith("\x1b[31m")
    assert coloured("not_applicable", "not_applicable") == "not_applicable"
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured("INVALID", "invalid") == "INVALID"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert coloured("INVALID", "invalid") == "INVALID"
