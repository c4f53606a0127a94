"""Build the requests of a transactional producer to coordinators, as fields of the messages.

Source: AddPartitionsToTxnRequest.json, TxnOffsetCommitRequest.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reference_impl.client.group.requests import positions
from reference_impl.client.values import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    TopicPartition,
    by_topic,
)
from reference_impl.wire import ApiKey, request_definition

Fields = dict[str, object]

ADD_PARTITIONS_AGAIN_MS = 20
"""The pause before AddPartitionsToTxn is repeated while the markers of the last transaction are
being written, which takes less than 100 ms
(AddPartitionsToTxnHandler.maybeOverrideRetryBackoffMs)."""


@dataclass(slots=True)
class PendingOffsets:
    """Offsets that are to become part of the transaction."""

    call_id: int
    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    group: ConsumerGroupMetadata
    is_group_added: bool = False


def add_partitions(writer: Fields, partitions: Iterable[TopicPartition]) -> Fields:
    """Return the fields of AddPartitionsToTxn. writer: transactional id, producer id and epoch."""
    fields = {f"v3_and_below_{name}": value for name, value in writer.items()}
    fields["v3_and_below_topics"] = [
        request_definition(ApiKey.ADD_PARTITIONS_TO_TXN).struct(
            "AddPartitionsToTxnTopic", name=topic, partitions=sorted(indexes)
        )
        for topic, indexes in by_topic(partitions).items()
    ]
    return fields


def commit_offsets(writer: Fields, pending: PendingOffsets) -> Fields:
    """Return the fields of TxnOffsetCommit, which commits a group's offsets in a transaction. The
    generation in it fences a consumer that has left the group (KIP-447)."""
    group = pending.group
    return writer | {
        "group_id": group.group_id,
        "generation_id": group.generation_id,
        "member_id": group.member_id,
        "group_instance_id": group.group_instance_id,
        "topics": positions(ApiKey.TXN_OFFSET_COMMIT, pending.offsets),
    }
