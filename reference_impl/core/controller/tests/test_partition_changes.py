"""One change of a partition has the outcome that Apache Kafka's PartitionChangeBuilder gives it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.controller.leaders.partition_changes import (
    Circumstances,
    Election,
    change_of,
)
from reference_impl.core.controller.leaders.reassignments import moving
from reference_impl.core.rules import Rules


def state(
    replicas: tuple[int, ...], isr: tuple[int, ...], leader: int, **others: Any
) -> PartitionImage:
    return PartitionImage(replicas, isr, leader, leader_epoch=0, partition_epoch=0, **others)


def circumstances(
    live: Collection[int], *, min_isr: int = 2, election: Election = Election.ONLINE
) -> Circumstances:
    return Circumstances(lambda replica, _: replica in live, min_isr, election=election)


def test_a_replica_stays_eligible_when_it_ceases_to_be_one() -> None:
    """The ISR is below the minimum before and after (maybePopulateTargetElr)."""
    old = state((1, 2), isr=(1,), leader=1, elr=(2,))
    new = change_of(Rules(), old, moving(old, [1]), circumstances({1, 2}))
    assert (new.replicas, new.isr, new.elr) == ((1,), (1,), (2,))


def test_a_replica_that_comes_back_with_an_empty_log_is_not_eligible() -> None:
    """Apache Kafka elects it here."""
    old = state((1,), isr=(), leader=-1, elr=(1, 2), last_known_elr=(1,))
    new = change_of(Rules(), old, moving(old, [1, 2]), circumstances({2}))
    assert (new.leader, new.isr, new.elr) == (-1, (), (1,))
    new = change_of(Rules(), new, new, circumstances({1, 2}))
    assert (new.leader, new.isr, new.elr) == (1, (1,), ())


@pytest.mark.parametrize("recovers", [False, True])
def test_a_change_that_ends_a_recovery_ends_that_of_a_new_leader_too(recovers: bool) -> None:
    """The leader that asks for it may have been fenced meanwhile (tryElection)."""
    old = state((1, 2), isr=(1,), leader=1, is_recovering=True)
    wanted = replace(old, is_recovering=recovers)
    new = change_of(Rules(), old, wanted, circumstances({2}, election=Election.UNCLEAN))
    assert (new.leader, new.isr, new.is_recovering) == (2, (2,), recovers)


def test_a_partition_that_moves_without_a_leader_records_that_none_was_known() -> None:
    """Its leader epoch rises, and the leader of the epoch before is nobody
    (maybeUpdateLastKnownLeader)."""
    old = state((1, 2), isr=(1, 2), leader=-1)
    new = change_of(Rules(), old, moving(old, [1]), circumstances(()))
    assert (new.leader, new.leader_epoch, new.isr) == (-1, 1, (1,))
    assert new.last_known_elr == (-1,)
