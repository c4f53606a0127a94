"""OffsetCommit and OffsetFetch: where a group is."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from conformance.case import case, expect, expect_that
from conformance.cases.offsets.offsets import (
    NEVER,
    Committed,
    commit,
    committed,
    committed_in,
    fetch_offsets,
    listed,
    position,
    try_to_commit,
)
from conformance.clients.members import Member, beside, group_connection
from conformance.target.examination import Examined
from conformance.target.settings import limit
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import ZERO_UUID, ErrorCode

COMMIT = (2, 10)
NO_ERROR = [ErrorCode.NONE]


@case("OFFS-01", "OffsetCommit", versions=COMMIT, spec="class ClassicGroup, validateOffsetCommit")
def test_a_consumer_without_group_membership_commits(wire: Wire, version: int) -> None:
    """A commit with generation -1 and without a member id is accepted for a group without members;
    the group then exists in state Empty."""
    topic, group = wire.create_topic(), wire.new_name("group")
    commit(wire, group, topic, {0: 5}, version)
    expect(committed(wire, group, topic), Committed(5), "committed")
    found = listed(wire, group, wire.version("ListGroups"))
    expect_that(found is not None, "group listed", group, None)
    expect(getattr(found, "group_state", None), "Empty", "state of the group")


@case("OFFS-02", "OffsetCommit", versions=COMMIT, spec="OffsetCommitRequest.json; KIP-320")
def test_a_commit_is_read_back_exactly(wire: Wire, version: int) -> None:
    """Offset, metadata and (v6+) leader epoch of each partition are read back as committed; a
    later commit replaces an earlier one, also by a lower offset."""
    topic, group = wire.create_topic(3), wire.new_name("group")
    commit(wire, group, topic, {0: 9, 1: 2**40, 2: 0}, version, metadata="é" * 10, leader_epoch=3)
    commit(wire, group, topic, {0: 4}, version, metadata="", leader_epoch=0)
    epochs = (0, 3) if version >= 6 else (-1, -1)
    answer = committed_in(fetch_offsets(wire, group, {topic: [0, 1, 2]}), topic)
    expect(
        answer,
        {
            0: Committed(4, "", epochs[0]),
            1: Committed(2**40, "é" * 10, epochs[1]),
            2: Committed(0, "é" * 10, epochs[1]),
        },
        "committed",
    )


@case(
    "OFFS-02",
    "OffsetFetch",
    spec="OffsetFetchResponse.json, fields Metadata and CommittedLeaderEpoch",
)
def test_each_version_reads_back_a_commit(wire: Wire, version: int) -> None:
    """Every version of OffsetFetch returns offset and metadata, and from v5 the leader epoch."""
    topic, group = wire.create_topic(2), wire.new_name("group")
    commit(wire, group, topic, {0: 7}, metadata="m", leader_epoch=2)
    commit(wire, group, topic, {1: 8}, metadata="", leader_epoch=2)
    epoch = 2 if version >= 5 else -1
    answer = committed_in(fetch_offsets(wire, group, {topic: [0, 1]}, version), topic)
    expect(answer, {0: Committed(7, "m", epoch), 1: Committed(8, "", epoch)}, "committed")


@case("OFFS-03", "OffsetFetch", spec="class OffsetMetadataManager, fetchOffsets")
def test_a_partition_without_commit_has_offset_minus_1(wire: Wire, version: int) -> None:
    """A partition to which the group never committed is answered with offset -1, empty metadata
    and no error."""
    topic, group = wire.create_topic(2), wire.new_name("group")
    commit(wire, group, topic, {0: 7})
    answer = committed_in(fetch_offsets(wire, group, {topic: [1]}, version), topic)
    expect(answer, {1: NEVER}, "committed")


@case("OFFS-04", "OffsetFetch", versions=(2, 10), spec="KIP-88")
def test_all_commits_of_a_group_are_found(wire: Wire, version: int) -> None:
    """With topics null the answer has every partition to which the group committed, no others."""
    first, second, group = wire.create_topic(2), wire.create_topic(2), wire.new_name("group")
    commit(wire, group, first, {0: 1, 1: 2})
    commit(wire, group, second, {1: 3})
    answer = fetch_offsets(wire, group, None, version)
    expect({p: c.offset for p, c in committed_in(answer, first).items()}, {0: 1, 1: 2}, "first")
    expect({p: c.offset for p, c in committed_in(answer, second).items()}, {1: 3}, "second")
    expect(len(answer.topics), 2, "topics in the answer")


@case("OFFS-05", "OffsetFetch", versions=(1, 9), spec="OffsetMetadataManager.fetchOffsets")
def test_an_unknown_group_has_committed_nothing(wire: Wire, version: int) -> None:
    """For a group that does not exist every offset is -1, without error; with topics null (v2+) no
    topic is listed."""
    topic, group = wire.create_topic(), wire.new_name("group")
    answer = fetch_offsets(wire, group, {topic: [0]}, version)
    expect(committed_in(answer, topic)[0].offset, -1, "committed offset")
    if version >= 2:
        expect(fetch_offsets(wire, group, None, version).topics, [], "topics when all are asked")


@case("OFFS-06", "OffsetFetch", versions=(8, 10), spec="KIP-709", priority="P1")
def test_offsets_of_several_groups_are_fetched_at_once(wire: Wire, version: int) -> None:
    """From version 8 a request asks for several groups, and each has its own part of the answer;
    one that committed nothing does not disturb the others."""
    topic = wire.create_topic()
    group = wire.new_name("group")
    groups = [group, beside(wire, group), beside(wire, group)]
    commit(wire, groups[0], topic, {0: 1})
    commit(wire, groups[1], topic, {0: 2})
    wanted = [position(group, {topic: [0]}) for group in groups]
    answer = group_connection(wire, groups[0]).call("OffsetFetch", version, groups=wanted)
    found = {
        g.group_id: (g.error_code, committed_in(g, topic).get(0, NEVER).offset)
        for g in answer.groups
    }
    expect(found, dict(zip(groups, [(0, 1), (0, 2), (0, -1)], strict=True)), "(error, offset)")


@case("OFFS-07", "OffsetCommit", versions=(10, 10), spec="KIP-848; KIP-516", priority="P1")
def test_an_unknown_topic_id_is_refused(wire: Wire, version: int) -> None:
    """Version 10 names topics by id: an unknown one gets UNKNOWN_TOPIC_ID (100) in commit and
    fetch, and the other topic is committed."""
    topic, group = wire.create_topic(), wire.new_name("group")
    stranger = Topic("", UUID(int=0x12345678 << 64), 1)
    expect(
        try_to_commit(wire, group, stranger, {0: 5}, version),
        {0: ErrorCode.UNKNOWN_TOPIC_ID},
        "commit errors",
    )
    commit(wire, group, topic, {0: 5}, version)
    answer = fetch_offsets(wire, group, {stranger: [0], topic: [0]}, version)
    errors = {t.topic_id: [p.error_code for p in t.partitions] for t in answer.topics}
    expect(errors, {stranger.id: [ErrorCode.UNKNOWN_TOPIC_ID], topic.id: NO_ERROR}, "fetch errors")


@case("OFFS-08", "OffsetCommit", versions=COMMIT, spec="class ClassicGroup, validateOffsetCommit")
def test_a_stranger_may_not_commit(wire: Wire, version: int) -> None:
    """A commit with another generation gets ILLEGAL_GENERATION (22), from an unknown member
    UNKNOWN_MEMBER_ID (25), and nothing is committed; the member's own commit is accepted."""
    topic, member = wire.create_topic(), Member.stable(wire)
    one, group = {0: 5}, member.group
    own: dict[str, Any] = {"generation": member.generation, "member_id": member.member_id}
    another = own | {"generation": member.generation + 1}
    stale = try_to_commit(wire, group, topic, one, version, **another)
    stranger = try_to_commit(
        wire, group, topic, one, version, **(own | {"member_id": "never-given"})
    )
    expect(stale, {0: ErrorCode.ILLEGAL_GENERATION}, "errors of another generation")
    expect(stranger, {0: ErrorCode.UNKNOWN_MEMBER_ID}, "errors of an unknown member")
    expect(committed(wire, group, topic).offset, -1, "committed by them")
    expect(
        try_to_commit(wire, group, topic, one, version, **own), {0: 0}, "errors of the member's own"
    )
    expect(committed(wire, group, topic), Committed(5), "committed by the member")


