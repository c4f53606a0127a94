"""Offsets committed as part of a transaction (KIP-98, KIP-447)."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.offsets.offsets import commit, position
from conformance.cases.transactions.offsets import (
    commit_in_transaction,
    offset_of,
    stable_offset_of,
)
from conformance.clients.members import group_connection
from conformance.clients.transactions import Producer
from conformance.wire import Wire, eventually, part
from reference_impl.wire import ErrorCode

SPEC = "KIP-98, AddOffsetsToTxnRequest and TxnOffsetCommitRequest"


@case("TXN-37", "TxnOffsetCommit", versions=(0, 4), spec=SPEC)
def test_offsets_are_committed_with_the_transaction(wire: Wire, version: int) -> None:
    """Offsets of TxnOffsetCommit are read after the transaction's commit, and not before."""
    producer, topic, group = Producer.ready(wire), wire.create_topic(), wire.new_name("group")
    commit(wire, group, topic, {0: 1})
    commit_in_transaction(producer, group, topic, 5, commit_version=version)
    expect(offset_of(wire, group, topic), 1, "offset before the commit")
    producer.commit()
    eventually(lambda: offset_of(wire, group, topic), lambda o: o == 5, "the offset is committed")


@case("TXN-37", "TxnOffsetCommit", versions=(0, 4), spec=SPEC)
def test_the_last_offset_of_a_transaction_counts(wire: Wire, version: int) -> None:
    """If a transaction commits a partition's offset twice, the later one counts, even if it is
    smaller."""
    producer, topic, group = Producer.ready(wire), wire.create_topic(), wire.new_name("group")
    for offset in (5, 7, 3):
        commit_in_transaction(producer, group, topic, offset, commit_version=version)
    producer.commit()
    found = stable_offset_of(wire, group, topic)
    expect((found.error_code, found.committed_offset), (0, 3), "(error, offset)")


@case("TXN-38", "AddOffsetsToTxn", spec=SPEC)
def test_an_abort_drops_the_offsets(wire: Wire, version: int) -> None:
    """After an abort the group has its old offsets, and may commit again."""
    producer, topic, group = Producer.ready(wire), wire.create_topic(), wire.new_name("group")
    commit(wire, group, topic, {0: 1})
    commit_in_transaction(producer, group, topic, 5, add_version=version)
    producer.abort()
    found = stable_offset_of(wire, group, topic)
    expect((found.error_code, found.committed_offset), (0, 1), "(error, offset) after the abort")
    producer.init()
    commit_in_transaction(producer, group, topic, 7, add_version=version)
    producer.commit()
    eventually(lambda: offset_of(wire, group, topic), lambda o: o == 7, "the offset is committed")


@case("TXN-39", "OffsetFetch", versions=(7, 10), spec="KIP-447")
def test_a_pending_offset_is_unstable(wire: Wire, version: int) -> None:
    """While a transaction's offsets are pending, OffsetFetch with require_stable gets
    UNSTABLE_OFFSET_COMMIT (88) for them, and without it the offset before; then the new one."""
    producer, topic, group = Producer.ready(wire), wire.create_topic(), wire.new_name("group")
    commit(wire, group, topic, {0: 1})
    commit_in_transaction(producer, group, topic, 5)

    def ask(require_stable: bool) -> tuple[int, int]:
        names = part(
            "OffsetFetch", "OffsetFetchRequestTopic", name=topic.name, partition_indexes=[0]
        )
        answer = group_connection(wire, group).call(
            "OffsetFetch",
            version,
            group_id=group,
            topics=[names],
            groups=[position(group, {topic: [0]})],
            require_stable=require_stable,
        )
        found = (answer if version < 8 else answer.groups[0]).topics[0].partitions[0]
        return found.error_code, found.committed_offset

    expect(ask(True)[0], ErrorCode.UNSTABLE_OFFSET_COMMIT, "error with require_stable")
    expect(ask(False), (0, 1), "(error, offset) without it")
    producer.commit()
    eventually(lambda: ask(True), lambda found: found == (0, 5), "the new offset is stable")


