"""Test that the table of mounts is read as the kernel writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.means import mounts


def test_blanks_and_backslashes_are_what_they_were(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = tmp_path / "mounts"
    lines = (
        "proc /proc proc rw 0 0",
        r"overlay /a\040b/c\134040 overlay rw,lowerdir=/x\040y 0 0",
        "tmpfs /größe tmpfs rw 0 0",
    )
    table.write_text("\n".join(lines) + "\n", "utf-8")
    monkeypatch.setattr(mounts, "TABLE", table)
    assert list(mounts.mount_points()) == ["/proc", r"/a b/c\040", "/größe"]
    monkeypatch.undo()
    assert "/proc" in mounts.mount_points()