@case("OFFS-08", "OffsetCommit", versions=(7, 10), spec="KIP-345, Static Membership")
def test_a_fenced_instance_may_not_commit(wire: Wire, version: int) -> None:
    """Once an instance has a new member id, a commit with its old one gets
    FENCED_INSTANCE_ID (82)."""
    topic, old = wire.create_topic(), Member.stable(wire, instance_id="one")
    Member.of(wire, old.group, instance_id="one").join()
    errors = try_to_commit(
        wire,
        old.group,
        topic,
        {0: 5},
        version,
        generation=old.generation,
        member_id=old.member_id,
        instance_id="one",
    )
    expect(errors, {0: ErrorCode.FENCED_INSTANCE_ID}, "errors")
    expect(committed(wire, old.group, topic).offset, -1, "committed")


@case("OFFS-09", "OffsetCommit", versions=COMMIT, spec="class ClassicGroup, validateOffsetCommit")
def test_nobody_commits_into_a_group_of_others(wire: Wire, version: int) -> None:
    """A commit without member id and generation to a group that has members gets
    UNKNOWN_MEMBER_ID (25)."""
    topic, member = wire.create_topic(), Member.stable(wire)
    errors = try_to_commit(wire, member.group, topic, {0: 5}, version)
    expect(errors, {0: ErrorCode.UNKNOWN_MEMBER_ID}, "errors")
    expect(committed(wire, member.group, topic).offset, -1, "committed")


