"""What a transactional producer says to coordinators, as fields of the messages.

Source: AddPartitionsToTxnRequest.json, TxnOffsetCommitRequest.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reference_impl.client.values import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    TopicPartition,
    by_topic,
)
from reference_impl.wire import ApiKey, Struct, request_definition

Fields = dict[str, object]


def add_partitions(writer: Fields, partitions: Iterable[TopicPartition]) -> Fields:
    """writer: transactional id, producer id and epoch."""
    fields = {f"v3_and_below_{name}": value for name, value in writer.items()}
    fields["v3_and_below_topics"] = [
        request_definition(ApiKey.ADD_PARTITIONS_TO_TXN).struct(
            "AddPartitionsToTxnTopic", name=topic, partitions=sorted(indexes)
        )
        for topic, indexes in by_topic(partitions).items()
    ]
    return fields


def commit_offsets(
    writer: Fields,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    group: ConsumerGroupMetadata,
) -> Fields:
    """The group's generation fences a consumer that is no member any more (KIP-447)."""
    of = request_definition(ApiKey.TXN_OFFSET_COMMIT)

    def partition(key: TopicPartition) -> Struct:
        value = offsets[key]
        return of.struct(
            "TxnOffsetCommitRequestPartition",
            partition_index=key.partition,
            committed_offset=value.offset,
            committed_leader_epoch=value.leader_epoch,
            committed_metadata=value.metadata,
        )

    topics = [
        of.struct(
            "TxnOffsetCommitRequestTopic",
            name=topic,
            partitions=[partition(TopicPartition(topic, index)) for index in indexes],
        )
        for topic, indexes in by_topic(offsets).items()
    ]
    return writer | {
        "group_id": group.group_id,
        "generation_id": group.generation_id,
        "member_id": group.member_id,
        "group_instance_id": group.group_instance_id,
        "topics": topics,
    }
