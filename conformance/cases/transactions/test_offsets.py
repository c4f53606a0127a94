"""Offsets committed as part of a transaction (KIP-98, KIP-447)."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.offsets.offsets import commit, position
from conformance.cases.transactions.offsets import (
    commit_in_transaction,
    offset_of,
    stable_offset_of,
)
from conformance.members import group_connection
from conformance.transactions import Producer
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
