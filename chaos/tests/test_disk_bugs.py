"""A planted bug that only a real disk shows is caught, and the clean broker is not accused."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.runner import run
from linearizability.judging import check
from linearizability.verdict import Validity
from reference_impl.bugs import BUGS

pytestmark = pytest.mark.needs("root", "loop", "toxiproxy")
FLUSH_EACH = {"log.flush.interval.messages": "1"}
SEED = 1
SECONDS = 9.0
"""The first loss of power comes after six at the latest."""


@pytest.mark.parametrize(
    ("bug", "expected"),
    [("acknowledge-before-flush", Validity.INVALID), (None, Validity.VALID)],
    ids=["planted", "clean"],
)
def test_acknowledge_before_flush_is_caught_by_a_loss_of_power(
    bug: str | None, expected: Validity, tmp_path: Path
) -> None:
    planted = BUGS["acknowledge-before-flush"]
    result = run(
        "reference", planted.workload, planted.nemesis, nodes=1, seconds=SECONDS, seed=SEED,
        runs_directory=tmp_path, config=FLUSH_EACH, bug=bug, progress=False,
    )  # fmt: skip
    assert not result.problems
    verdict = check(result.directory, engine="local", named_by_workload=("lost_writes",))
    assert verdict.checkers["lost_writes"].validity is expected
    assert verdict.validity is expected
