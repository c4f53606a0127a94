"""A history file in which every checker has something to find, for tests of engines."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

from linearizability import history
from linearizability.self_test.clauses import MUTATORS, broken
from linearizability.self_test.model.histories import joined, rows_with_truth, valid_rows
from linearizability.self_test.truth import stripped


def write_planted(file: Path) -> None:
    """Write valid histories beside one with each anomaly."""
    rows_of = cache(rows_with_truth)
    histories = [valid_rows(seed) for seed in range(8)]
    for name in MUTATORS:
        attempts = (broken(name, rows_of(seed), Random(seed)) for seed in range(100, 200))
        rows = next((rows for rows in attempts if rows is not None), None)
        assert rows is not None, (
            f"{name}: its mutators found nothing to break in any history of the model; let them"
            " break what the rows of linearizability/self_test/model have"
        )
        histories.append(stripped(rows))
    history.write(file, joined(histories))
