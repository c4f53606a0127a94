"""Permission to commit offsets with a transaction, and refusals (KIP-447, KIP-890)."""

from __future__ import annotations

from typing import Any

from conformance.case import case, expect
from conformance.cases.offsets.offsets import commit, try_to_commit
from conformance.cases.transactions.offsets import (
    add_offsets,
    offset_of,
    stable_offset_of,
    try_to_add_offsets,
    try_to_commit_offset,
)
from conformance.clients.consumer_members import ConsumerMember
from conformance.clients.members import Member
from conformance.clients.transactions import Producer
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import ErrorCode

GROUPS = "KIP-447; OffsetMetadataManager.validateTransactionalOffsetCommit"
ADDS = (
    "KIP-98, AddOffsetsToTxnRequest; class TransactionCoordinator, handleAddPartitionsToTransaction"
)
ILLEGAL = ErrorCode.ILLEGAL_GENERATION


def refused_offset(producer: Producer, group: str, topic: Topic, version: int, **who: Any) -> int:
    """Send a TxnOffsetCommit that must leave no offset, not even after the commit; return its error
    code."""
    add_offsets(producer, group)
    error = try_to_commit_offset(producer, group, topic, 5, version, **who)
    producer.commit()
    found = stable_offset_of(producer.wire, group, topic)
    expect((found.error_code, found.committed_offset), (0, -1), "(error, offset) after the commit")
    return error


@case("TXN-40", "TxnOffsetCommit", versions=(3, 4), spec=GROUPS, priority="P1")
def test_a_member_commits_in_its_generation(wire: Wire, version: int) -> None:
    """With another generation than the member's TxnOffsetCommit gets ILLEGAL_GENERATION (22), with
    an unknown member id UNKNOWN_MEMBER_ID (25); the member's own offsets are committed."""
    topic, member, producer = wire.create_topic(), Member.stable(wire), Producer.ready(wire)
    who = {"generation_id": member.generation, "member_id": member.member_id}
    stale = who | {"generation_id": member.generation + 1}
    expect(
        refused_offset(producer, member.group, topic, version, **stale),
        ILLEGAL,
        "error of another generation",
    )
    stranger = who | {"member_id": "never-given"}
    expect(
        refused_offset(producer, member.group, topic, version, **stranger),
        ErrorCode.UNKNOWN_MEMBER_ID,
        "error of an unknown member",
    )
    add_offsets(producer, member.group)
    expect(
        try_to_commit_offset(producer, member.group, topic, 5, version, **who),
        ErrorCode.NONE,
        "error of the member",
    )
    producer.commit()
    eventually(lambda: offset_of(wire, member.group, topic), lambda o: o == 5, "it is committed")


@case(
    "TXN-40",
    "TxnOffsetCommit",
    spec="class GroupCoordinatorService, commitTransactionalOffsets",
    priority="P1",
)
def test_offsets_of_no_group_are_refused(wire: Wire, version: int) -> None:
    """TxnOffsetCommit for the group id "" gets INVALID_GROUP_ID (24)."""
    topic, producer = wire.create_topic(), Producer.ready(wire)
    error = try_to_commit_offset(producer, "", topic, 5, version)
    expect(error, ErrorCode.INVALID_GROUP_ID, "error")


@case("TXN-40", "TxnOffsetCommit", versions=(3, 4), spec=GROUPS + "; KIP-345", priority="P1")
def test_a_fenced_instance_commits_nothing(wire: Wire, version: int) -> None:
    """Once an instance has a new member id, TxnOffsetCommit with its old one gets
    FENCED_INSTANCE_ID (82)."""
    topic, old = wire.create_topic(), Member.stable(wire, instance_id="one")
    Member.of(wire, old.group, instance_id="one").join()
    error = refused_offset(
        Producer.ready(wire),
        old.group,
        topic,
        version,
        generation_id=old.generation,
        member_id=old.member_id,
        group_instance_id="one",
    )
    expect(error, ErrorCode.FENCED_INSTANCE_ID, "error")


@case("TXN-41", "TxnOffsetCommit", versions=(3, 4), spec=GROUPS + "; KIP-848", priority="P1")
def test_a_stale_member_epoch_commits_nothing(wire: Wire, version: int) -> None:
    """In a group of the new protocol TxnOffsetCommit with another epoch than the member's gets
    ILLEGAL_GENERATION (22), since it has no STALE_MEMBER_EPOCH; with its own it is committed."""
    topic, producer = wire.create_topic(), Producer.ready(wire)
    member = ConsumerMember.stable(wire, topic)
    who: dict[str, Any] = {"generation_id": member.epoch, "member_id": member.member_id}
    newer = who | {"generation_id": member.epoch + 1}
    expect(refused_offset(producer, member.group, topic, version, **newer), ILLEGAL, "error")
    add_offsets(producer, member.group)
    expect(
        try_to_commit_offset(producer, member.group, topic, 5, version, **who),
        ErrorCode.NONE,
        "error of the member",
    )
    producer.commit()
    eventually(lambda: offset_of(wire, member.group, topic), lambda o: o == 5, "it is committed")


