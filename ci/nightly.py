"""`touchstone nightly`: each workload under each nemesis that a target can take, until time is up.

Before them, where the reference is a target: `touchstone fuzz` and `touchstone kills`.
Every run is judged by Spark (where Java is found) and keeps its run directory; the summary says
one line per run and the command that reproduces it. Red where a run is not valid, or a canary is
not caught.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from chaos.disks import why_none
from chaos.faults import DISK_FAULTS, PowerLoss
from chaos.nemeses import NEMESES
from chaos.protocols import TargetError
from chaos.targets import parse_target
from chaos.workloads import WORKLOADS
from ci.attack import Judged, attack
from ci.errors import UsageError
from linearizability.verdict import Validity
from reference_impl.bugs import BUGS
from reference_impl.tests.fuzz.run import fuzz
from reference_impl.tests.kills.run import run_kills

SECONDS = 40.0
FLUSH_EACH = {"log.flush.interval.messages": "1"}
FUZZ_SHARE, KILLS_A_MINUTE = 1 / 6, 2
"""Of the whole time: the share that fuzz takes, and the number of kills (a second or two each)."""


@dataclass(frozen=True)
class Scenario:
    """One run, and how it must end."""

    target: str
    nodes: int
    workload: str
    nemesis: str
    seed: int
    bug: str | None = None

    @property
    def expected(self) -> Validity:
        return Validity.INVALID if self.bug else Validity.VALID

    @property
    def config(self) -> Mapping[str, str]:
        """A loss of power may take what was not flushed; what was flushed, it may not."""
        return FLUSH_EACH if PowerLoss in NEMESES[self.nemesis].faults else {}

    def __str__(self) -> str:
        bug = f" --bug {self.bug}" if self.bug else ""
        return f"{self.target} × {self.nodes}, {self.workload}, {self.nemesis}, {self.seed}{bug}"


def scenarios(targets: list[str], seed: int) -> Iterator[Scenario]:
    """The canaries, then round after round of the matrix, each round in an order of its own."""
    rng = Random(f"{seed}:nightly")
    for name, bug in BUGS.items():
        number = rng.randrange(1 << 30)
        if can("reference", bug.workload, bug.nemesis):
            yield Scenario("reference", 1, bug.workload, bug.nemesis, number, name)
    while True:
        matrix = [
            Scenario(target, nodes_of(target), workload, nemesis, rng.randrange(1 << 30))
            for target in targets
            for workload in WORKLOADS
            for nemesis in NEMESES
            if can(target, workload, nemesis)
        ]
        if not matrix:
            raise UsageError(f"nightly: no scenario fits {', '.join(targets)}")
        rng.shuffle(matrix)
        yield from matrix


def nodes_of(target: str) -> int:
    """Three nodes where the target can run them."""
    return 3 if target.startswith("apache") else 1


def can(target: str, workload: str, nemesis: str) -> bool:
    """Whether a target performs the nemesis's faults, and serves what the workload asks for."""
    faults = parse_target(target).faults
    if not NEMESES[nemesis].faults <= faults:
        return False
    if NEMESES[nemesis].faults & DISK_FAULTS and why_none():
        return False
    needs_peers = nemesis in ("partition-leader", "partition-link", "isolate-leader")
    if needs_peers and nodes_of(target) == 1:
        return False
    return workload != "transactions" or not target.startswith("kfake")


def run_nightly(minutes: float, targets: list[str], seed: int, runs: Path) -> int:
    """Run scenarios until the time is up; print the summary; 0 if each ended as it must."""
    for target in targets:
        parse_target(target)
    deadline = time.monotonic() + minutes * 60
    robustness = _robustness(minutes, seed) if "reference" in targets else {}
    lines: list[tuple[Scenario, Judged | None, str]] = []
    for scenario in scenarios(targets, seed):
        if time.monotonic() > deadline:
            break
        print(f"\n== {len(lines) + 1}: {scenario}", flush=True)
        judged, said = _one(scenario, runs)
        print(f"   {said}", flush=True)
        lines.append((scenario, judged, said))
    return summarize(lines, robustness)


def _robustness(minutes: float, seed: int) -> dict[str, bool]:
    """What fuzz and kills say of the reference, and whether it is good."""
    seconds = minutes * 60 * FUZZ_SHARE
    print(f"\n== fuzz of the reference, {seconds:.0f} s", flush=True)
    fuzzed = fuzz(seed, seconds)
    print("\n== kill -9 of the reference", flush=True)
    killed = run_kills(seed, max(1, round(minutes * KILLS_A_MINUTE)))
    return {
        f"fuzz: {fuzzed.summary}": not fuzzed.violations,
        f"kills: {killed.summary()}": not killed.violations,
    }


def _one(scenario: Scenario, runs: Path) -> tuple[Judged | None, str]:
    try:
        judged = attack(
            target=scenario.target, workload=scenario.workload, nemesis=scenario.nemesis,
            nodes=scenario.nodes, seconds=SECONDS, seed=scenario.seed, bug=scenario.bug,
            config=scenario.config, runs=runs, engine="auto", spark_master=None, progress=True,
        )  # fmt: skip
    except TargetError as error:
        return None, f"not run: {error}"
    verdict = judged.verdict
    return judged, verdict.validity.value + (f" ({verdict.reason})" if verdict.reason else "")


def summarize(
    lines: list[tuple[Scenario, Judged | None, str]], robustness: Mapping[str, bool]
) -> int:
    """Print a line for each run; the exit status."""
    print("\n== summary")
    for said, good in robustness.items():
        print(f"{'as expected' if good else 'RED':<12} {said}")
    red = sum(not good for good in robustness.values())
    for scenario, judged, said in lines:
        good = judged is not None and judged.verdict.validity is scenario.expected
        red += not good
        print(f"{'as expected' if good else 'RED':<12} {scenario}: {said}")
        if judged is not None and not good:
            print(f"{'':<12} {judged.path}; reproduce: {judged.run.get('reproduce')}")
    print(f"{len(lines) + len(robustness)} runs, {red} not as expected")
    if red:
        return 1
    return 0 if lines else 3
