"""Test that the witness blames the client for claims that no broker's answer supports, and nobody
in a correct run."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from chaos.record.gathering import HISTORY
from chaos.sim.accusations import accusations
from chaos.sim.target import Sim
from chaos.sim.tests.simulated import simulate
from linearizability.judging import check
from linearizability.verdict import Validity
from reference_impl.bugs.clients import CLIENT_BUGS

SEEDS = (1, 2, 3, 4)


def judged(
    bug: str | None, workload: str, nemesis: str, seed: int, runs: Path
) -> tuple[set[str], list[str]]:
    """Return the checkers that accuse somebody, and the false claims of clients that the witness
    found."""
    target = Sim(bug)
    directory = simulate(target, workload, nemesis, seed, runs).directory
    opinions = check(directory, grouped=False).checkers.items()
    accusers = {name for name, one in opinions if one.validity is Validity.INVALID}
    return accusers, accusations(pl.read_parquet(directory / HISTORY), target.heard())


@pytest.mark.sliced(5)
@pytest.mark.parametrize("name", CLIENT_BUGS)
def test_a_bug_of_a_client_is_caught_and_blamed_on_the_client(name: str, tmp_path: Path) -> None:
    bug = CLIENT_BUGS[name]
    for seed in SEEDS:
        accusers, claims = judged(name, bug.workload, bug.nemesis, seed, tmp_path)
        if accusers & {*bug.caught_by}:
            assert claims
            return
    pytest.fail(f"{name}: none of {bug.caught_by} found it in {len(SEEDS)} seeds")


@pytest.mark.sliced(5)
@pytest.mark.parametrize(
    ("bug", "workload", "nemesis"),
    [
        ("remember-newest-batch", "appends", "latency"),
        ("serve-undecided-records", "transactions", "none"),
        ("hide-aborted-transactions", "transactions", "none"),
        ("begin-after-committed", "groups-positions", "none"),
        ("ignore-rewinds", "seeks", "none"),
    ],
)
def test_a_bug_of_the_broker_is_not_blamed_on_the_client(
    bug: str, workload: str, nemesis: str, tmp_path: Path
) -> None:
    for seed in SEEDS:
        accusers, claims = judged(bug, workload, nemesis, seed, tmp_path)
        assert claims == []
        if accusers:
            return
    pytest.fail(f"{bug}: nobody found it in {len(SEEDS)} seeds")


@pytest.mark.sliced(5)
@pytest.mark.parametrize(
    ("workload", "nemesis"),
    [
        ("appends", "kill"),
        ("appends-mixed", "latency"),
        ("transactions", "reset"),
        ("transactions", "latency"),
        ("zombies", "stalled-connections"),
        ("seeks", "kill"),
        ("groups", "pause"),
        ("groups-cooperative", "kill"),
        ("groups-consumer-positions", "cut-clients"),
        ("compaction", "power-loss-all"),
        ("recreate", "kill"),
        ("delete-records", "none"),
        ("retention-size", "kill"),
        ("compaction-transactions", "none"),
    ],
)
def test_a_correct_client_is_never_blamed(workload: str, nemesis: str, tmp_path: Path) -> None:
    assert judged(None, workload, nemesis, 5, tmp_path)[1] == []
