"""Attack a compared target with a few workloads and nemeses, the same for every target."""

from __future__ import annotations

import sys
from pathlib import Path

from chaos.record.run_directory import Scenario
from chaos.targets import parse_target
from chaos.values.able_targets import SizedTarget
from ci.compare.attacks import RUNS, Attacks
from ci.nightly.matrix import run_matrix, scenarios_of

WORKLOADS = ("appends", "transactions", "groups")
NEMESES = ("none", "kill-leader", "pause")
SEED = 1


def attack(target: str, seconds: float, nodes: int, out: Path) -> Attacks:
    """Attack a target for this many seconds with each workload under each nemesis, and judge each
    run by polars. Write the run directories below `out`, and the progress to stderr. nodes: how
    many to start, unless the target has a fixed number. Raise TargetError for an unknown target,
    and KeyboardInterrupt after Ctrl-C."""
    chosen = parse_target(target)
    nodes = chosen.nodes if isinstance(chosen, SizedTarget) else nodes
    first = Scenario(target, WORKLOADS[0], NEMESES[0], nodes, seconds, SEED)
    scenarios = scenarios_of(first, WORKLOADS, NEMESES, 1)
    return Attacks(tuple(run_matrix(scenarios, out / RUNS, "local", sys.stderr)))
