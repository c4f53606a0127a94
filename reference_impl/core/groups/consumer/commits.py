"""Decide which offsets of a consumer group may be committed and read, and by whom.

Source: ConsumerGroup.java (validateOffsetCommit, validateOffsetFetch); KIP-848, KIP-1251.
"""

from __future__ import annotations

from collections.abc import Iterable

from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import TopicIdPartition
from reference_impl.core.groups.offsets import Committer
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.wire import ErrorCode

MEMBER_EPOCH_SINCE = 9
"""The version of OffsetCommit from which on a generation may be a member epoch."""


def check_commit(
    rules: Rules, group: ConsumerGroup, committer: Committer, partitions: Iterable[TopicIdPartition]
) -> None:
    """Raise Refused if the offset of any of these partitions may not be committed; then the caller
    commits none. A commit without a member epoch is allowed in a group without members, and in a
    transaction whose producer names no member."""
    if committer.epoch < 0 and not group.members:
        return  # a consumer that assigns partitions to itself, or an admin client
    if committer.is_nobody:
        rules.check_names_member(committer)
        return
    member = group.member(committer.member_id)
    speaks_new_protocol = member.classic is None and not committer.in_transaction
    if speaks_new_protocol and committer.version < MEMBER_EPOCH_SINCE:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    try:
        for partition in partitions:
            rules.check_commit_epoch(member, committer.epoch, partition)
    except Refused as refused:
        # Transactions know the error of the classic protocol alone.
        if committer.in_transaction and refused.code is ErrorCode.STALE_MEMBER_EPOCH:
            raise Refused(ErrorCode.ILLEGAL_GENERATION) from None
        raise


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> None:
    """Raise Refused if the member may not read the offsets of its group: it is unknown, or names
    another epoch than its current one. An admin client (no member id, negative epoch) may always
    read."""
    if member_id is None and epoch < 0:
        return  # an admin client
    member = group.member(member_id or "")
    if epoch != member.epoch:
        is_classic = member.classic is not None
        raise Refused(ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH)