@case("TXN-39", "OffsetFetch", versions=(8, 9), spec="KIP-447; class OffsetMetadataManager")
def test_who_asks_for_all_is_told_that_one_is_unstable(wire: Wire, version: int) -> None:
    """An OffsetFetch for all partitions of a group with require_stable returns every offset, but a
    partition that an open transaction may change has UNSTABLE_OFFSET_COMMIT (88) and offset -1."""
    producer, topic, group = Producer.ready(wire), wire.create_topic(2), wire.new_name("group")
    commit(wire, group, topic, {0: 1, 1: 2})
    commit_in_transaction(producer, group, topic, 5)

    def ask(require_stable: bool) -> dict[int, tuple[int, int]]:
        answer = group_connection(wire, group).call(
            "OffsetFetch", version, groups=[position(group, None)], require_stable=require_stable
        )
        rows = [p for t in answer.groups[0].topics for p in t.partitions]
        return {p.partition_index: (p.error_code, p.committed_offset) for p in rows}

    unstable = (int(ErrorCode.UNSTABLE_OFFSET_COMMIT), -1)
    expect(ask(True), {0: unstable, 1: (0, 2)}, "(error, offset) with require_stable")
    expect(ask(False), {0: (0, 1), 1: (0, 2)}, "(error, offset) without it")
    producer.commit()
    stable = {0: (0, 5), 1: (0, 2)}
    eventually(lambda: ask(True), lambda found: found == stable, "the new offset is stable")


@case("TXN-39", "OffsetFetch", versions=(8, 9), spec="KIP-447")
def test_who_asks_for_all_is_not_told_of_an_offset_that_is_only_pending(
    wire: Wire, version: int
) -> None:
    """An OffsetFetch for all partitions of a group, with require_stable, has no row for a partition
    whose first offset is in an open transaction."""
    producer, topic, group = Producer.ready(wire), wire.create_topic(2), wire.new_name("group")
    commit(wire, group, topic, {1: 2})
    commit_in_transaction(producer, group, topic, 5)
    answer = group_connection(wire, group).call(
        "OffsetFetch", version, groups=[position(group, None)], require_stable=True
    )
    rows = [p for t in answer.groups[0].topics for p in t.partitions]
    found = [(p.partition_index, p.error_code, p.committed_offset) for p in rows]
    expect(found, [(1, 0, 2)], "(partition, error, offset)")
    producer.abort()


@case("TXN-37", "TxnOffsetCommit", versions=(0, 4), spec="class OffsetMetadataManager, replay")
def test_a_later_plain_commit_outlives_the_transaction(wire: Wire, version: int) -> None:
    """An offset that was committed without a transaction, after the one in the transaction, stays
    when the transaction is committed: the later one counts."""
    producer, topic, group = Producer.ready(wire), wire.create_topic(), wire.new_name("group")
    commit_in_transaction(producer, group, topic, 5, commit_version=version)
    commit(wire, group, topic, {0: 3})
    expect(offset_of(wire, group, topic), 3, "offset before the end")
    producer.commit()
    found = stable_offset_of(wire, group, topic)
    expect((found.error_code, found.committed_offset), (0, 3), "(error, offset) after the end")


@case("TXN-62", "DeleteGroups", spec="class OffsetMetadataManager, deleteAllOffsets", priority="P1")
def test_a_deleted_group_gets_no_offsets_from_its_transaction(wire: Wire, version: int) -> None:
    """If a group is deleted while a transaction's offsets for it are pending, the commit of the
    transaction does not bring them back."""
    producer, topic, group = Producer.ready(wire), wire.create_topic(), wire.new_name("group")
    commit(wire, group, topic, {0: 1})
    commit_in_transaction(producer, group, topic, 5)
    answer = group_connection(wire, group).call("DeleteGroups", version, groups_names=[group])
    expect(answer.results[0].error_code, ErrorCode.NONE, "error of DeleteGroups")
    producer.commit()
    found = stable_offset_of(wire, group, topic)
    expect((found.error_code, found.committed_offset), (0, -1), "(error, offset) after the end")


@case(
    "TXN-65",
    "OffsetFetch",
    versions=(8, 10),
    spec="KIP-848, topic ids; class OffsetMetadataManager, onPartitionsDeleted",
    priority="P1",
)
def test_a_new_topic_gets_no_offsets_that_were_pending_for_the_old_one(
    wire: Wire, version: int
) -> None:
    """If a topic is deleted while a transaction's offset for it is pending, and created again, the
    commit of the transaction leaves no offset for the new topic."""
    producer, old, group = Producer.ready(wire), wire.create_topic(), wire.new_name("group")
    commit_in_transaction(producer, group, old, 5)
    wire.delete_topic(old)
    new = wire.create_topic(name=old.name)
    producer.commit()
    found = stable_offset_of(wire, group, new, version)
    expect((found.error_code, found.committed_offset), (0, -1), "(error, offset) after the end")
