"""Flip one bit of a log segment, like a decaying medium or a faulty disk controller."""

from __future__ import annotations

from pathlib import Path
from random import Random

INTERNAL = "__"


def segments(data: Path, *, closed: bool) -> list[Path]:
    """Return the segments of user topics that contain records: the newest of each partition, which
    is still written to, or with `closed` all older ones."""
    found: list[Path] = []
    for directory in sorted(data.iterdir()) if data.is_dir() else ():
        if directory.is_dir() and not directory.name.startswith(INTERNAL):
            logs = sorted(directory.glob("*.log"))
            found += logs[:-1] if closed else logs[-1:]
    return [path for path in found if path.stat().st_size > 0]


def flip_one(path: Path, rng: Random) -> int:
    """Flip one random bit of a file; return the position of its byte."""
    position = rng.randrange(path.stat().st_size)
    with path.open("r+b") as file:
        file.seek(position)
        (byte,) = file.read(1)
        file.seek(position)
        file.write(bytes([byte ^ 1 << rng.randrange(8)]))
    return position
