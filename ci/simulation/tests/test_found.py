"""Schedules that have found an error in the clean core, in its clients or in the harness: each is
judged VALID now."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.clients.factories import REFERENCE
from chaos.record.run_directory import Scenario
from ci.simulation.schedule import perform
from linearizability.verdict import Validity

Plan = tuple[str, str, str, int, dict[str, str]]
"""(target, workload, nemesis, seed, config)."""

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

# A rename failed while old segments were deleted, and the deletion went on with the next segment:
# after a restart the log had a gap.
LEFT_A_GAP = (
    "sim",
    "retention-size",
    "failed-syncs",
    880014,
    {"log.cleaner.backoff.ms": "200", "log.flush.interval.messages": "1"},
)

# A producer's metadata request created a topic with one partition, between its deletion and its
# creation by the harness, which waited for the name to be free until its time was up.
CREATED_FIRST = (
    "sim",
    "recreate",
    "failed-syncs",
    880053,
    {
        "log.cleaner.backoff.ms": "200",
        "log.retention.check.interval.ms": "5000",
        "log.flush.interval.messages": "1",
    },
)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("nodes", "plan"), [(3, BEGAN_ANEW), (3, DELETED_MORE), (1, LEFT_A_GAP), (3, CREATED_FIRST)]
)
def test_a_schedule_that_found_an_error_is_valid(nodes: int, plan: Plan, tmp_path: Path) -> None:
    target, workload, nemesis, seed, config = plan
    scenario = Scenario(
        target, workload, nemesis, nodes, 20.0, seed, config, rate=60.0, client=REFERENCE
    )
    done = perform(scenario, tmp_path / "runs", tmp_path)
    assert done.validity is Validity.VALID, done.reason