@case(
    "OFFS-10",
    "OffsetCommit",
    versions=COMMIT,
    spec="class ClassicGroup, validateOffsetCommit",
    priority="P1",
)
def test_no_commit_before_the_assignments(wire: Wire, version: int) -> None:
    """A member whose generation has no assignments yet gets REBALANCE_IN_PROGRESS (27)."""
    topic, member = wire.create_topic(), Member.of(wire)
    member.join()
    errors = try_to_commit(
        wire,
        member.group,
        topic,
        {0: 5},
        version,
        generation=member.generation,
        member_id=member.member_id,
    )
    expect(errors, {0: ErrorCode.REBALANCE_IN_PROGRESS}, "errors")
    expect(committed(wire, member.group, topic).offset, -1, "committed")


@case(
    "OFFS-11",
    "OffsetCommit",
    versions=COMMIT,
    spec="OffsetMetadataManager, validateOffsetCommit",
    priority="P1",
)
def test_a_generation_of_an_unknown_group_may_not_commit(wire: Wire, version: int) -> None:
    """A commit with a generation to a group that does not exist gets GROUP_ID_NOT_FOUND (69),
    before version 9 ILLEGAL_GENERATION (22)."""
    topic, group = wire.create_topic(), wire.new_name("group")
    code = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
    errors = try_to_commit(wire, group, topic, {0: 5}, version, generation=1, member_id="any")
    expect(errors, {0: code}, "errors")
    expect(committed(wire, group, topic).offset, -1, "committed")


@case("OFFS-12", "OffsetCommit", versions=COMMIT, spec="class KafkaApis, handleOffsetCommitRequest")
def test_an_unknown_partition_is_refused_alone(wire: Wire, version: int) -> None:
    """A partition that does not exist gets UNKNOWN_TOPIC_OR_PARTITION (3); the others in the same
    request are committed."""
    topic, group = wire.create_topic(), wire.new_name("group")
    errors = try_to_commit(wire, group, topic, {0: 5, 77: 6}, version)
    expect(errors, {0: 0, 77: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}, "errors")
    expect(committed(wire, group, topic), Committed(5), "committed")


