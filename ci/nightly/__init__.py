"""`touchstone nightly`: canaries, regressions and the matrix of scenarios, until the time is up.

Every run is a separate process (ci.nightly.attacker), several at once with --jobs. All of them are
judged by Spark (where Java is found) in one process with one session. Each history is stored by
date and target; nightly.json says how each scenario ended, and the trend report shows every
scenario in each night. A night fails if a verdict differs from the one that the scenario expects.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos.scenarios.expectation import Expectation
from ci.nightly.night import Nightly
from ci.nightly.plan import Plan, check_targets, cost_s
from ci.nightly.robustness import kills_in, share_s

TARGETS = ("apache:4.3.1", "reference")
KEEP_GIB = 20.0


def targets_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the targets that the words name, joined by commas or not, each once: three for
    ["apache:4.3.1,reference", "kfake"]. Return both default targets if none is named."""
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
    """Run the robustness tests if the reference is a target, then scenarios until the time is up.
    Print the summary, and return the exit status. seconds: the length of every attack, or None for
    each scenario's own. Raise TargetError or UsageError for a wrong target or a damaged record of
    an earlier night, KeyboardInterrupt after Ctrl-C."""
    return Nightly(minutes, Plan(tuple(targets), seed, seconds), runs, keep_gib, jobs).perform()


@dataclass(frozen=True)
class Planned:
    """The plan of `run_nightly` for some minutes. robustness_s: the seconds for fuzzing and
    kills of the reference broker, which come first."""

    minutes: float
    robustness_s: float
    kills: int
    scenarios: Sequence[Expectation]
    left_out: Sequence[tuple[Expectation, str]]

    def text(self) -> str:
        """Return a line for the robustness tests, one for each scenario with its expected seconds,
        one for each that is left out, and one with the number of scenarios."""
        lines = []
        if self.robustness_s:
            lines.append(f"{self.robustness_s:5.0f} s  fuzz, and {self.kills} kills")
        for one in self.scenarios:
            expected = f"{one.part.value}: {one}; expected {one.verdict.value}"
            lines.append(f"{cost_s(one):5.0f} s  {expected}")
        lines += [f"left out  {one}: {reason}" for one, reason in self.left_out]
        return "\n".join([*lines, f"{len(self.scenarios)} scenarios in {self.minutes:g} minutes"])

    def json(self) -> str:
        """Return the planned scenarios as JSON."""
        told = {
            "minutes": self.minutes,
            "robustness": {"seconds": self.robustness_s, "kills": self.kills},
            "scenarios": [
                {
                    "command": one.command,
                    "part": one.part.value,
                    "expected": one.verdict.value,
                    "seconds": cost_s(one),
                }
                for one in self.scenarios
            ],
            "left_out": [
                {"command": one.command, "reason": reason} for one, reason in self.left_out
            ],
        }
        return json.dumps(told, indent=2)


def planned(
    minutes: float, targets: Sequence[str], seed: int, seconds: float | None = None, jobs: int = 1
) -> Planned:
    """Return what `run_nightly` would start in that time, without running it. Raise TargetError for
    an unknown target, and UsageError if no scenario fits the targets."""
    check_targets(targets)
    plan = Plan(tuple(targets), seed, seconds)
    is_ours = "reference" in targets
    robustness_s = share_s(minutes) if is_ours else 0.0
    return Planned(
        minutes,
        robustness_s,
        kills_in(minutes) if is_ours else 0,
        plan.within(minutes * 60 - robustness_s, jobs),
        plan.left_out(),
    )
