"""Committed offsets of groups, over our own codec: one request, one answer.

A client library would retry a commit, and then the number of commits that arrived would be unknown.
Sources: OffsetCommitRequest.json (generation -1: a group without members, used only for its
offsets), OffsetFetchRequest.json, RequireStable (KIP-447); FindCoordinatorRequest.json;
OffsetMetadataManager, validateOffsetCommit (a sender that is not a member is refused before the
append); OffsetDeleteRequest.json (KIP-496), DeleteGroupsRequest.json (KIP-229).
"""

from __future__ import annotations

from collections.abc import Collection

from chaos.clients.wire.wire_link import WireCluster, check, kafka_name
from chaos.means.connection import WireError
from chaos.values.operations import (
    CommitPosition,
    DeletePositions,
    FetchPositions,
    Membership,
    Position,
)
from chaos.values.protocols import Completion, Outcome, Record
from chaos.world import Address
from reference_impl.wire import ApiKey, Struct, request_definition

NO_POSITION = -1  # OffsetFetchResponse.json, field CommittedOffset
NO_EPOCH, EPOCHS = -1, 5
NOTHING = NO_EPOCH, ""
"""The leader epoch and the metadata of an offset that was committed without them."""
NOBODY = Membership(member_id="", generation=-1)
REFUSED = frozenset(
    {
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "REBALANCE_IN_PROGRESS",
        "FENCED_INSTANCE_ID",
        "STALE_MEMBER_EPOCH",
    }
)
"""The errors by which a member's commit is refused before anything is written."""
NOT_DELETED = frozenset({"GROUP_ID_NOT_FOUND", "NON_EMPTY_GROUP", "GROUP_SUBSCRIBED_TO_TOPIC"})
"""The errors by which a deletion is refused before anything is written."""


async def commit(cluster: WireCluster, operation: CommitPosition) -> Completion:
    """Commit positions by one request. Return a record for each. Return no records, and FAIL if the
    coordinator cannot be found, or INFO if it does not answer. Most errors prove nothing (INFO):
    even COORDINATOR_NOT_AVAILABLE may come after the append."""
    member = operation.member or NOBODY
    try:
        coordinator = await _coordinator(cluster, operation.group)
    except WireError as error:
        return Completion(Outcome.FAIL, (), type(error).__name__, str(error))
    positions = [(operation.topic, operation.partition, operation.offset), *operation.beside]
    # A member that continues from this offset would use the epoch, so give it none.
    told = [NOTHING if operation.member else _told_with(offset) for _, _, offset in positions]
    try:
        answer = await cluster.ask(
            coordinator,
            ApiKey.OFFSET_COMMIT,
            group_id=operation.group,
            topics=[_committed(*each) for each in zip(positions, told, strict=True)],
            member_id=member.member_id,
            generation_id_or_member_epoch=member.generation,
            group_instance_id=member.instance_id,
        )
    except WireError as error:
        return Completion(Outcome.INFO, (), type(error).__name__, str(error))
    codes = _codes(answer)
    return _completion(
        [
            Record(
                topic,
                partition,
                None,
                offset,
                *_ended(codes[topic, partition], REFUSED),
                extra={"detail": _beside(*beside)},
            )
            for (topic, partition, offset), beside in zip(positions, told, strict=True)
        ]
    )


def _codes(answer: Struct) -> dict[tuple[str, int], int]:
    """Return the error code of each partition of an answer."""
    return {
        (topic.name, row.partition_index): row.error_code
        for topic in answer.topics
        for row in topic.partitions
    }


def _told_with(offset: int) -> tuple[int, str]:
    """Return the leader epoch and the metadata to commit with an offset. Both are computed from the
    offset, so that a reader can check that they belong to it."""
    return offset % EPOCHS, f"at {offset}"


def _committed(position: Position, beside: tuple[int, str]) -> Struct:
    """Return the row of an OffsetCommit request for one position. beside: its leader epoch and
    metadata."""
    topic, partition, offset = position
    struct = request_definition(ApiKey.OFFSET_COMMIT).struct
    row = struct(
        "OffsetCommitRequestPartition",
        partition_index=partition,
        committed_offset=offset,
        committed_leader_epoch=beside[0],
        committed_metadata=beside[1],
    )
    return struct("OffsetCommitRequestTopic", name=topic, partitions=[row])


def _ended(code: int, refused: Collection[str]) -> tuple[Outcome, str | None]:
    """Return the outcome of one row, and the name of its error or None. refused: the errors which
    prove that nothing has changed."""
    if not code:
        return Outcome.OK, None
    name = kafka_name(code)
    return Outcome.FAIL if name in refused else Outcome.INFO, name


