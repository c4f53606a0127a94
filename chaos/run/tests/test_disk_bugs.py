"""Planted bugs that only real disks and processes show are caught, and on the same seeds the clean
broker is not accused. Of all planted bugs `touchstone nightly` shows the same.

By day only the loss of power runs, which shows its bug whenever it strikes. Whether torn or
reordered writes show theirs depends on what was under way; by day the storage tests of
`reference_impl.bugs` and of `chaos.sim` catch the same two bugs at a chosen write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from chaos.clients import whole_partitions
from chaos.clients.wire import raw
from chaos.record.run_directory import Scenario
from chaos.run import phases
from chaos.run.runner import run
from linearizability import check
from linearizability.verdict import Validity
from reference_impl.bugs import BUGS

READ_TIMEOUT_S = 5.0
"""A reader stops at a batch whose CRC is wrong, and need not be waited for."""
JOIN_TIMEOUT_S = 10.0
"""The limit in seconds of a join. A client of a broken broker would otherwise wait for ever."""


@dataclass(frozen=True)
class ShownBy:
    """The run that shows a bug, and how long it takes."""

    bug: str
    judge: str
    seed: int
    seconds: float


ATTEMPTS = 3
"""The runs in which a planted bug must be caught, since what the disk loses depends on the moment,
and in which a clean broker must show what the run is for, which on a busy machine not every run
does. No run of a clean broker may be invalid."""
POWER_LOSS = ShownBy("acknowledge-before-flush", "lost_writes", seed=1, seconds=9.0)
"""The first loss of power comes after six seconds at the latest."""
TORN = ShownBy("keep-torn-tail", "phantom_records", seed=28, seconds=7.0)
"""With this seed, two torn writes come first, each after little more than a second."""
REORDERED = ShownBy("trust-index-after-crash", "inconsistent_offsets", seed=1, seconds=9.0)
CASES = [
    pytest.param(
        shown_by,
        planted,
        id=shown_by.bug if planted else f"clean, {shown_by.bug}",
        marks=[
            pytest.mark.needs(*means, "toxiproxy"),
            *([] if shown_by is POWER_LOSS else [pytest.mark.nightly]),
        ],
    )
    for shown_by, means in (
        (POWER_LOSS, ("root", "loop")),
        (TORN, ("shim",)),
        (REORDERED, ("shim",)),
    )
    for planted in (True, False)
]


@pytest.mark.parametrize(("shown_by", "planted"), CASES)
def test_a_bug_that_a_disk_shows_is_caught_and_the_clean_broker_is_not(
    shown_by: ShownBy, planted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for reader in (whole_partitions, raw):
        monkeypatch.setattr(reader, "READ_TIMEOUT_S", READ_TIMEOUT_S)
    if planted:
        monkeypatch.setattr(phases, "JOIN_TIMEOUT_S", JOIN_TIMEOUT_S)
    bug = BUGS[shown_by.bug]
    scenario = Scenario(
        "reference",
        bug.workload,
        bug.nemesis,
        1,
        shown_by.seconds,
        shown_by.seed,
        bug.config,
        shown_by.bug if planted else None,
        client=bug.client,
    )
    expected = Validity.INVALID if planted else Validity.VALID
    for attempt in range(ATTEMPTS):
        result = run(scenario, tmp_path / str(attempt), progress=False)
        verdict = check(result.directory, engine="local", named_by_workload=(shown_by.judge,))
        assert planted or verdict.validity is not Validity.INVALID
        is_shown = planted or not result.problems
        if is_shown and verdict.checkers[shown_by.judge].validity is expected:
            break
    assert planted or not result.problems
    assert verdict.checkers[shown_by.judge].validity is expected
    assert verdict.validity is expected