@case("TXN-42", "TxnOffsetCommit", versions=(3, 4), spec=GROUPS, priority="P1")
def test_a_generation_of_an_unknown_group_commits_nothing(wire: Wire, version: int) -> None:
    """TxnOffsetCommit with a generation to a group that does not exist gets
    ILLEGAL_GENERATION (22)."""
    topic, group = wire.create_topic(), wire.new_name("group")
    who: dict[str, Any] = {"generation_id": 1, "member_id": "any"}
    expect(refused_offset(Producer.ready(wire), group, topic, version, **who), ILLEGAL, "error")


@case("TXN-43", "TxnOffsetCommit", versions=(0, 4), spec="KIP-98, Fencing Zombies", priority="P1")
def test_a_fenced_producer_commits_no_offsets(wire: Wire, version: int) -> None:
    """Once a newer producer has the transactional id, TxnOffsetCommit with the old epoch gets
    INVALID_PRODUCER_EPOCH (47), and the offsets of the new one stay."""
    topic, group, old = wire.create_topic(), wire.new_name("group"), Producer.ready(wire)
    commit(wire, group, topic, {0: 1})
    add_offsets(old, group)
    expect(try_to_commit_offset(old, group, topic, 5, version), ErrorCode.NONE, "error of the old")
    new = Producer.ready(wire, old.transactional_id)
    expect(
        try_to_commit_offset(old, group, topic, 6, version),
        ErrorCode.INVALID_PRODUCER_EPOCH,
        "error of the old one after that",
    )
    expect(stable_offset_of(wire, group, topic).committed_offset, 1, "offset after the fencing")
    add_offsets(new, group)
    expect(try_to_commit_offset(new, group, topic, 7, version), ErrorCode.NONE, "error of the new")
    new.commit()
    eventually(lambda: offset_of(wire, group, topic), lambda o: o == 7, "it is committed")


@case("TXN-44", "TxnOffsetCommit", versions=(5, 5), spec="KIP-890, part 2", priority="P1")
def test_offsets_add_themselves_to_the_transaction(wire: Wire, version: int) -> None:
    """From version 5 on TxnOffsetCommit needs no AddOffsetsToTxn before it: the offsets are pending
    until the transaction ends, and committed or dropped with it."""
    topic, group, producer = wire.create_topic(), wire.new_name("group"), Producer.ready(wire)
    ends = wire.version("EndTxn", 5)
    expect(try_to_commit_offset(producer, group, topic, 5, version), ErrorCode.NONE, "error")
    expect(offset_of(wire, group, topic), -1, "offset before the commit")
    producer.commit(ends)
    eventually(lambda: offset_of(wire, group, topic), lambda o: o == 5, "it is committed")
    expect(try_to_commit_offset(producer, group, topic, 6, version), ErrorCode.NONE, "error")
    producer.abort(ends)
    expect(stable_offset_of(wire, group, topic).committed_offset, 5, "offset after an abort")


@case("TXN-45", "AddOffsetsToTxn", spec=ADDS, priority="P1")
def test_offsets_of_another_producer_are_not_added(wire: Wire, version: int) -> None:
    """AddOffsetsToTxn with another producer id gets INVALID_PRODUCER_ID_MAPPING (49), with another
    epoch PRODUCER_FENCED (90), before version 2 INVALID_PRODUCER_EPOCH (47); the producer's own is
    added."""
    producer, group = Producer.ready(wire), wire.new_name("group")
    other_id = try_to_add_offsets(producer, group, version, producer_id=producer.producer_id + 1)
    expect(other_id, ErrorCode.INVALID_PRODUCER_ID_MAPPING, "error of another producer id")
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    other_epoch = try_to_add_offsets(producer, group, version, producer_epoch=producer.epoch + 1)
    expect(other_epoch, fenced, "error of another epoch")
    add_offsets(producer, group, version)


@case(
    "TXN-40", "TxnOffsetCommit", versions=(3, 4), spec="KIP-447; class ClassicGroup", priority="P1"
)
def test_a_member_commits_in_a_transaction_before_it_knows_its_assignment(
    wire: Wire, version: int
) -> None:
    """While the members wait for the leader's assignment (CompletingRebalance), a member's
    TxnOffsetCommit is accepted, unlike an OffsetCommit, which gets REBALANCE_IN_PROGRESS (27)."""
    producer, topic, member = Producer.ready(wire), wire.create_topic(), Member.of(wire)
    member.join()
    member.wait_for_state("CompletingRebalance")
    who: dict[str, Any] = {"generation": member.generation, "member_id": member.member_id}
    plain = try_to_commit(wire, member.group, topic, {0: 1}, **who)
    expect(plain, {0: ErrorCode.REBALANCE_IN_PROGRESS}, "OffsetCommit errors")
    add_offsets(producer, member.group)
    who = {"generation_id": member.generation, "member_id": member.member_id}
    code = try_to_commit_offset(producer, member.group, topic, 5, version, **who)
    expect(code, ErrorCode.NONE, "TxnOffsetCommit error")
    producer.abort()
