"""Answers of the group coordinator leave once the follower of its log has what they tell of."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from reference_impl.core.events import Request
from reference_impl.core.handlers import BROKER
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.requests.automatic_topics import ensure_groups_topic
from reference_impl.core.rules import Rules
from reference_impl.core.tests.group_client import FETCH, Client, committed, new_world, stable_pair
from reference_impl.core.tests.replicated import Replicated
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, encode_response, request_definition

TIMEOUT_MS = 5000
REFUSING = {ApiKey(key): api for key, api in BROKER.items() if api.refuse is not None}


def followed(rules: type[Rules] = Rules) -> tuple[Client, Replicated]:
    """Return a group of one member, and its partition, which has a follower from now on."""
    world = World(rules=rules)
    world.create_topic("t", 2)
    ensure_groups_topic(world.node.broker)
    world.settle()
    one = Client(world, 1)
    one.join()
    world.wait(0)
    one.take()
    number = one.send_sync({one.member_id: b"one"})
    assert world.answer_to(number) is not None
    index = world.node.broker.groups.of("g").index
    return one, Replicated(world, "__consumer_offsets", index)


def send_commit(one: Client, offset: int) -> int:
    of = request_definition(ApiKey.OFFSET_COMMIT)
    row = of.struct("OffsetCommitRequestPartition", partition_index=0, committed_offset=offset)
    body = of.new(
        group_id="g",
        generation_id_or_member_epoch=one.generation,
        member_id=one.member_id,
        topics=[of.struct("OffsetCommitRequestTopic", name="t", partitions=[row])],
    )
    return one.world.send(ApiKey.OFFSET_COMMIT, 9, body, one.number)


def send_fetch(world: World, client: int) -> int:
    group = FETCH.struct("OffsetFetchRequestGroup", group_id="g", topics=None)
    return world.send(ApiKey.OFFSET_FETCH, 9, FETCH.new(groups=[group]), client)


def code_of(answer: Struct | None) -> int | None:
    return None if answer is None else int(answer.topics[0].partitions[0].error_code)


def test_a_commit_is_answered_once_the_follower_has_it() -> None:
    one, log = followed()
    number = send_commit(one, 7)
    assert one.world.answer_to(number) is None
    log.catch_up()
    assert code_of(one.world.answer_to(number)) == ErrorCode.NONE
    assert committed(one.world) == 7


class AnswersAtOnce(Rules):
    """A coordinator that tells of what no other replica has."""

    def answer_waits(self, uncommitted: Collection[Partition]) -> bool:
        return False


def test_a_hasty_coordinator_answers_before_the_follower_has_it() -> None:
    one, _ = followed(AnswersAtOnce)
    assert code_of(one.world.answer_to(send_commit(one, 7))) == ErrorCode.NONE


def test_another_client_is_not_told_of_what_is_not_committed() -> None:
    one, log = followed()
    send_commit(one, 7)
    number = send_fetch(one.world, client=9)
    assert one.world.answer_to(number) is None
    log.catch_up()
    answer = one.world.answer_to(number)
    assert answer is not None
    assert answer.groups[0].topics[0].partitions[0].committed_offset == 7


def test_answers_leave_in_the_order_of_their_requests() -> None:
    one, log = followed()
    numbers = [send_commit(one, 7), send_fetch(one.world, client=8), send_fetch(one.world, 9)]
    one.world.trace.clear()
    log.catch_up()
    answered = [line for line in one.world.trace if line.startswith("Respond")]
    expected = [f"correlation_id={number}," for number in numbers]
    assert [next(e for e in expected if e in line) for line in answered] == expected


def test_a_part_of_the_log_is_not_enough() -> None:
    one, log = followed()
    first, second = send_commit(one, 7), send_fetch(one.world, client=9)
    number = one.world.send(ApiKey.OFFSET_COMMIT, 9, commit_of_another(one.world), 5)
    log.follow(log.partition.log.log_end_offset - 1)
    assert code_of(one.world.answer_to(first)) == ErrorCode.NONE
    assert one.world.answer_to(second) is not None
    assert one.world.answer_to(number) is None
    log.catch_up()
    assert code_of(one.world.answer_to(number)) == ErrorCode.NONE


def commit_of_another(world: World) -> Struct:
    """Return a commit without a member, of a group that is kept in the same partition as g."""
    index_of = world.node.broker.groups.topic.index_of
    names = (f"h{n}" for n in range(100))
    name = next(each for each in names if index_of(each) == index_of("g"))
    of = request_definition(ApiKey.OFFSET_COMMIT)
    row = of.struct("OffsetCommitRequestPartition", partition_index=0, committed_offset=1)
    topic = of.struct("OffsetCommitRequestTopic", name="t", partitions=[row])
    return of.new(group_id=name, generation_id_or_member_epoch=-1, topics=[topic])


def test_a_group_of_another_partition_is_answered_at_once() -> None:
    one, _ = followed()
    send_commit(one, 7)
    index_of = one.world.node.broker.groups.topic.index_of
    other = next(n for n in map(str, range(100)) if index_of(n) != index_of("g"))
    answer = one.world.call(ApiKey.DESCRIBE_GROUPS, 5, 9, groups=[other])
    assert answer.groups[0].group_id == other


def test_members_that_wait_for_the_leader_of_the_group_wait_for_the_follower_of_the_log() -> None:
    world = new_world()
    one, two = stable_pair(world)
    index = world.node.broker.groups.of("g").index
    log = Replicated(world, "__consumer_offsets", index)
    one.send_join()
    two.send_join()
    one.take()
    followed_by = two.send_sync()
    led = one.send_sync({one.member_id: b"1", two.member_id: b"2"})
    assert world.answer_to(led) is None and world.answer_to(followed_by) is None
    log.catch_up()
    for number, part in ((led, b"1"), (followed_by, b"2")):
        answer = world.answer_to(number)
        assert answer is not None and (answer.error_code, answer.assignment) == (0, part)


def test_whoever_waits_when_the_leadership_is_lost_must_look_for_the_coordinator() -> None:
    one, log = followed()
    commit, fetch = send_commit(one, 7), send_fetch(one.world, client=9)
    log.lose_leadership()
    assert code_of(one.world.answer_to(commit)) == ErrorCode.NOT_COORDINATOR
    answer = one.world.answer_to(fetch)
    assert answer is not None and answer.groups[0].error_code == ErrorCode.NOT_COORDINATOR
    assert not answer.groups[0].topics, "nothing of what it had read"


def test_an_answer_does_not_survive_into_the_next_leadership_of_the_same_node() -> None:
    one, log = followed()
    number = send_commit(one, 7)
    log.change(leader=1, isr=[1])
    assert code_of(one.world.answer_to(number)) == ErrorCode.NOT_COORDINATOR


def test_a_follower_that_does_not_come_ends_the_wait_with_a_retriable_error() -> None:
    one, _ = followed()
    number = send_commit(one, 7)
    one.world.wait(TIMEOUT_MS - 1)
    assert one.world.answer_to(number) is None
    one.world.wait(1)
    assert code_of(one.world.answer_to(number)) == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_each_api_of_the_group_coordinator_can_refuse() -> None:
    coordinated = {
        key
        for key in map(ApiKey, BROKER)
        if key.name.endswith(("GROUP", "GROUPS", "HEARTBEAT", "GROUP_DESCRIBE"))
        or key.name in ("OFFSET_COMMIT", "OFFSET_FETCH", "OFFSET_DELETE", "TXN_OFFSET_COMMIT")
    }
    assert coordinated == REFUSING.keys()


@pytest.mark.parametrize("key", REFUSING, ids=lambda key: key.name)
def test_a_refusal_can_be_sent_in_every_version_and_says_so(key: ApiKey) -> None:
    api = REFUSING[key]
    refuse = api.refuse
    assert refuse is not None
    for version in range(api.min_version, api.max_version + 1):
        request = Request(1, key, version, 1, None, "", filled(key))
        body = refuse(request, ErrorCode.NOT_COORDINATOR)
        sent = encode_response(key, version, 1, body)
        assert int(ErrorCode.NOT_COORDINATOR).to_bytes(2, "big") in sent, version


def filled(key: ApiKey) -> Struct:
    """Return a request with one group, or one partition."""
    of = request_definition(key)
    body = of.new()
    if key in (ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT):
        name = "OffsetCommitRequest" if key == ApiKey.OFFSET_COMMIT else "TxnOffsetCommitRequest"
        row = of.struct(f"{name}Partition", partition_index=0, committed_offset=1)
        body.topics = [of.struct(f"{name}Topic", name="t", partitions=[row])]
    elif key == ApiKey.OFFSET_FETCH:
        body.groups = [of.struct("OffsetFetchRequestGroup", group_id="g", topics=None)]
        body.topics = [of.struct("OffsetFetchRequestTopic", name="t", partition_indexes=[0])]
    elif key == ApiKey.DESCRIBE_GROUPS:
        body.groups = ["g"]
    elif key == ApiKey.DELETE_GROUPS:
        body.groups_names = ["g"]
    elif key == ApiKey.CONSUMER_GROUP_DESCRIBE:
        body.group_ids = ["g"]
    return body
