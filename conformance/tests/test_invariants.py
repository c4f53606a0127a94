"""Invariants of answers: a right answer passes, and each wrong value is named."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from conformance.case import Deviation
from conformance.invariants import INVARIANTS, check, check_moments
from conformance.invariants.put_off import BrokenInvariant
from conformance.tests.fake import FakeKafka, piece, response
from conformance.tests.invariant_answers import OFFSETS, fetch_asked, fetched
from conformance.tests.invariant_samples import SAMPLES, Sample, with_value
from conformance.wire import Connection, api_key, request
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


AHEAD: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({}, {"high_watermark": 2, "last_stable_offset": 2}),
    ({}, {"high_watermark": 2}),
    ({}, {"log_start_offset": 4}),
    ({"isolation_level": 1}, {"last_stable_offset": 2}),
    ({"isolation_level": 1}, {"log_start_offset": 3, "last_stable_offset": 2, "records": b""}),
    (
        {"isolation_level": 1},
        {"aborted_transactions": [piece("Fetch", "AbortedTransaction", first_offset=3)]},
    ),
)
"""(in the request, in the response) of a fetch with offsets beyond the end that it tells."""


@pytest.mark.parametrize(("asked", "told"), AHEAD)
def test_what_lies_beyond_the_end_of_the_log_lies_below_the_end_of_a_later_answer(
    asked: dict[str, Any], told: dict[str, Any]
) -> None:
    ahead, grown = fetched(**told), fetched(high_watermark=4, last_stable_offset=4)
    check("Fetch", 17, fetch_asked(**asked), ahead)
    check_moments(17, fetch_asked(**asked), ahead, lambda _: grown)
    check_moments(17, fetch_asked(**asked), ahead, lambda _: None)
    with pytest.raises(Deviation, match=r"in the answer of Fetch v17: expected at most \d"):
        check_moments(17, fetch_asked(**asked), ahead, lambda _: ahead)


def test_the_end_of_the_log_is_asked_for_again_only_if_need_be() -> None:
    open_transaction = fetched(last_stable_offset=2)
    for answer in (open_transaction, fetched(), fetched(error_code=1, high_watermark=-1)):
        check_moments(17, fetch_asked(), answer, lambda _: pytest.fail("asked again"))


@pytest.mark.parametrize("others_write", [True, False])
def test_a_connection_asks_again_for_the_end_of_the_log(*, others_write: bool) -> None:
    asked_again: list[Struct] = []

    def answer(_version: int, asked: Struct) -> Struct:
        asked_again.append(asked)
        if asked.session_epoch == -1 and others_write:
            return fetched(high_watermark=3, records=b"")
        return fetched(high_watermark=2, last_stable_offset=2)

    kafka = FakeKafka({"Fetch": answer})
    try:
        with closing(Connection(*kafka.address)) as connection:
            body = fetch_asked(session_epoch=0, session_id=0)
            if others_write:
                connection.call("Fetch", 17, body)
            else:
                with pytest.raises(BrokenInvariant, match="end of the records"):
                    connection.call("Fetch", 17, body)
    finally:
        kafka.stop()
    _, again = asked_again
    assert (again.session_epoch, again.max_wait_ms) == (-1, 0)
    assert again.topics[0].partitions[0].fetch_offset == 1


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
