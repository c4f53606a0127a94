"""TxnOffsetCommit (API key 28). Spec: KIP-98; KIP-447 (member and generation, v3), KIP-890
(TRANSACTION_ABORTABLE, v4; the group takes part implicitly, v5)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.committing import WantedCommit, check_commit, commits_of
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.core.groups.group_log import encoded_commit
from reference_impl.core.groups.offsets import Committer
from reference_impl.core.groups.state import Group
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import (
    READ_GROUP,
    READ_TOPIC,
    WRITE_TRANSACTIONAL_ID,
)
from reference_impl.core.transactions.taking_part import Writer, ensure_takes_part
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("TxnOffsetCommitResponse")
LOADING_SINCE = 2
"""The first version whose clients know COORDINATOR_LOAD_IN_PROGRESS."""


def handle_txn_offset_commit(broker: Broker, request: Request) -> Iterator[Effect]:
    """Store offsets that a group commits in a transaction, and answer with an error code for each
    partition; they take effect only if the transaction commits."""
    answer = RESPONSE.new()
    wanted: list[WantedCommit] = []
    denied = denial(broker, request)
    for topic in request.body.topics:
        yield GiveWay(request)
        rows = RESPONSE.struct("TxnOffsetCommitResponseTopic", name=topic.name)
        answer.topics.append(rows)
        image = broker.image.topics.get(topic.name)
        may_read = broker.access.may(request, READ_TOPIC, topic.name)
        for partition in topic.partitions:
            yield GiveWay(request)
            # VALIDATE the partitions
            row = RESPONSE.struct(
                "TxnOffsetCommitResponsePartition", partition_index=partition.partition_index
            )
            rows.partitions.append(row)
            if not may_read:
                row.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif image is None or partition.partition_index not in image.partitions:
                row.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                wanted.append((image, partition, row))
            if denied is not None:
                row.error_code = denied
    # DEDUPLICATE: the newest commit counts, so the same one again changes nothing.
    if wanted and denied is None:
        try:
            yield from commit(broker, request, wanted)
        except Refused as refused:
            code = known_to(request.api_version, refused.code)
            for _, _, row in wanted:
                row.error_code = code
    # RESPOND
    yield Respond(request, answer)


def known_to(version: int, code: ErrorCode) -> ErrorCode:
    """Return the error for a producer of this version. Old ones may crash over
    COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296), and get an error that they retry after, too."""
    is_unknown = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < LOADING_SINCE
    return ErrorCode.COORDINATOR_NOT_AVAILABLE if is_unknown else code


def denial(broker: Broker, request: Request) -> ErrorCode | None:
    """Return the error for every partition if the client lacks a permission for the whole request,
    or the group id is empty. Return None if neither is so."""
    try:
        broker.access.require(request, WRITE_TRANSACTIONAL_ID, request.body.transactional_id)
        broker.access.require(request, READ_GROUP, request.body.group_id)
        if not request.body.group_id:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
    except Refused as refused:
        return refused.code
    return None


def commit(broker: Broker, request: Request, wanted: list[WantedCommit]) -> Iterator[Effect]:
    """Commit these offsets as pending ones of the transaction. Raise Refused, for all of them, if
    the transaction or the group forbids that, or the log does not take them."""
    body = request.body
    commits = commits_of(broker, wanted)
    records = yield from for_each(request, commits, partial(encoded_commit, body.group_id))
    # VALIDATE the transaction, then the group, which may have changed meanwhile
    coordinator = broker.groups.of(body.group_id)
    yield from ensure_takes_part(
        broker,
        coordinator.partition(),
        Writer(
            body.transactional_id,
            body.producer_id,
            body.producer_epoch,
            api="TxnOffsetCommit",
            api_version=request.api_version,
        ),
    )
    committer = Committer(
        body.member_id,
        body.group_instance_id,
        body.generation_id,
        request.api_version,
        in_transaction=True,
    )
    check_commit(broker, group_of(coordinator, body), committer, wanted)
    # APPLY: it is in the log, but counts only with the marker.
    coordinator.commit_in_transaction(
        body.group_id, commits, records, body.producer_id, body.producer_epoch
    )


def group_of(coordinator: GroupCoordinator, body: Struct) -> Group:
    """Return the group of the commit. If there is none, return a new one, which the commit will
    add, for a commit without a generation; raise Refused for one with a generation. Source:
    OffsetMetadataManager.java, validateTransactionalOffsetCommit."""
    group = coordinator.group(body.group_id)
    if group is not None:
        return group
    if body.generation_id >= 0:
        raise Refused(ErrorCode.ILLEGAL_GENERATION)
    return ClassicGroup(body.group_id)  # the commit adds it to the coordinator's groups
