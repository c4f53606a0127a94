"""Groups without name, groups whose offsets expire, and groups after a restart."""

from __future__ import annotations

from conformance.case import case, expect, expect_that
from conformance.cases.offsets.offsets import Committed, commit, committed, listed, try_to_commit
from conformance.cases.transactions.offsets import commit_in_transaction
from conformance.clients.members import NOT_YET, Member, subscription
from conformance.clients.transactions import Producer
from conformance.target.examination import Examined
from conformance.target.variants import SHORT_LIVED
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

RETENTION = "KIP-211; class OffsetExpirationConditionImpl"


@case(
    "OFFS-14",
    "OffsetCommit",
    spec="class GroupCoordinatorService, isGroupIdNotEmpty",
    priority="P1",
)
def test_the_empty_group_id_may_commit(wire: Wire, version: int) -> None:
    """The empty string is the name of a group that commits, and reads back, without members."""
    topic = wire.create_topic()
    commit(wire, "", topic, {0: 5}, version)
    expect(committed(wire, "", topic), Committed(5), "committed")


@case("OFFS-15", "OffsetCommit", versions=(2, 4), spec=RETENTION, priority="P1", config=SHORT_LIVED)
def test_offsets_of_an_empty_group_expire(wire: Wire, version: int) -> None:
    """In versions 2 to 4 a commit may set its retention time: after that it is gone, and so is a
    group without members and commits; a commit without a retention time is kept."""
    short, kept, group = wire.create_topic(), wire.create_topic(), wire.new_name("group")
    other = wire.new_name("group")
    commit(wire, group, kept, {0: 6}, version)
    commit(wire, group, short, {0: 5}, version, retention_ms=1)
    commit(wire, other, short, {0: 5}, version, retention_ms=1)
    eventually(
        lambda: committed(wire, group, short).offset,
        lambda offset: offset == -1,
        "the commit expires",
    )
    expect(committed(wire, group, kept).offset, 6, "the other commit")
    newest = wire.version("ListGroups")
    eventually(
        lambda: listed(wire, other, newest),
        lambda found: found is None,
        "the group without commits is gone",
    )
    expect_that(listed(wire, group, newest) is not None, "group with a commit", "listed", None)


@case("OFFS-15", "OffsetCommit", versions=(2, 4), spec=RETENTION, priority="P1", config=SHORT_LIVED)
def test_offsets_of_a_subscribed_topic_are_kept(wire: Wire, version: int) -> None:
    """While a group has members, only commits to topics without a subscribed member expire."""
    subscribed, left, group = wire.create_topic(), wire.create_topic(), wire.new_name("group")
    # A group without commits may be removed between the two requests of a joining member.
    commit(wire, group, subscribed, {0: 4})
    member = Member.stable(wire, group, protocols=[("range", subscription(subscribed.name))])
    for topic in (subscribed, left):
        errors = try_to_commit(
            wire,
            member.group,
            topic,
            {0: 5},
            version,
            retention_ms=1,
            generation=member.generation,
            member_id=member.member_id,
        )
        expect(errors, {0: ErrorCode.NONE}, "errors")
    eventually(
        lambda: committed(wire, member.group, left).offset,
        lambda offset: offset == -1,
        "the commit to a topic without subscription expires",
    )
    expect(committed(wire, member.group, subscribed).offset, 5, "commit to a subscribed topic")
    member.leave()
    eventually(
        lambda: committed(wire, member.group, subscribed).offset,
        lambda o: o == -1,
        "it expires once the group is empty",
    )


@case("OFFS-15", "OffsetCommit", versions=(2, 4), spec=RETENTION, priority="P1", config=SHORT_LIVED)
def test_an_offset_that_a_transaction_may_change_does_not_expire(wire: Wire, version: int) -> None:
    """A commit whose retention time is over stays as long as an open transaction has an offset for
    the same partition, and expires after it."""
    pending, other, group = wire.create_topic(), wire.create_topic(), wire.new_name("group")
    producer = Producer.ready(wire)
    commit(wire, group, other, {0: 1})
    commit_in_transaction(producer, group, pending, 5)
    for topic in (pending, other):
        commit(wire, group, topic, {0: 4}, version, retention_ms=1)
    eventually(
        lambda: committed(wire, group, other).offset,
        lambda offset: offset == -1,
        "the commit without a transaction expires",
    )
    expect(committed(wire, group, pending).offset, 4, "the commit beside a transaction")
    producer.abort()
    eventually(
        lambda: committed(wire, group, pending).offset,
        lambda offset: offset == -1,
        "the commit expires after the transaction",
    )


@case(
    "OFFS-22",
    "ListGroups",
    spec="class GroupCoordinatorService, listGroups",
    priority="P1",
    requires=["restart"],
)
def test_groups_are_listed_after_a_restart(wire: Wire, version: int, examined: Examined) -> None:
    """After a restart ListGroups may say that the coordinator is loading (14) or not there yet (15,
    16); then it has every group again."""
    topic = wire.create_topic()
    groups = {wire.new_name("group") for _ in range(5)}
    for group in groups:
        commit(wire, group, topic, {0: 5})
    examined.kill_and_restart()
    wire.forget_connections()

    def ask() -> bool:
        answers = [broker.call("ListGroups", version) for broker in wire.everywhere()]
        for answer in answers:
            expect(answer.error_code, {ErrorCode.NONE, *NOT_YET}, "ListGroups error")
        return groups <= {found.group_id for answer in answers for found in answer.groups}

    eventually(ask, bool, "every group is listed")


@case("OFFS-15", "OffsetCommit", versions=(2, 4), spec=RETENTION, priority="P1", config=SHORT_LIVED)
def test_offsets_of_members_that_are_no_consumers_are_kept(wire: Wire, version: int) -> None:
    """While a group of another protocol type than consumer has members, none of its commits
    expires: nobody knows their subscriptions."""
    topic = wire.create_topic()
    member = Member.stable(wire, protocol_type="other", protocols=[("any", b"")])
    who = {"generation": member.generation, "member_id": member.member_id}
    errors = try_to_commit(wire, member.group, topic, {0: 5}, version, retention_ms=1, **who)
    expect(errors, {0: ErrorCode.NONE}, "errors")
    for _ in range(2):  # the second expires in a later pass than the first
        empty = wire.new_name("group")
        commit(wire, empty, topic, {0: 5}, version, retention_ms=1)
        eventually(
            lambda group=empty: committed(wire, group, topic).offset,  # type: ignore[misc]
            lambda offset: offset == -1,
            "the commit of a group without members expires",
        )
    expect(committed(wire, member.group, topic), Committed(5), "committed")
