"""Commit and read offsets in every version of the two APIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.case import expect, expect_that
from conformance.clients.members import NOT_YET, group_connection
from conformance.wire import Topic, Wire, eventually, part, request
from reference_impl.wire import ZERO_UUID, ErrorCode, Struct


@dataclass(frozen=True)
class Committed:
    """The answer of OffsetFetch for a partition that has no error."""

    offset: int
    metadata: str | None = ""
    leader_epoch: int = -1


NEVER = Committed(-1)


def commit(
    wire: Wire,
    group: str,
    topic: Topic,
    offsets: Mapping[int, int],
    version: int | None = None,
    **fields: Any,
) -> None:
    """Commit offsets of one topic, which must succeed (fields: those of commit_request)."""
    errors = try_to_commit(wire, group, topic, offsets, version, **fields)
    expect(errors, dict.fromkeys(offsets, int(ErrorCode.NONE)), "OffsetCommit errors")


def try_to_commit(
    wire: Wire,
    group: str,
    topic: Topic,
    offsets: Mapping[int, int],
    version: int | None = None,
    **fields: Any,
) -> dict[int, int]:
    """Send OffsetCommit for one topic (fields: those of commit_request). Return partition -> error
    code."""
    version = wire.version("OffsetCommit") if version is None else version
    body = commit_request(group, topic, offsets, **fields)
    return errors_of_commit(group_connection(wire, group).call("OffsetCommit", version, body))


def commit_request(
    group: str,
    topic: Topic,
    offsets: Mapping[int, int],
    *,
    generation: int = -1,
    member_id: str = "",
    instance_id: str | None = None,
    metadata: str | None = "",
    leader_epoch: int = -1,
    retention_ms: int = -1,
) -> Struct:
    """Return an OffsetCommit for partitions of one topic."""
    partitions = [
        part(
            "OffsetCommit",
            "OffsetCommitRequestPartition",
            partition_index=partition,
            committed_offset=offset,
            committed_metadata=metadata,
            committed_leader_epoch=leader_epoch,
        )
        for partition, offset in offsets.items()
    ]
    entry = part(
        "OffsetCommit",
        "OffsetCommitRequestTopic",
        name=topic.name,
        topic_id=topic.id,
        partitions=partitions,
    )
    return request(
        "OffsetCommit",
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        group_instance_id=instance_id,
        retention_time_ms=retention_ms,
        topics=[entry],
    )


def errors_of_commit(answer: Struct) -> dict[int, int]:
    """Return partition -> error code of an OffsetCommit for one topic."""
    expect(len(answer.topics), 1, "topics in the answer")
    return {p.partition_index: p.error_code for p in answer.topics[0].partitions}


def position(group: str, topics: Mapping[Topic, Sequence[int]] | None, **member: Any) -> Struct:
    """Return the entry of one group in OffsetFetch v8+; topics None: all of them. member: member_id
    and member_epoch, from v9 on."""
    entries = [
        part(
            "OffsetFetch",
            "OffsetFetchRequestTopics",
            name=topic.name,
            topic_id=topic.id,
            partition_indexes=list(partitions),
        )
        for topic, partitions in (topics or {}).items()
    ]
    return part(
        "OffsetFetch",
        "OffsetFetchRequestGroup",
        group_id=group,
        topics=None if topics is None else entries,
        **member,
    )


def fetch_offsets(
    wire: Wire,
    group: str,
    topics: Mapping[Topic, Sequence[int]] | None,
    version: int | None = None,
    *,
    require_stable: bool = False,
) -> Struct:
    """Send OffsetFetch for one group, which must succeed as a whole; return the part with its
    topics."""
    version = wire.version("OffsetFetch") if version is None else version
    body = fetch_request(group, topics, require_stable=require_stable)
    answer = group_connection(wire, group).call("OffsetFetch", version, body)
    return fetched_of(answer, group, version)


def fetch_request(
    group: str, topics: Mapping[Topic, Sequence[int]] | None, *, require_stable: bool = False
) -> Struct:
    """Return an OffsetFetch for one group, in the form of every version."""
    entries = [
        part(
            "OffsetFetch",
            "OffsetFetchRequestTopic",
            name=topic.name,
            partition_indexes=list(partitions),
        )
        for topic, partitions in (topics or {}).items()
    ]
    return request(
        "OffsetFetch",
        group_id=group,
        topics=None if topics is None else entries,
        groups=[position(group, topics)],
        require_stable=require_stable,
    )


def fetched_of(answer: Struct, group: str, version: int) -> Struct:
    """Return the part of an OffsetFetch answer with the group's topics; it must be a success."""
    if version < 8:
        expect(answer.error_code, ErrorCode.NONE, "OffsetFetch error")
        return answer
    expect([(g.group_id, g.error_code) for g in answer.groups], [(group, 0)], "(group, error)")
    return answer.groups[0]  # type: ignore[no-any-return]


def listed(wire: Wire, group: str, version: int, **filters: Any) -> Struct | None:
    """Return a group's entry in ListGroups at its coordinator, if it is there, once nothing is
    loading."""
    connection = group_connection(wire, group)
    answer = eventually(
        lambda: connection.call("ListGroups", version, **filters),
        lambda answer: answer.error_code not in NOT_YET,
        "ListGroups is served",
    )
    expect(answer.error_code, ErrorCode.NONE, "ListGroups error")
    found = [entry for entry in answer.groups if entry.group_id == group]
    expect_that(len(found) <= 1, "entries of one group", "at most 1", len(found))
    return found[0] if found else None


def committed_in(answer: Struct, topic: Topic) -> dict[int, Committed]:
    """Return partition -> committed offset of one topic; every partition must be without error."""

    def is_it(entry: Struct) -> bool:
        by_id = getattr(entry, "topic_id", ZERO_UUID)  # from v10 on, instead of the name
        return bool(by_id == topic.id if by_id != ZERO_UUID else entry.name == topic.name)

    rows = [p for entry in answer.topics if is_it(entry) for p in entry.partitions]
    expect(
        {p.partition_index: p.error_code for p in rows},
        {p.partition_index: 0 for p in rows},
        "errors by partition",
    )
    return {
        p.partition_index: Committed(p.committed_offset, p.metadata, p.committed_leader_epoch)
        for p in rows
    }


def committed(wire: Wire, group: str, topic: Topic, partition: int = 0) -> Committed:
    """Return the offset that a group has committed to one partition, with its epoch and
    metadata."""
    return committed_in(fetch_offsets(wire, group, {topic: [partition]}), topic)[partition]
