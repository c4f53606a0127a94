"""The offsets of share groups: told, set and deleted (KIP-932; their lag KIP-1226)."""

from __future__ import annotations

from conformance.case import case, each, expect
from conformance.cases.share_groups.test_records import topic_with
from conformance.clients.share_members import LEAVE, Ack, Acquired, ShareMember, acknowledged
from conformance.wire import Topic, Wire, eventually, part
from reference_impl.wire import ErrorCode, Struct

SPEC = "KIP-932, DescribeShareGroupOffsets, AlterShareGroupOffsets, DeleteShareGroupOffsets API"
NONE_YET = -1


def told(
    member: ShareMember, version: int | None = None, *, everything: bool = False
) -> dict[str, tuple[int, int]]:
    """Return (start offset, lag) of partition 0 of each topic, as the coordinator tells."""
    api = "DescribeShareGroupOffsets"
    topics = [
        part(api, "DescribeShareGroupOffsetsRequestTopic", topic_name=topic.name, partitions=[0])
        for topic in member.topics
    ]
    group = part(
        api,
        "DescribeShareGroupOffsetsRequestGroup",
        group_id=member.group,
        topics=None if everything else topics,
    )
    version = member.wire.version(api) if version is None else version
    answer = member.connection.call(api, version, groups=[group])
    expect([g.group_id for g in answer.groups], [member.group], "groups")
    expect(answer.groups[0].error_code, ErrorCode.NONE, "error of the group")
    found = {}
    for topic in each(answer.groups[0].topics, "topics"):
        row = each(topic.partitions, "partitions")[0]
        expect((row.partition_index, row.error_code), (0, ErrorCode.NONE), "(partition, error)")
        found[topic.topic_name] = (row.start_offset, row.lag)
    return found


def try_to_alter(member: ShareMember, topic: Topic, offset: int, partition: int = 0) -> Struct:
    """Send AlterShareGroupOffsets for one partition."""
    api = "AlterShareGroupOffsets"
    row = part(
        api,
        "AlterShareGroupOffsetsRequestPartition",
        partition_index=partition,
        start_offset=offset,
    )
    entry = part(api, "AlterShareGroupOffsetsRequestTopic", topic_name=topic.name, partitions=[row])
    version = member.wire.version(api)
    return member.connection.call(api, version, group_id=member.group, topics=[entry])


def try_to_delete(member: ShareMember, topic: Topic) -> Struct:
    """Send DeleteShareGroupOffsets for one topic."""
    api = "DeleteShareGroupOffsets"
    entry = part(api, "DeleteShareGroupOffsetsRequestTopic", topic_name=topic.name)
    version = member.wire.version(api)
    return member.connection.call(api, version, group_id=member.group, topics=[entry])


def left_behind(member: ShareMember) -> None:
    """End the member's session, with its connection, and its membership."""
    # Apache Kafka 4.3.1 forgets what its leader knows of a group only with the last connection.
    member.reconnect()
    answer = member.try_to_beat(member_epoch=LEAVE)
    expect(answer.error_code, ErrorCode.NONE, "error of leaving")


@case("SHARE-19", "DescribeShareGroupOffsets", spec=SPEC, priority="P1")
def test_the_start_offset_of_a_share_group_is_told(wire: Wire, version: int) -> None:
    """A partition of which nothing was acknowledged has start offset -1; once all its records are
    accepted, and the group has read on, its lag is 0 (from v1 on; before, -1). Topics null means
    all topics of the group."""
    topic = topic_with(wire, (b"a", b"b"))
    member = ShareMember.ready(wire, topic)
    expect(told(member, version), {topic.name: (NONE_YET, NONE_YET)}, "(start, lag) at first")
    member.acquire()
    member.acknowledge(acknowledged(0, 1, Ack.ACCEPT))
    lag = 0 if version >= 1 else NONE_YET
    for everything in (False, True):
        eventually(
            lambda everything=everything: told(member, version, everything=everything),  # type: ignore[misc]
            lambda found: found == {topic.name: (found[topic.name][0], lag)},
            f"the lag becomes {lag}",
        )


@case("SHARE-19", "AlterShareGroupOffsets", spec=SPEC, priority="P1")
def test_the_offsets_of_an_empty_share_group_are_set(wire: Wire) -> None:
    """AlterShareGroupOffsets of a group with members gets NON_EMPTY_GROUP (68); of an empty one it
    decides where the group reads on. A partition that does not exist gets
    UNKNOWN_TOPIC_OR_PARTITION (3)."""
    topic = topic_with(wire, (b"a", b"b", b"c", b"d"))
    member = ShareMember.ready(wire, topic)
    member.acquire()
    member.acknowledge(acknowledged(0, 3, Ack.ACCEPT))
    expect(try_to_alter(member, topic, 2).error_code, ErrorCode.NON_EMPTY_GROUP, "error")
    left_behind(member)
    answer = try_to_alter(member, topic, 2)
    expect(answer.error_code, ErrorCode.NONE, "error of an empty group")
    expect(answer.responses[0].partitions[0].error_code, ErrorCode.NONE, "partition's error")
    strange = try_to_alter(member, topic, 2, partition=7).responses[0].partitions[0]
    expect(strange.error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error of partition 7")
    expect(told(member)[topic.name][0], 2, "start offset")
    again = member.partner()
    expect(again.acquire(), [Acquired(2, 3, 1)], "records acquired from there on")


@case("SHARE-19", "DeleteShareGroupOffsets", spec=SPEC, priority="P1")
def test_the_offsets_of_an_empty_share_group_are_deleted(wire: Wire) -> None:
    """DeleteShareGroupOffsets of a group with members gets NON_EMPTY_GROUP (68), of one that nobody
    knows GROUP_ID_NOT_FOUND (69); after that of an empty one the group starts over."""
    topic = topic_with(wire, (b"a", b"b"))
    member = ShareMember.ready(wire, topic)
    member.acquire()
    member.acknowledge(acknowledged(0, 1, Ack.ACCEPT))
    expect(try_to_delete(member, topic).error_code, ErrorCode.NON_EMPTY_GROUP, "error")
    left_behind(member)
    answer = try_to_delete(member, topic)
    expect(answer.error_code, ErrorCode.NONE, "error of an empty group")
    expect([t.error_code for t in answer.responses], [ErrorCode.NONE], "error of the topic")
    again = member.partner()
    expect(again.acquire(), [Acquired(0, 1, 1)], "records acquired again")
    stranger = ShareMember.of(wire, topic)
    answer = try_to_delete(stranger, topic)
    expect(answer.error_code, ErrorCode.GROUP_ID_NOT_FOUND, "error of an unknown group")
