"""Offsets of members of the new protocol: the epoch stands where the generation was (KIP-848)."""

from __future__ import annotations

from typing import Any

from conformance.case import case, expect
from conformance.cases.groups8.test_epochs import moved
from conformance.cases.offsets.offsets import committed, committed_in, position, try_to_commit
from conformance.clients.consumer_members import ConsumerMember
from conformance.wire import Topic, Wire
from reference_impl.wire import ErrorCode, Struct

COMMITS = "KIP-848, OffsetCommit API; class ConsumerGroup, validateOffsetCommit"
STALE = ErrorCode.STALE_MEMBER_EPOCH
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
LATEST = 1 << 15


def commit_as(
    member: ConsumerMember, topic: Topic, version: int, epoch: int | None = None, **changed: Any
) -> int:
    """Commit offset 5 of partition 0 as this member, by default in its own epoch. Return the error
    code."""
    fields: dict[str, Any] = {
        "generation": member.epoch if epoch is None else epoch,
        "member_id": member.member_id,
    }
    errors = try_to_commit(member.wire, member.group, topic, {0: 5}, version, **(fields | changed))
    return errors[0]


@case("GRP8-24", "OffsetCommit", versions=(9, LATEST), spec=COMMITS, priority="P1")
def test_a_member_commits_in_its_epoch(wire: Wire, version: int) -> None:
    """A commit with the member's epoch is kept; one with a higher epoch gets STALE_MEMBER_EPOCH
    (113), and nothing is committed by it."""
    topic = wire.create_topic()
    member = ConsumerMember.stable(wire, topic)
    expect(commit_as(member, topic, version, member.epoch + 1), STALE, "error of the next epoch")
    expect(committed(wire, member.group, topic).offset, -1, "committed by it")
    expect(commit_as(member, topic, version), ErrorCode.NONE, "error of the member's epoch")
    expect(committed(wire, member.group, topic).offset, 5, "committed")


@case("GRP8-24", "OffsetCommit", versions=(9, LATEST), spec=COMMITS, priority="P1")
def test_strangers_do_not_commit(wire: Wire, version: int) -> None:
    """While the group has members, a commit of an unknown member, or without a member id, gets
    UNKNOWN_MEMBER_ID (25), and nothing is committed; once it is empty, a commit without a member id
    is accepted."""
    topic = wire.create_topic()
    member = ConsumerMember.stable(wire, topic)
    nobody: dict[str, Any] = {"epoch": -1, "member_id": ""}
    expect(commit_as(member, topic, version, member_id="never-given"), UNKNOWN, "error")
    expect(commit_as(member, topic, version, **nobody), UNKNOWN, "error of nobody")
    expect(committed(wire, member.group, topic).offset, -1, "committed by them")
    member.leave()
    expect(commit_as(member, topic, version, **nobody), ErrorCode.NONE, "error once it is empty")
    expect(committed(wire, member.group, topic).offset, 5, "committed")


@case("GRP8-24", "OffsetCommit", versions=(9, LATEST), spec=COMMITS + "; KIP-1251", priority="P1")
def test_an_older_epoch_commits_what_it_owned_already(wire: Wire, version: int) -> None:
    """A commit with an older epoch is kept for a partition that the member has owned since then,
    and gets STALE_MEMBER_EPOCH (113) for one that it was assigned later."""
    member, added, before = moved(wire, wire.version("ConsumerGroupHeartbeat"))
    kept = member.topics[0]
    expect(commit_as(member, added, version, before), STALE, "error of a partition assigned later")
    expect(committed(wire, member.group, added).offset, -1, "committed by it")
    expect(commit_as(member, kept, version, before), ErrorCode.NONE, "error of one it had then")
    expect(committed(wire, member.group, kept).offset, 5, "committed")


@case("GRP8-25", "OffsetCommit", versions=(2, 8), spec=COMMITS, priority="P1")
def test_old_commits_are_unsupported(wire: Wire, version: int) -> None:
    """A commit of a member in a version below 9 gets UNSUPPORTED_VERSION (35), and nothing is
    committed."""
    topic = wire.create_topic()
    member = ConsumerMember.stable(wire, topic)
    expect(commit_as(member, topic, version), ErrorCode.UNSUPPORTED_VERSION, "error")
    expect(committed(wire, member.group, topic).offset, -1, "committed")


def fetch_as(member: ConsumerMember, topic: Topic, version: int, **changed: Any) -> Struct:
    """Send OffsetFetch for partition 0 as this member; return the group's part of the answer."""
    who: dict[str, Any] = {"member_id": member.member_id, "member_epoch": member.epoch}
    wanted = position(member.group, {topic: [0]}, **(who | changed))
    answer = member.connection.call("OffsetFetch", version, groups=[wanted])
    expect([g.group_id for g in answer.groups], [member.group], "groups in the answer")
    return answer.groups[0]  # type: ignore[no-any-return]


@case(
    "GRP8-26",
    "OffsetFetch",
    versions=(9, LATEST),
    spec="KIP-848, OffsetFetch API; class ConsumerGroup, validateOffsetFetch",
    priority="P1",
)
def test_a_member_fetches_in_its_epoch(wire: Wire, version: int) -> None:
    """OffsetFetch of a member gets STALE_MEMBER_EPOCH (113) with another epoch than its own, and
    UNKNOWN_MEMBER_ID (25) with an unknown id; with its own epoch, and without any, the offset."""
    topic = wire.create_topic()
    member = ConsumerMember.stable(wire, topic)
    commit_as(member, topic, wire.version("OffsetCommit"))
    for epoch in (member.epoch - 1, member.epoch + 1):
        expect(
            fetch_as(member, topic, version, member_epoch=epoch).error_code,
            STALE,
            f"error of epoch {epoch}, the member's is {member.epoch}",
        )
    expect(
        fetch_as(member, topic, version, member_id="never-given").error_code,
        UNKNOWN,
        "error of an unknown member",
    )
    nobody = fetch_as(member, topic, version, member_id="", member_epoch=-1).error_code
    expect(nobody, UNKNOWN, "error of an empty id, which is not null")
    for answer in (
        fetch_as(member, topic, version),
        fetch_as(member, topic, version, member_id=None, member_epoch=-1),
    ):
        expect(answer.error_code, ErrorCode.NONE, "error")
        expect(committed_in(answer, topic)[0].offset, 5, "committed")
