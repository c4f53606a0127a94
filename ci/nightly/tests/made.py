"""Outcomes, nights and run directories made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ci.nightly.outcome import Outcome
from ci.nightly.records import Night, Store


def outcome(
    name: str = "reference × 1, appends, kill",
    *,
    expected: str = "valid",
    verdicts: Sequence[str] = ("valid",),
    run: str = "",
    seed: int = 1,
) -> Outcome:
    command = f"touchstone chaos run --target reference --workload appends --seed {seed}"
    return Outcome(
        name,
        command,
        "reference",
        "regression",
        "why",
        expected,
        tuple(verdicts),
        "",
        run,
        15.0,
        27.0,
    )


def night(store: Store, day: int, outcomes: Sequence[Outcome], commit: str = "c0ffee") -> Night:
    """Store a night that began at two o'clock on this day of January, and return it."""
    started = f"2026-01-{day:02}T02:00:00.000+00:00"
    settings = {"commit": commit, "seed": 1, "minutes": 5.0, "targets": ["reference"]}
    made = Night(store.night_file(started), settings, started, started, list(outcomes))
    made.exit_status = 0
    made.write()
    return made


def run_directory(store: Store, name: str, kib: int) -> Path:
    """Write a run with a history of that size and a report."""
    directory = store.runs / name
    directory.mkdir(parents=True)
    (directory / "history.parquet").write_bytes(b"x" * (kib << 10))
    (directory / "report.html").write_text("report")
    return directory
