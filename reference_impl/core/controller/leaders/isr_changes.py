"""Changes of an ISR, which the leader of a partition asks for.

Source: ReplicationControlManager.java (alterPartition, validateAlterPartitionData); KIP-497,
KIP-841, KIP-903.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.metadata_image import (
    RECOVERING,
    PartitionImage,
    TopicImage,
)
from reference_impl.core.controller.leaders.elections import changed, circumstances_of
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct


def alter_partitions(
    controller: Controller, broker_id: int, topic_id: UUID, rows: Sequence[Struct]
) -> list[PartitionImage | Refused]:
    """Give partitions of a topic the ISRs that their leader asks for, and return the state of each,
    or the reason why it has not changed. All changes are one batch, since each batch of the
    metadata log is synced: a broker that returns joins thousands of ISRs.

    If a change completes a reassignment, another broker may lead afterwards; then the old leader
    gets NEW_LEADER_ELECTED."""
    records: dict[int, list[Struct]] = {}
    found: list[PartitionImage | Refused | None] = []
    for wanted in rows:
        index = wanted.partition_index
        try:
            if records.get(index):  # named twice: the first row raises the partition epoch
                raise Refused(ErrorCode.INVALID_UPDATE_VERSION)
            records[index] = _changes(controller, broker_id, topic_id, wanted)
            found.append(None)
        except Refused as refused:
            found.append(refused)
    if written := [record for each in records.values() for record in each]:
        controller.write(written)
    return [
        _told(controller.image.topics_by_id[topic_id], wanted.partition_index, broker_id)
        if outcome is None
        else outcome
        for wanted, outcome in zip(rows, found, strict=True)
    ]


def _changes(
    controller: Controller, broker_id: int, topic_id: UUID, wanted: Struct
) -> list[Struct]:
    """Return the records that give a partition the ISR that its leader asks for. Raise Refused if
    the partition does not exist, or if this leader may not have that ISR."""
    topic = controller.image.topics_by_id.get(topic_id)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
    index = wanted.partition_index
    old = topic.partitions.get(index)
    if old is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    epochs = epochs_of(wanted)
    _check(controller, broker_id, old, wanted, epochs)
    is_recovering = wanted.leader_recovery_state == RECOVERING
    target = replace(old, isr=tuple(epochs), is_recovering=is_recovering)
    circumstances = circumstances_of(controller, topic)
    return list(changed(controller, topic_id, index, old, target, circumstances))


def epochs_of(wanted: Struct) -> dict[int, int]:
    """Return the broker epoch of each member of the new ISR, -1 where the leader names none."""
    if wanted.new_isr_with_epochs:
        return {each.broker_id: each.broker_epoch for each in wanted.new_isr_with_epochs}
    return dict.fromkeys(wanted.new_isr, -1)


def _told(topic: TopicImage, index: int, broker_id: int) -> PartitionImage | Refused:
    new = topic.partitions[index]
    return new if new.leader == broker_id else Refused(ErrorCode.NEW_LEADER_ELECTED)


def _check(
    controller: Controller,
    broker_id: int,
    old: PartitionImage,
    wanted: Struct,
    epochs: Mapping[int, int],
) -> None:
    """Raise Refused unless the leader may change the partition in this way: it leads in this epoch,
    knows the newest partition epoch, names itself and only replicas, each once, that are alive, and
    calls itself recovering only while it is, and alone."""
    rules, brokers = controller.rules, controller.image.brokers
    rules.check_leadership(old, broker_id, wanted.leader_epoch)
    rules.check_partition_epoch(old, wanted.partition_epoch)
    named_twice = len(epochs) < max(len(wanted.new_isr_with_epochs), len(wanted.new_isr))
    if named_twice or not set(epochs) <= set(old.replicas) or old.leader not in epochs:
        raise Refused(ErrorCode.INVALID_REQUEST)
    if wanted.leader_recovery_state == RECOVERING and (len(epochs) > 1 or not old.is_recovering):
        raise Refused(ErrorCode.INVALID_REQUEST)
    for replica, epoch in epochs.items():
        if not rules.may_join_isr(brokers.get(replica), epoch):
            raise Refused(ErrorCode.INELIGIBLE_REPLICA)
