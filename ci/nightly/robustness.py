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
SECONDS_A_KILL = {1: 1.5, 3: 10.0}
"""Number of nodes -> the seconds for the kill of one of them and its return; each number gets the
same share of the time."""
FILES_A_MINUTE = 100
"""The number of files for the fuzz of history readers per minute of the night: about 5 seconds of
CPU time."""


def robustness(minutes: float, seed: int) -> dict[str, bool]:
    """Run fuzz and kills of the reference broker, and fuzz of the history readers. Return a summary
    of each -> whether it passed."""
    seconds = share_s(minutes) * FUZZ_SHARE
    print(f"\n== fuzz of the reference, {seconds:.0f} s", flush=True)
    fuzzed = fuzz(seed, seconds)
    killed = {}
    for nodes, kills in _kills_by_nodes(minutes).items():
        print(f"\n== kill -9 of the reference, {kills} times, nodes: {nodes}", flush=True)
        killed[nodes] = run_kills(seed, kills, nodes=nodes)
    files = max(FILES_A_MINUTE, round(minutes * FILES_A_MINUTE))
    print(f"\n== fuzz of histories, {files:,} files", flush=True)
    first = seed * 1_000_000
    read = run_fuzz(range(first, first + files), processes=os.cpu_count() or 1)
    print(read.table(), flush=True)
    return {
        f"fuzz: {fuzzed.summary}": not fuzzed.violations,
        **{
            f"kills, nodes: {nodes}: {outcome.summary()}": not outcome.violations
            for nodes, outcome in killed.items()
        },
        f"fuzz of histories: {read.files:,} files, {len(read.problems)} misread": (
            read.validity is Validity.VALID
        ),
    }


def share_s(minutes: float) -> float:
    """Return the seconds of the night that fuzz and kills of the broker together may take."""
    return minutes * 60 * SHARE


def kills_in(minutes: float) -> int:
    """Return how many kills the night performs, of clusters of all sizes together."""
    return sum(_kills_by_nodes(minutes).values())


def _kills_by_nodes(minutes: float) -> dict[int, int]:
    """Return number of nodes -> kills of one of them, at least one each."""
    share = share_s(minutes) * (1 - FUZZ_SHARE) / len(SECONDS_A_KILL)
    return {nodes: max(1, round(share / seconds)) for nodes, seconds in SECONDS_A_KILL.items()}
