"""Run the robustness tests of a night: fuzz and `kill -9` of the reference broker, and fuzz of the
history readers."""

from __future__ import annotations

import os

from linearizability.fuzz.runner import run_fuzz
from linearizability.verdict import Validity
from reference_impl.robustness.fuzz.run import fuzz
from reference_impl.robustness.kills.run import run_kills

SHARE = 1 / 8
"""The share of the night's time for fuzz and kills of the broker; the scenarios get the rest."""
FUZZ_SHARE = 2 / 3
SECONDS_A_KILL = 1.5
FILES_A_MINUTE = 100
"""The number of files for the fuzz of history readers per minute of the night: about 5 seconds of
CPU time."""


def robustness(minutes: float, seed: int) -> dict[str, bool]:
    """Run fuzz and kills of the reference broker, and fuzz of the history readers. Return a summary
    of each of the three -> whether it passed."""
    seconds = share_s(minutes) * FUZZ_SHARE
    print(f"\n== fuzz of the reference, {seconds:.0f} s", flush=True)
    fuzzed = fuzz(seed, seconds)
    kills = kills_in(minutes)
    print(f"\n== kill -9 of the reference, {kills} times", flush=True)
    killed = run_kills(seed, kills)
    files = max(FILES_A_MINUTE, round(minutes * FILES_A_MINUTE))
    print(f"\n== fuzz of histories, {files:,} files", flush=True)
    first = seed * 1_000_000
    read = run_fuzz(range(first, first + files), processes=os.cpu_count() or 1)
    print(read.table(), flush=True)
    return {
        f"fuzz: {fuzzed.summary}": not fuzzed.violations,
        f"kills: {killed.summary()}": not killed.violations,
        f"fuzz of histories: {read.files:,} files, {len(read.problems)} misread": (
            read.validity is Validity.VALID
        ),
    }


def share_s(minutes: float) -> float:
    """Return the seconds of the night that fuzz and kills of the broker together may take."""
    return minutes * 60 * SHARE


def kills_in(minutes: float) -> int:
    return max(1, round(share_s(minutes) * (1 - FUZZ_SHARE) / SECONDS_A_KILL))
