"""Invariants of answers: a right answer passes, and each wrong value is named."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.case import Deviation
from conformance.invariants import INVARIANTS, check
from conformance.invariants.topics import others_write
from conformance.tests.fake import piece, response
from conformance.tests.invariant_answers import OFFSETS, fetch_asked, fetched
from conformance.tests.invariant_samples import SAMPLES, Sample, with_value
from conformance.wire import api_key, request
from reference_impl.wire import Struct

WRONG = [(sample, path, value) for sample in SAMPLES for path, value in sample.wrong]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.api)
def test_a_right_answer_passes(sample: Sample) -> None:
    check(sample.api, sample.version, sample.asked(), sample.answer())


@pytest.mark.parametrize(
    ("sample", "path", "value"),
    WRONG,
    ids=[f"{sample.api}-{path}-{n}" for n, (sample, path, _) in enumerate(WRONG)],
)
def test_a_wrong_value_is_named(sample: Sample, path: str, value: Any) -> None:
    wrong = with_value(sample.answer(), path, value)
    with pytest.raises(Deviation, match=f"in the answer of {sample.api} v{sample.version}"):
        check(sample.api, sample.version, sample.asked(), wrong)


def test_no_more_bytes_come_than_were_asked_for() -> None:
    both, first = fetched(), fetched(records=OFFSETS)
    check("Fetch", 17, fetch_asked(max_bytes=len(OFFSETS) - 1), first)
    for asked in (fetch_asked(max_bytes=len(OFFSETS)), fetch_asked()):
        if asked.max_bytes > len(OFFSETS):
            asked.topics[0].partitions[0].partition_max_bytes = len(OFFSETS)
        with pytest.raises(Deviation, match="bytes of"):
            check("Fetch", 17, asked, both)


def test_a_reader_of_committed_records_sees_none_above_the_last_stable_offset() -> None:
    open_transaction = fetched(last_stable_offset=2)
    check("Fetch", 17, fetch_asked(), open_transaction)
    with pytest.raises(Deviation, match="last offset of the records"):
        check("Fetch", 17, fetch_asked(isolation_level=1), open_transaction)


def test_a_broker_may_read_the_high_watermark_before_what_others_write_meanwhile() -> None:
    ahead = fetched(high_watermark=2, last_stable_offset=2)
    with others_write():
        check("Fetch", 17, fetch_asked(), ahead)
    with pytest.raises(Deviation, match="last offset of the records"):
        check("Fetch", 17, fetch_asked(), ahead)


def quorum_of(voters: int, high_watermark: int) -> Struct:
    """Return an answer of a quorum that node 1 leads with ten records."""
    members = [
        piece(
            "DescribeQuorum",
            "ReplicaState",
            replica_id=voter,
            log_end_offset=10 if voter == 1 else -1,
            last_fetch_timestamp=-1,
            last_caught_up_timestamp=-1,
        )
        for voter in range(1, voters + 1)
    ]
    partition = piece(
        "DescribeQuorum",
        "PartitionData",
        leader_id=1,
        leader_epoch=5,
        high_watermark=high_watermark,
        current_voters=members,
    )
    topic = piece("DescribeQuorum", "TopicData", partitions=[partition])
    return response("DescribeQuorum", topics=[topic])


@pytest.mark.parametrize(("voters", "high_watermark"), [(1, 10), (3, 10), (3, 0), (3, -1)])
def test_a_new_leader_of_others_may_know_no_high_watermark_yet(
    voters: int, high_watermark: int
) -> None:
    check("DescribeQuorum", 1, request("DescribeQuorum"), quorum_of(voters, high_watermark))


@pytest.mark.parametrize(("voters", "high_watermark"), [(1, -1), (3, -2), (3, 11)])
def test_a_high_watermark_out_of_the_log_is_named(voters: int, high_watermark: int) -> None:
    with pytest.raises(Deviation, match="high watermark in the answer of DescribeQuorum"):
        check("DescribeQuorum", 1, request("DescribeQuorum"), quorum_of(voters, high_watermark))


def test_every_api_that_has_invariants_exists() -> None:
    for api in INVARIANTS:
        assert api_key(api) >= 0
