"""Commit offsets in a producer's transaction: AddOffsetsToTxn and TxnOffsetCommit."""

from __future__ import annotations

from typing import Any

from conformance.case import expect
from conformance.cases.offsets.offsets import committed, position
from conformance.clients.members import group_connection
from conformance.clients.transactions import BUSY, Producer
from conformance.wire import Topic, Wire, eventually, part
from reference_impl.wire import ErrorCode, Struct


def identity(producer: Producer, group: str) -> dict[str, Any]:
    """Return the fields that both requests have."""
    return {
        "transactional_id": producer.transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "group_id": group,
    }


def try_to_add_offsets(
    producer: Producer, group: str, version: int | None = None, **changed: Any
) -> int:
    """Send AddOffsetsToTxn again while the coordinator is busy; return its error code."""
    version = producer.wire.version("AddOffsetsToTxn") if version is None else version
    fields = identity(producer, group) | changed
    return int(
        eventually(
            lambda: producer.connection.call("AddOffsetsToTxn", version, **fields).error_code,
            lambda error: error not in BUSY,
            "AddOffsetsToTxn is served",
        )
    )


def add_offsets(producer: Producer, group: str, version: int | None = None) -> None:
    """Send AddOffsetsToTxn, which must succeed."""
    expect(try_to_add_offsets(producer, group, version), ErrorCode.NONE, "AddOffsetsToTxn error")


def try_to_commit_offset(
    producer: Producer,
    group: str,
    topic: Topic,
    offset: int,
    version: int | None = None,
    **changed: Any,
) -> int:
    """Send TxnOffsetCommit for partition 0, again while a coordinator is busy; return the error
    code."""
    version = producer.explicit("TxnOffsetCommit") if version is None else version
    partition = part(
        "TxnOffsetCommit",
        "TxnOffsetCommitRequestPartition",
        partition_index=0,
        committed_offset=offset,
    )
    entry = part(
        "TxnOffsetCommit", "TxnOffsetCommitRequestTopic", name=topic.name, partitions=[partition]
    )
    connection = group_connection(producer.wire, group)
    fields = identity(producer, group) | {"generation_id": -1, "topics": [entry]} | changed

    def attempt() -> int:
        answer = connection.call("TxnOffsetCommit", version, **fields)
        errors = [p.error_code for t in answer.topics for p in t.partitions]
        expect(len(errors), 1, "partitions in the answer")
        return int(errors[0])

    return int(eventually(attempt, lambda error: error not in BUSY, "TxnOffsetCommit is served"))


def commit_in_transaction(
    producer: Producer,
    group: str,
    topic: Topic,
    offset: int,
    *,
    add_version: int | None = None,
    commit_version: int | None = None,
) -> None:
    """Send AddOffsetsToTxn, then TxnOffsetCommit for partition 0; both must succeed."""
    add_offsets(producer, group, add_version)
    error = try_to_commit_offset(producer, group, topic, offset, commit_version)
    expect(error, ErrorCode.NONE, "TxnOffsetCommit error")


def offset_of(wire: Wire, group: str, topic: Topic) -> int:
    """Return the offset that the group has committed to partition 0."""
    return committed(wire, group, topic).offset


def stable_offset_of(wire: Wire, group: str, topic: Topic, version: int | None = None) -> Struct:
    """Return the group's position as a consumer with require_stable reads it, once no transaction
    is pending."""
    version = wire.version("OffsetFetch", 8, 9) if version is None else version
    wanted = [position(group, {topic: [0]})]
    return eventually(  # type: ignore[no-any-return]
        lambda: (
            group_connection(wire, group)
            .call("OffsetFetch", version, groups=wanted, require_stable=True)
            .groups[0]
            .topics[0]
            .partitions[0]
        ),
        lambda p: p.error_code != ErrorCode.UNSTABLE_OFFSET_COMMIT,
        "no offset is pending",
    )
