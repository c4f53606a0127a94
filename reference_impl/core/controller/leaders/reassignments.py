"""Moves of partitions to other replicas: begun, changed, cancelled, listed.

Until the new replicas are in sync the partition has both the old ones and the new ones
(`partition_changes.completed` ends that).

Source: ReplicationControlManager.java (alterPartitionReassignment),
PartitionReassignmentReplicas.java, PartitionReassignmentRevert.java; KIP-455, KIP-860.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.metadata_image import PartitionImage, TopicImage
from reference_impl.core.controller.leaders.elections import (
    UNCLEAN_ELECTION,
    changed,
    circumstances_of,
)
from reference_impl.core.controller.leaders.partition_changes import Election
from reference_impl.core.controller.topic_changes import check_assignment
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode


def reassign(
    controller: Controller,
    name: str,
    index: int,
    replicas: Sequence[int] | None,
    *,
    may_change_factor: bool,
) -> None:
    """Begin to move a partition to these replicas; None cancels its move. Raise Refused if the
    partition or one of the replicas does not exist, nothing is to be cancelled, the way back needs
    an unclean election that the topic forbids, or the number of replicas would change and
    may_change_factor is False."""
    topic = controller.image.topics.get(name)
    if topic is None or index not in topic.partitions:
        raise Refused(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{index}."
        )
    old = topic.partitions[index]
    if replicas is None:
        wanted, election = _reverted(controller, topic, index)
    else:
        check_assignment(controller, replicas, len(replicas))
        if not may_change_factor:
            _check_factor(old, len(replicas))
        wanted, election = moving(old, replicas), Election.ONLINE
    circumstances = circumstances_of(controller, topic, election=election)
    records = list(changed(controller, topic.topic_id, index, old, wanted, circumstances))
    if records:
        controller.write(records)


def moving(old: PartitionImage, target: Sequence[int]) -> PartitionImage:
    """Return the state in which a partition moves to the target: it has the replicas of both, those
    of the target first."""
    removing = tuple(sorted(set(old.replicas) - set(target)))
    adding = (set(target) - set(old.replicas)) | (set(old.adding) & set(target))
    return replace(
        old, replicas=(*target, *removing), adding=tuple(sorted(adding)), removing=removing
    )


def is_moving(state: PartitionImage) -> bool:
    """Return whether the partition is being moved to other replicas."""
    return bool(state.adding or state.removing)


def _check_factor(old: PartitionImage, factor: int) -> None:
    """Raise Refused unless the partition keeps the number of its replicas, not counting those that
    a running move removes (KIP-860)."""
    had = len(set(old.replicas) - set(old.removing))
    if factor != had:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {had} to {factor}",
        )


def _reverted(
    controller: Controller, topic: TopicImage, index: int
) -> tuple[PartitionImage, Election]:
    """Return the state to which a cancelled move leads, and how its leader is elected. Raise
    Refused if the partition is not being moved, or if only an unclean election, which the topic
    forbids, could find a leader."""
    old = topic.partitions[index]
    if not is_moving(old):
        raise Refused(
            ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress."
        )
    replicas = tuple(each for each in old.replicas if each not in old.adding)
    isr = tuple(each for each in old.isr if each not in old.adding)
    election = Election.ONLINE
    if not isr:
        # Only new replicas are in sync: to go back is to lose what the old ones lack.
        configs = {**controller.config.topic_defaults, **topic.configs}
        is_allowed = configs[UNCLEAN_ELECTION].strip().lower() == "true"
        controller.rules.check_revert(f"{topic.name}:{index}", is_allowed=is_allowed)
        isr, election = replicas[:1], Election.UNCLEAN
    return replace(old, replicas=replicas, isr=isr, adding=(), removing=()), election
