"""Schedules that have found an error in the clean core, in its clients or in the harness: each is
judged VALID now."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.clients.factories import REFERENCE
from chaos.record.run_directory import Scenario
from ci.simulation.schedule import perform
from linearizability.verdict import Validity

# A member began at a committed offset, and asked a leader that was replaced, whose log ended before
# it: the commit and the seek had left out the leader epoch, so that it began at offset 0 (KIP-320).
BEGAN_ANEW = ("sim", "groups-consumer", "partition-bridge", 306, {"num.partitions": "3"})

# A leader that was cut off had deleted records, which its successor kept: the raw reader asked the
# follower for them until its time was up.
DELETED_MORE = (
    "sim",
    "delete-records",
    "partition-halves",
    365,
    {
        "log.cleaner.backoff.ms": "200",
        "group.initial.rebalance.delay.ms": "500",
        "num.partitions": "3",
    },
)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("target", "workload", "nemesis", "seed", "config"), [BEGAN_ANEW, DELETED_MORE]
)
def test_a_schedule_that_found_an_error_is_valid(
    target: str, workload: str, nemesis: str, seed: int, config: dict[str, str], tmp_path: Path
) -> None:
    scenario = Scenario(
        target, workload, nemesis, 3, 20.0, seed, config, rate=60.0, client=REFERENCE
    )
    done = perform(scenario, tmp_path / "runs", tmp_path)
    assert done.validity is Validity.VALID, done.reason
