"""Committed offsets of groups, over our own codec: one request, one answer.

A client library would retry a commit, so that the arrival of the last attempt would be unknown.
Sources: OffsetCommitRequest.json (generation -1: a group that is used for its offsets alone),
OffsetFetchRequest.json, RequireStable (KIP-447); FindCoordinatorRequest.json;
OffsetMetadataManager, validateOffsetCommit (a sender that is no member is refused before the
append).
"""

from __future__ import annotations

from chaos.clients.wire_link import Address, WireCluster, WireError, check, kafka_name
from chaos.operations import CommitPosition, FetchPositions, Membership
from chaos.protocols import Completion, Outcome, Record
from reference_impl.wire import ApiKey, request_definition

NO_OFFSET = -1  # OffsetFetchResponse.json, field CommittedOffset
NO_EPOCH, EPOCHS = -1, 5
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
"""The errors of a commit in a member's name that are checked before anything is written."""


def commit(cluster: WireCluster, operation: CommitPosition) -> Completion:
    """Commit a position. Most errors prove nothing: COORDINATOR_NOT_AVAILABLE, too, may come after
    the append."""
    member = operation.member or NOBODY
    try:
        coordinator = _coordinator(cluster, operation.group)
    except WireError as error:
        return Completion(Outcome.FAIL, (), type(error).__name__, str(error))
    struct = request_definition(ApiKey.OFFSET_COMMIT).struct
    epoch, metadata = NO_EPOCH, ""
    if operation.member is None:  # a member goes on from here, and would believe the epoch
        epoch, metadata = operation.offset % EPOCHS, f"at {operation.offset}"
    position = struct(
        "OffsetCommitRequestPartition",
        partition_index=operation.partition,
        committed_offset=operation.offset,
        committed_leader_epoch=epoch,
        committed_metadata=metadata,
    )
    topic = struct("OffsetCommitRequestTopic", name=operation.topic, partitions=[position])
    try:
        answer = cluster.ask(
            coordinator,
            ApiKey.OFFSET_COMMIT,
            group_id=operation.group,
            topics=[topic],
            member_id=member.member_id,
            generation_id_or_member_epoch=member.generation,
            group_instance_id=member.instance_id,
        )
    except WireError as error:
        return Completion(Outcome.INFO, (), type(error).__name__, str(error))
    code = answer.topics[0].partitions[0].error_code
    if code:
        name = kafka_name(code)
        return Completion(Outcome.FAIL if name in REFUSED else Outcome.INFO, (), name)
    return Completion(Outcome.OK, detail=_beside(epoch, metadata))


def fetch(cluster: WireCluster, operation: FetchPositions) -> Completion:
    """Fetch the committed offsets: a record per partition, its offset None if the group has
    committed none."""
    struct = request_definition(ApiKey.OFFSET_FETCH).struct
    topic = struct(
        "OffsetFetchRequestTopic",
        name=operation.topic,
        partition_indexes=list(operation.partitions),
    )
    try:
        coordinator = _coordinator(cluster, operation.group)
        answer = cluster.ask(
            coordinator,
            ApiKey.OFFSET_FETCH,
            group_id=operation.group,
            topics=[topic],
            require_stable=True,
        )
        check(answer.error_code, f"OffsetFetch {operation.group}")
        found = answer.topics[0].partitions
        for each in found:
            check(each.error_code, f"OffsetFetch {operation.group}")
    except WireError as error:
        return Completion(Outcome.FAIL, (), type(error).__name__, str(error))
    records = [
        Record(
            operation.topic,
            each.partition_index,
            None,
            _offset(each.committed_offset),
            extra={"detail": _beside(each.committed_leader_epoch, each.metadata)},
        )
        for each in found
    ]
    return Completion(Outcome.OK, records)


def _beside(leader_epoch: int, metadata: str | None) -> str | None:
    """Return what stands beside a committed offset, None where that is nothing."""
    if leader_epoch == NO_EPOCH and not metadata:
        return None
    return f"leader epoch {leader_epoch}, {metadata}"


def _offset(committed: int) -> int | None:
    return None if committed == NO_OFFSET else committed


def _coordinator(cluster: WireCluster, group: str) -> Address:
    answer = cluster.ask_any(ApiKey.FIND_COORDINATOR, key=group)
    check(answer.error_code, f"FindCoordinator {group}")
    return answer.host, answer.port
