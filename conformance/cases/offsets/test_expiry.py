"""Groups without name, groups whose offsets expire, and groups after a restart."""

from __future__ import annotations

from conformance.case import case, expect, expect_that
from conformance.cases.offsets.offsets import Committed, commit, committed, listed, try_to_commit
from conformance.clients.members import NOT_YET, Member, subscription
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
