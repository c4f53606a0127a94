"""Commits, acknowledgements and refusals of a leader whose ISR is more than itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.core.tests.replicated import FOLLOWER, OWN, Replicated
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct


class CountsItselfAlone(Rules):
    """A leader that commits what no follower has."""

    def high_watermark(self, partition: Partition) -> int:
        return partition.log.log_end_offset


class AcknowledgesWhateverIsLeft(Rules):
    """A leader that forgets min.insync.replicas once a record is in its log."""

    def check_replicas_remain(self, partition: Partition) -> None:
        return


def replicated(rules: type[Rules] = Rules, min_isr: int = 1) -> Replicated:
    world = World(rules=rules)
    world.create_topic("t", min_insync_replicas=str(min_isr))
    return Replicated(world, "t")


def send(one: Replicated, value: str, acks: int = -1) -> int:
    body = one.world.produce_body("t", one.world.batch(value), acks=acks)
    return one.world.send(ApiKey.PRODUCE, 9, body)


def row_of(one: Replicated, number: int) -> Struct | None:
    answer = one.world.answer_to(number)
    return None if answer is None else answer.responses[0].partition_responses[0]


def code_of(one: Replicated, number: int) -> int | None:
    row = row_of(one, number)
    return None if row is None else int(row.error_code)


def acknowledged_early(one: Replicated) -> bool:
    """Return whether a record is acknowledged, or read, that the follower lacks."""
    number = send(one, "a")
    return code_of(one, number) == 0 or bool(one.world.fetch("t").records)


def test_acks_all_waits_until_the_whole_isr_has_the_record() -> None:
    one = replicated()
    assert not acknowledged_early(one)
    one.follow(0)
    assert one.partition.high_watermark == 0
    one.follow(1)
    assert (one.partition.high_watermark, one.world.read_all("t")) == (1, ["a"])


def test_a_leader_that_counts_itself_alone_acknowledges_early() -> None:
    assert acknowledged_early(replicated(CountsItselfAlone))


def test_the_answer_leaves_in_the_step_in_which_the_follower_has_it() -> None:
    one = replicated()
    number = send(one, "a")
    assert code_of(one, number) is None
    one.follow(1)
    assert code_of(one, number) == ErrorCode.NONE


def test_acks_1_waits_for_nobody() -> None:
    one = replicated()
    assert code_of(one, send(one, "a", acks=1)) == ErrorCode.NONE
    assert one.partition.high_watermark == 0


def test_a_reader_waits_for_the_follower_and_is_woken_by_it() -> None:
    one = replicated()
    send(one, "a")
    body = one.world.fetch_body("t", max_wait_ms=500)
    number = one.world.send(ApiKey.FETCH, 12, body, client=2)
    assert one.world.answer_to(number) is None
    one.follow(1)
    answer = one.world.answer_to(number)
    assert answer is not None and answer.responses[0].partitions[0].high_watermark == 1


def test_a_shrunken_isr_commits_what_those_left_have() -> None:
    one = replicated()
    number = send(one, "a")
    one.change(isr=[OWN])
    assert code_of(one, number) == ErrorCode.NONE


def test_the_high_watermark_stands_still_under_min_insync_replicas() -> None:
    one = replicated(min_isr=2)
    number = send(one, "a")
    one.change(isr=[OWN])
    assert (one.partition.high_watermark, code_of(one, number)) == (0, None)
    one.world.wait(1000)
    assert code_of(one, number) == ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize(
    ("rules", "expected"),
    [(Rules, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND), (AcknowledgesWhateverIsLeft, 0)],
)
def test_a_record_that_too_few_replicas_have_in_the_end_is_not_acknowledged(
    rules: type[Rules], expected: int
) -> None:
    one = replicated(rules)
    number = send(one, "a")
    # The record is committed, and the ISR becomes too small before the producer is answered.
    one.partition.follower_reached(FOLLOWER, 1)
    one.partition.log.config = replace(one.partition.config, min_insync_replicas=2)
    one.partition.take_state(replace(one.partition.state, isr=(OWN,)))
    one.world.settle()
    assert code_of(one, number) == expected


def test_a_leader_that_is_none_any_more_acknowledges_nothing() -> None:
    one = replicated()
    number = send(one, "a")
    one.lose_leadership()
    assert code_of(one, number) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    one.partition.follower_reached(FOLLOWER, 1)
    assert one.partition.high_watermark == 0, "its new leader says how far it is committed"


def test_a_leader_elected_again_does_not_answer_for_its_earlier_leadership() -> None:
    one = replicated()
    number = send(one, "a")
    one.change(leader=OWN)
    assert code_of(one, number) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_new_leadership_forgets_how_far_its_followers_were() -> None:
    one = replicated()
    send(one, "a")
    one.change(leader=OWN)
    send(one, "b")
    assert one.partition.high_watermark == 0
    one.follow(2)
    assert one.partition.high_watermark == 2


def test_whoever_does_not_lead_says_so() -> None:
    one = replicated()
    send(one, "a", acks=1)
    one.lose_leadership()
    assert code_of(one, send(one, "b")) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    answer = one.world.ask(ApiKey.FETCH, 10, one.world.fetch_body("t"))
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    # [New in v11: KIP-392] Consumers may read from followers.
    assert one.world.fetch("t").error_code == ErrorCode.NONE


def test_a_partition_that_others_hold_is_not_unknown() -> None:
    one = replicated()
    one.world.node.broker.replicas._by_name.clear()
    assert code_of(one, send(one, "a")) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    one.world.create_topic("u")
    assert one.world.produce("u", "a", partition=1).error_code == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )


def test_a_parked_produce_is_refused_when_its_topic_is_deleted() -> None:
    one = replicated()
    number = send(one, "a")
    one.world.call(ApiKey.DELETE_TOPICS, 5, client=2, topic_names=["t"], timeout_ms=1000)
    assert code_of(one, number) == ErrorCode.NOT_LEADER_OR_FOLLOWER
