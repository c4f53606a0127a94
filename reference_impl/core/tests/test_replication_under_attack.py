"""Three replicas under seeded hostile schedules: no record that was acknowledged is lost, no two
replicas take different records for committed, and in the end all are equal."""

from __future__ import annotations

import pytest

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.core.tests.hostile_replication import Attack
from reference_impl.core.tests.test_isr import CountsWhatItProposes
from reference_impl.core.tests.test_replicated_writes import CountsItselfAlone


class AcknowledgesAtOnce(Rules):
    """A leader that takes acks=all for acks=1."""

    def may_acknowledge(self, partition: Partition, acks: int, last_offset: int) -> bool:
        return True


@pytest.mark.parametrize("seed", range(8))
def test_nothing_that_was_acknowledged_is_lost(seed: int) -> None:
    attack = Attack(seed)
    attack.run()
    assert len(attack.acknowledged) > 2


@pytest.mark.parametrize("bug", [CountsWhatItProposes, CountsItselfAlone, AcknowledgesAtOnce])
def test_the_schedules_find_a_leader_that_commits_too_early(bug: type[Rules]) -> None:
    for seed in range(30):
        try:
            Attack(seed, bug).run()
        except AssertionError:  # of the watcher, or of the model
            return
    pytest.fail("30 schedules have not found it")
