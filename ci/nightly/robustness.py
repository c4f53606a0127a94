"""The night's other share: fuzz and `kill -9` of the reference broker."""

from __future__ import annotations

from reference_impl.tests.fuzz.run import fuzz
from reference_impl.tests.kills.run import run_kills

SHARE = 1 / 8
"""Of the whole time; it is taken from no scenario's."""
FUZZ_SHARE = 2 / 3
SECONDS_A_KILL = 1.5


def robustness(minutes: float, seed: int) -> dict[str, bool]:
    """What fuzz and kills say of the reference, and whether it is good."""
    seconds = share_s(minutes) * FUZZ_SHARE
    print(f"\n== fuzz of the reference, {seconds:.0f} s", flush=True)
    fuzzed = fuzz(seed, seconds)
    kills = kills_in(minutes)
    print(f"\n== kill -9 of the reference, {kills} times", flush=True)
    killed = run_kills(seed, kills)
    return {
        f"fuzz: {fuzzed.summary}": not fuzzed.violations,
        f"kills: {killed.summary()}": not killed.violations,
    }


def share_s(minutes: float) -> float:
    """How long both may take together."""
    return minutes * 60 * SHARE


def kills_in(minutes: float) -> int:
    return max(1, round(share_s(minutes) * (1 - FUZZ_SHARE) / SECONDS_A_KILL))
