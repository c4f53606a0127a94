"""`touchstone nightly`: canaries, regressions and the matrix of scenarios, until the time is up.

Every run is a separate process (ci.nightly.attacker), several at once with --jobs. All of them are
judged by Spark (where Java is found) in one process with one session. Each history is stored by
date and target; nightly.json says how each scenario ended, and the trend report shows every
scenario in each night. A night fails if a verdict differs from the one that the scenario expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ci.nightly.night import Nightly
from ci.nightly.plan import Plan, check_targets, cost_s
from ci.nightly.robustness import kills_in, share_s

TARGETS = ("apache:4.3.1", "reference")
KEEP_GIB = 20.0


def targets_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return ["apache:4.3.1,reference", "kfake"] as a tuple of three targets, or both default
    targets if none is given."""
    named = [name for word in words for name in word.split(",") if name]
    return tuple(dict.fromkeys(named)) or TARGETS


def run_nightly(
    minutes: float,
    targets: Sequence[str],
    seed: int,
    runs: Path,
    keep_gib: float = KEEP_GIB,
    seconds: float | None = None,
    jobs: int = 1,
) -> int:
    """Run scenarios until the time is up, print the summary, and return the exit status."""
    return Nightly(minutes, Plan(tuple(targets), seed, seconds), runs, keep_gib, jobs).perform()


def plan_text(
    minutes: float, targets: Sequence[str], seed: int, seconds: float | None = None, jobs: int = 1
) -> str:
    """Return, as text, the scenarios that `run_nightly` would start in that time, without running
    them."""
    check_targets(targets)
    plan = Plan(tuple(targets), seed, seconds)
    rest_s = minutes * 60
    lines = []
    if "reference" in targets:
        rest_s -= share_s(minutes)
        lines.append(f"{share_s(minutes):5.0f} s  fuzz, and {kills_in(minutes)} kills")
    chosen = plan.within(rest_s, jobs)
    for one in chosen:
        lines.append(f"{cost_s(one):5.0f} s  {one.part.value}: {one}; expected {one.verdict.value}")
    lines += [f"left out  {one}: {reason}" for one, reason in plan.left_out()]
    return "\n".join([*lines, f"{len(chosen)} scenarios in {minutes:g} minutes"])