def _completion(records: list[Record]) -> Completion:
    """Return the completion of a request with these rows. Its outcome and error are those of the
    first row that failed, if any."""
    worst = next((each for each in records if each.outcome is not Outcome.OK), records[0])
    return Completion(worst.outcome, records, worst.error)


async def delete(cluster: WireCluster, operation: DeletePositions) -> Completion:
    """Delete committed offsets, or their whole group. Return a record with a null offset for each
    partition: in the history a deletion is a commit of "no position". Return FAIL without records
    if the coordinator cannot be found, INFO without records if it does not answer."""
    try:
        coordinator = await _coordinator(cluster, operation.group)
    except WireError as error:
        return Completion(Outcome.FAIL, (), type(error).__name__, str(error))
    try:
        if operation.whole_group:
            answer = await cluster.ask(
                coordinator, ApiKey.DELETE_GROUPS, groups_names=[operation.group]
            )
            codes = [answer.results[0].error_code] * len(operation.places)
        else:
            codes = await _delete_offsets(cluster, coordinator, operation)
    except WireError as error:
        return Completion(Outcome.INFO, (), type(error).__name__, str(error))
    return _completion(
        [
            Record(topic, partition, None, None, *_ended(code, NOT_DELETED))
            for (topic, partition), code in zip(operation.places, codes, strict=True)
        ]
    )


async def _delete_offsets(
    cluster: WireCluster, coordinator: Address, operation: DeletePositions
) -> list[int]:
    """Return the error codes of OffsetDelete, in the order of the operation's partitions."""
    struct = request_definition(ApiKey.OFFSET_DELETE).struct
    topics: dict[str, list[int]] = {}
    for topic, partition in operation.places:
        topics.setdefault(topic, []).append(partition)
    answer = await cluster.ask(
        coordinator,
        ApiKey.OFFSET_DELETE,
        group_id=operation.group,
        topics=[
            struct(
                "OffsetDeleteRequestTopic",
                name=topic,
                partitions=[
                    struct("OffsetDeleteRequestPartition", partition_index=partition)
                    for partition in partitions
                ],
            )
            for topic, partitions in topics.items()
        ],
    )
    if answer.error_code:
        return [answer.error_code] * len(operation.places)
    told = _codes(answer)
    return [told[place] for place in operation.places]


async def fetch(cluster: WireCluster, operation: FetchPositions) -> Completion:
    """Fetch the committed offsets. Return a record for each partition, with the offset None if the
    group has committed none. A partition whose offset an open transaction may change fails alone
    (UNSTABLE_OFFSET_COMMIT). Return FAIL without records if there is no answer, or an error for the
    whole group."""
    struct = request_definition(ApiKey.OFFSET_FETCH).struct
    wanted = list(operation.partitions)
    topics = [
        struct("OffsetFetchRequestTopic", name=name, partition_indexes=wanted)
        for name in (operation.topic, *operation.beside)
    ]
    try:
        coordinator = await _coordinator(cluster, operation.group)
        answer = await cluster.ask(
            coordinator,
            ApiKey.OFFSET_FETCH,
            group_id=operation.group,
            topics=topics,
            require_stable=True,
        )
        check(answer.error_code, f"OffsetFetch {operation.group}")
    except WireError as error:
        return Completion(Outcome.FAIL, (), type(error).__name__, str(error))
    return _completion(
        [
            Record(
                topic.name,
                row.partition_index,
                None,
                None if row.error_code else _offset(row.committed_offset),
                Outcome.FAIL if row.error_code else Outcome.OK,
                kafka_name(row.error_code) if row.error_code else None,
                extra={"detail": _beside(row.committed_leader_epoch, row.metadata)},
            )
            for topic in answer.topics
            for row in topic.partitions
        ]
    )


def _beside(leader_epoch: int, metadata: str | None) -> str | None:
    """Return the leader epoch and metadata of a committed offset as one text, or None if it has
    none."""
    if leader_epoch == NO_EPOCH and not metadata:
        return None
    return f"leader epoch {leader_epoch}, {metadata}"


def _offset(committed: int) -> int | None:
    return None if committed == NO_POSITION else committed


async def _coordinator(cluster: WireCluster, group: str) -> Address:
    answer = await cluster.ask_any(ApiKey.FIND_COORDINATOR, key=group)
    check(answer.error_code, f"FindCoordinator {group}")
    return answer.host, answer.port