@case("OFFS-12", "OffsetCommit", versions=(2, 9), spec="KafkaApis, handleOffsetCommitRequest")
def test_an_unknown_topic_is_refused(wire: Wire, version: int) -> None:
    """A topic that does not exist gets UNKNOWN_TOPIC_OR_PARTITION (3), and is not created."""
    group = wire.new_name("group")
    stranger = Topic(wire.new_name(), ZERO_UUID, 1)
    expect(
        try_to_commit(wire, group, stranger, {0: 5}, version),
        {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
        "errors",
    )
    expect(
        wire.topic_metadata(stranger.name).error_code,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "Metadata error of the topic",
    )


@case("OFFS-13", "OffsetCommit", versions=COMMIT, spec="offset.metadata.max.bytes", priority="P1")
def test_metadata_is_limited(wire: Wire, version: int) -> None:
    """Metadata as long as offset.metadata.max.bytes are kept; one byte more gets
    OFFSET_METADATA_TOO_LARGE (12). Kafka counts characters, not bytes."""
    topic, group = wire.create_topic(), wire.new_name("group")
    most = limit(wire, "offset.metadata.max.bytes", 4096)
    expect(
        try_to_commit(wire, group, topic, {0: 5}, version, metadata="m" * most), {0: 0}, "errors"
    )
    expect(
        try_to_commit(wire, group, topic, {0: 6}, version, metadata="m" * (most + 1)),
        {0: ErrorCode.OFFSET_METADATA_TOO_LARGE},
        "errors of one byte more",
    )
    expect(committed(wire, group, topic), Committed(5, "m" * most), "committed")
    errors = try_to_commit(wire, group, topic, {0: 7}, version, metadata="\u00fc" * most)
    expect(errors, {0: 0}, "errors of as many characters of two bytes")


@case(
    "OFFS-16", "OffsetFetch", spec="class OffsetMetadataManager, onPartitionsDeleted", priority="P1"
)
def test_commits_vanish_with_their_topic(wire: Wire, version: int) -> None:
    """When a topic is deleted and created again, the offsets committed for the old one are gone."""
    topic, group = wire.create_topic(), wire.new_name("group")
    commit(wire, group, topic, {0: 5})
    wire.delete_topic(topic)
    topic = wire.create_topic(name=topic.name)
    eventually(
        lambda: committed_in(fetch_offsets(wire, group, {topic: [0]}, version), topic),
        lambda found: found[0].offset == -1,
        "the commit is gone",
    )


@case("OFFS-17", "OffsetFetch", spec="class OffsetMetadataManager, replay", requires=["restart"])
def test_commits_survive_a_restart(wire: Wire, version: int, examined: Examined) -> None:
    """After kill -9 and restart the same offset, metadata and leader epoch are read."""
    topic, group = wire.create_topic(), wire.new_name("group")
    commit(wire, group, topic, {0: 5}, metadata="first", leader_epoch=0)
    commit(wire, group, topic, {0: 6}, metadata="last", leader_epoch=0)
    examined.kill_and_restart()
    wire.forget_connections()
    wire.wait_for_topic(topic.name, 1)
    expected = {0: Committed(6, "last", 0 if version >= 5 else -1)}

    def read() -> dict[int, Committed]:
        return committed_in(fetch_offsets(wire, group, {topic: [0]}, version), topic)

    # Replicas that all died at once must find out again how far they had agreed, and Apache Kafka
    # 4.3.1 answers from before until then (README, Where Apache Kafka contradicts). A lone one
    # has nobody to ask.
    if len(wire.brokers()) > 1:
        eventually(read, lambda found: found == expected, "committed offsets are read again")
    expect(read(), expected, "committed")


@case(
    "OFFS-10",
    "OffsetCommit",
    versions=COMMIT,
    spec="class ClassicGroup, validateOffsetCommit",
    priority="P1",
)
def test_an_unknown_member_is_told_so_before_its_generation(wire: Wire, version: int) -> None:
    """A commit of an unknown member in a wrong generation gets UNKNOWN_MEMBER_ID (25)."""
    topic, member = wire.create_topic(), Member.stable(wire)
    errors = try_to_commit(
        wire,
        member.group,
        topic,
        {0: 5},
        version,
        generation=member.generation + 5,
        member_id="never-given",
    )
    expect(errors, {0: ErrorCode.UNKNOWN_MEMBER_ID}, "errors")
