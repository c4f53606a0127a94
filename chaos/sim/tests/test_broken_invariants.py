"""Each invariant is broken by a planted bug in a whole run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from chaos.scenarios.exploration import promised_config
from chaos.sim.invariants import BETWEEN_NODES, BETWEEN_REPLICAS, INVARIANTS
from chaos.sim.invariants.observer import WHOLE_BATCHES
from chaos.sim.target import Sim
from chaos.sim.tests.simulated import SeveralNodes, simulate
from reference_impl.bugs.cluster import BROKER_BUGS

SEEDS = range(1, 9)
"""The seeds that are tried until a bug has broken all its invariants."""
BY_DAY: Mapping[str, frozenset[str]] = {
    "forget-producer-state-on-restart": frozenset({"producer-state", "sequences-continue"}),
    "stale-snapshot": frozenset({"producer-state", "sequences-continue"}),
    "reuse-producer-ids": frozenset({"producer-ids-once"}),
    "restart-logs": frozenset({"offsets-never-go-back"}),
    "forget-open-transactions": frozenset({"last-stable-offset"}),
    "lead-by-minority": frozenset({"one-leader", "logs-agree"}),
    "count-itself-alone": frozenset({"isr-is-complete", "committed-stays", "leader-is-complete"}),
}
BY_NIGHT: Mapping[str, frozenset[str]] = {
    "keep-torn-tail": frozenset({WHOLE_BATCHES, "written-batches-stay"}),
    "trust-index-after-crash": frozenset({"batches-take-offsets", "written-batches-stay"}),
    "accept-too-few": frozenset({"min-isr"}),
    "follow-beyond-committed": frozenset({"follower-high-watermark"}),
    "commit-by-one": frozenset({"images-equal"}),
    "vote-twice": frozenset({"one-vote", "one-leader"}),
    "overlap-id-blocks": frozenset({"producer-ids-once"}),
}
MADE_UP = {
    "offsets-in-order": (
        "no rule decides on it: the log itself keeps its offsets between each other"
        " (ReadableLog.high_watermark); test_invariants.py makes up offsets that break it"
    )
}
"""Invariant -> the reason why no planted bug breaks it."""


def test_each_invariant_is_broken_by_a_bug_or_says_why_by_none() -> None:
    broken = frozenset[str]().union(*BY_DAY.values(), *BY_NIGHT.values())
    assert broken | MADE_UP.keys() == {
        WHOLE_BATCHES,
        *INVARIANTS,
        *BETWEEN_REPLICAS,
        *BETWEEN_NODES,
    }
    assert not broken & MADE_UP.keys()


@pytest.mark.parametrize(
    "bug", [*BY_DAY, *(pytest.param(name, marks=pytest.mark.nightly) for name in BY_NIGHT)]
)
def test_a_planted_bug_breaks_invariants(bug: str, tmp_path: Path) -> None:
    row, names, seen = BROKER_BUGS[bug], {**BY_DAY, **BY_NIGHT}[bug], set[str]()
    config = {**promised_config(row.nemesis), **row.config}
    for seed in SEEDS:
        target = SeveralNodes(bug) if row.nodes > 1 else Sim(bug)
        simulate(target, row.workload, row.nemesis, seed, tmp_path, config)
        seen |= {name for name, _ in target.broken}
        if names <= seen:
            return
    pytest.fail(f"{bug} has broken {seen or 'nothing'} only")
