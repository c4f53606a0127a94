"""Offsets that are committed as part of a transaction."""

from __future__ import annotations

import pytest

from reference_impl.core.tests.transactional import BOTH, Producer, begun
from reference_impl.robustness.transactional_client import CLASSIC, committed_offset
from reference_impl.wire import ApiKey, ErrorCode, request_definition


@BOTH
@pytest.mark.parametrize("kill", [False, True], ids=["", "killed"])
def test_offsets_count_once_the_transaction_is_committed(
    versions: dict[str, int], kill: bool
) -> None:
    producer = begun(versions)
    world = producer.world

    def commit(offset: int) -> None:
        if versions is CLASSIC:
            assert producer.add_offsets() == ErrorCode.NONE
        assert producer.commit_offset(offset) == ErrorCode.NONE
        if kill:
            world.kill()

    commit(5)
    assert committed_offset(world) == (-1, ErrorCode.NONE)
    assert committed_offset(world, stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    producer.end(commit=True)
    assert committed_offset(world, stable=True) == (5, ErrorCode.NONE)
    commit(9)
    assert committed_offset(world) == (5, ErrorCode.NONE)
    producer.end(commit=False)
    assert committed_offset(world, stable=True) == (5, ErrorCode.NONE)
    world.kill()
    assert committed_offset(world, stable=True) == (5, ErrorCode.NONE)


@pytest.mark.parametrize(
    ("version", "code"), [(3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE)]
)
def test_offsets_of_a_group_that_takes_no_part(version: int, code: ErrorCode) -> None:
    assert begun().commit_offset(5, version=version) == code


def test_offsets_of_a_fenced_producer_or_a_stranger_are_refused() -> None:
    producer = begun()
    producer.add_offsets()
    assert producer.commit_offset(5, generation_id=3) == ErrorCode.ILLEGAL_GENERATION
    assert producer.commit_offset(5) == ErrorCode.NONE
    assert (
        producer.commit_offset(5, member_id="who", generation_id=1) == ErrorCode.UNKNOWN_MEMBER_ID
    )
    successor = Producer(producer.world)
    successor.init()
    successor.init()
    assert producer.commit_offset(6) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_commit_from_before_a_plain_one_does_not_undo_it() -> None:
    producer = begun()
    producer.add_offsets()
    producer.commit_offset(5)
    of = request_definition(ApiKey.OFFSET_COMMIT)
    row = of.struct("OffsetCommitRequestPartition", partition_index=0, committed_offset=7)
    producer.world.call(
        ApiKey.OFFSET_COMMIT,
        7,
        group_id="g",
        generation_id_or_member_epoch=-1,
        topics=[of.struct("OffsetCommitRequestTopic", name="t", partitions=[row])],
    )
    producer.end(commit=True)
    assert committed_offset(producer.world) == (7, ErrorCode.NONE)
    producer.world.kill()
    assert committed_offset(producer.world) == (7, ErrorCode.NONE)
