"""No false alarm on histories of the exact model; each planted anomaly is caught by its checker."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from linearizability.check import check_frame
from linearizability.checkers import CHECKERS
from linearizability.ingest import resolved
from linearizability.self_test.model import joined, valid_rows
from linearizability.self_test.mutators import MUTATORS, stripped, with_outcomes
from linearizability.self_test.world import Row
from linearizability.verdict import Validity

SEEDS = range(200)
SEEDS_TO_BREAK = range(40)


@cache
def history(seed: int) -> list[Row]:
    return valid_rows(seed)


@cache
def history_with_outcomes(seed: int) -> list[Row]:
    return with_outcomes(history(seed))


def test_no_history_of_the_model_is_reported() -> None:
    verdict = check_frame(joined(history(seed) for seed in SEEDS))
    assert verdict.anomalies == []
    assert verdict.validity is Validity.VALID, verdict.reason
    assert all(opinion.checked > 1000 for opinion in verdict.checkers.values())


def test_a_seed_is_a_history() -> None:
    assert valid_rows(5) == valid_rows(5)
    assert valid_rows(5) != valid_rows(6)


@pytest.mark.parametrize("name", MUTATORS)
def test_each_planted_anomaly_is_caught_by_its_checker(name: str) -> None:
    planted = []
    for seed in SEEDS_TO_BREAK:
        for mutate in MUTATORS[name]:
            rows = mutate(history_with_outcomes(seed), Random(seed))
            planted += [] if rows is None else [stripped(rows)]
    assert len(planted) >= 10
    checker = CHECKERS[name]
    events = resolved(joined(planted).lazy()).filter(checker.scope.rows)
    caught = set(checker.anomalies(events.lazy()).collect()["topic"])
    assert {f"model-{number}" for number in range(len(planted))} - caught == set()
