"""DeleteTopics and CreatePartitions: what goes, what grows."""

from __future__ import annotations

import uuid

from conformance.case import case, expect, expect_that
from conformance.target.variants import STRICT
from conformance.wire import Wire, batch, eventually, part
from reference_impl.wire import ErrorCode, Struct

BY_NAME = (1, 5)
UNKNOWN, UNKNOWN_ID = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID


def delete(wire: Wire, version: int, *names: str) -> list[Struct]:
    """Delete topics; return the results, by name in any version."""
    states = [part("DeleteTopics", "DeleteTopicState", name=name) for name in names]
    answer = wire.call(
        "DeleteTopics", version, topic_names=list(names), topics=states, timeout_ms=20_000
    )
    return list(answer.responses)


@case("ADMIN-20", "DeleteTopics", spec="KIP-4; class ControllerApis")
def test_a_deleted_topic_is_gone_for_everybody(wire: Wire, version: int) -> None:
    """DeleteTopics answers NONE; soon Metadata answers UNKNOWN_TOPIC_OR_PARTITION (3), and Produce
    and Fetch that or UNKNOWN_TOPIC_ID (100)."""
    topic = wire.create_topic()
    wire.produce(topic, batch(b"a").encode())
    expect(delete(wire, version, topic.name)[0].error_code, ErrorCode.NONE, "error")
    eventually(
        lambda: wire.topic_metadata(topic.name).error_code,
        lambda e: e == UNKNOWN,
        "Metadata says UNKNOWN_TOPIC_OR_PARTITION",
    )
    gone = {UNKNOWN, ErrorCode.UNKNOWN_TOPIC_ID}
    expect(wire.produce(topic, batch(b"b").encode()).error_code, gone, "produce error")
    expect(wire.fetch(topic, 0).error_code, gone, "fetch error")


@case("ADMIN-21", "DeleteTopics", spec="class ControllerApis, deleteTopics")
def test_an_unknown_topic_cannot_be_deleted(wire: Wire, version: int) -> None:
    """A name that does not exist gets UNKNOWN_TOPIC_OR_PARTITION (3); the other topics of the
    request are deleted."""
    topic, missing = wire.create_topic(), wire.new_name("missing")
    errors = {r.name: r.error_code for r in delete(wire, version, missing, topic.name)}
    expect(errors, {missing: int(UNKNOWN), topic.name: 0}, "errors")


@case("ADMIN-22", "DeleteTopics", versions=(6, 6), spec="KIP-516, DeleteTopics", priority="P1")
def test_a_topic_may_be_deleted_by_id(wire: Wire, version: int) -> None:
    """From v6 on a topic can be deleted by its id, and the answer has its name; an unknown id gets
    UNKNOWN_TOPIC_ID (100), and no name."""
    topic, nobody = wire.create_topic(), uuid.uuid4()
    states = [
        part("DeleteTopics", "DeleteTopicState", name=None, topic_id=i) for i in (topic.id, nobody)
    ]
    answer = wire.call("DeleteTopics", version, topics=states, timeout_ms=20_000)
    found = {r.topic_id: (r.name, r.error_code) for r in answer.responses}
    expect(
        found,
        {topic.id: (topic.name, 0), nobody: (None, int(ErrorCode.UNKNOWN_TOPIC_ID))},
        "(name, error) by id",
    )
    eventually(
        lambda: wire.topic_metadata(topic.name).error_code,
        lambda e: e == UNKNOWN,
        "Metadata says UNKNOWN_TOPIC_OR_PARTITION",
    )


@case(
    "ADMIN-23", "DeleteTopics", versions=(6, 6), spec="ControllerApis.deleteTopics", priority="P1"
)
def test_name_and_id_together_are_refused(wire: Wire, version: int) -> None:
    """A topic given by both name and id gets INVALID_REQUEST (42) and stays; so does a row with
    neither of them."""
    topic = wire.create_topic()
    both = part("DeleteTopics", "DeleteTopicState", name=topic.name, topic_id=topic.id)
    neither = part("DeleteTopics", "DeleteTopicState", name=None)
    for row, what in ((both, "both"), (neither, "neither")):
        answer = wire.call("DeleteTopics", version, topics=[row], timeout_ms=20_000)
        errors = [r.error_code for r in answer.responses]
        expect(errors, [ErrorCode.INVALID_REQUEST], f"errors of {what}")
    expect(wire.topic_metadata(topic.name).error_code, ErrorCode.NONE, "Metadata afterwards")


@case("ADMIN-23", "DeleteTopics", spec="ControllerApis.deleteTopics", priority="P1")
def test_a_name_twice_in_a_request_is_refused(wire: Wire, version: int) -> None:
    """A topic named twice in one request gets INVALID_REQUEST (42) and stays; another one goes."""
    topic, other = wire.create_topic(), wire.create_topic()
    rows = delete(wire, version, topic.name, other.name, topic.name)
    found = sorted({(r.name, r.error_code) for r in rows})
    expected = sorted([(topic.name, int(ErrorCode.INVALID_REQUEST)), (other.name, 0)])
    expect(found, expected, "(name, error)")
    expect(wire.topic_metadata(topic.name).error_code, ErrorCode.NONE, "Metadata afterwards")


@case("ADMIN-25", "DeleteTopics", spec="KIP-516")
def test_a_topic_created_anew_begins_at_zero(wire: Wire, version: int) -> None:
    """A topic deleted and created under the same name has a new id and no records; offsets begin
    at 0. A fetch by the old id (v13+) gets UNKNOWN_TOPIC_ID (100)."""
    topic = wire.create_topic()
    wire.produce(topic, batch(b"old", b"older").encode())
    expect(delete(wire, version, topic.name)[0].error_code, ErrorCode.NONE, "error")
    eventually(
        lambda: wire.topic_metadata(topic.name).error_code,
        lambda e: e == UNKNOWN,
        "Metadata says UNKNOWN_TOPIC_OR_PARTITION",
    )
    again = wire.create_topic(name=topic.name)
    expect_that(again.id != topic.id, "id of the new topic", "another one", again.id)
    expect(wire.values(again), [], "records of the new topic")
    answer = wire.produce(again, batch(b"new").encode())
    expect((answer.error_code, answer.base_offset), (0, 0), "(error, base offset)")
    if wire.advertised["Fetch"][1] >= 13:
        old = wire.fetch(topic, 0)
        expect(
            (old.error_code, old.records or b""), (UNKNOWN_ID, b""), "(error, records) by old id"
        )


def grow(wire: Wire, version: int, name: str, count: int, **options: bool) -> Struct:
    entry = part(
        "CreatePartitions", "CreatePartitionsTopic", name=name, count=count, assignments=None
    )
    answer = wire.call("CreatePartitions", version, topics=[entry], timeout_ms=20_000, **options)
    expect(len(answer.results), 1, "results")
    return answer.results[0]  # type: ignore[no-any-return]


@case("ADMIN-26", "CreatePartitions", spec="KIP-195")
def test_a_topic_grows_and_keeps_its_records(wire: Wire, version: int) -> None:
    """From one partition to three: NONE, Metadata shows three, the records stay."""
    topic = wire.create_topic()
    wire.produce(topic, batch(b"a").encode())
    expect(grow(wire, version, topic.name, 3).error_code, ErrorCode.NONE, "error")
    wire.wait_for_topic(topic.name, 3)
    expect(wire.values(topic), [b"a"], "records of partition 0")


@case("ADMIN-27", "CreatePartitions", spec="ReplicationControlManager.createPartitions")
def test_a_topic_does_not_shrink(wire: Wire, version: int) -> None:
    """As many partitions as there are, or fewer, get INVALID_PARTITIONS (37)."""
    topic = wire.create_topic(partitions=2)
    for count in (2, 1):
        result = grow(wire, version, topic.name, count)
        expect(result.error_code, ErrorCode.INVALID_PARTITIONS, f"error for {count}")


@case(
    "ADMIN-28", "CreatePartitions", spec="ReplicationControlManager.createPartitions", priority="P1"
)
def test_an_unknown_topic_does_not_grow(wire: Wire, version: int) -> None:
    """An unknown topic gets UNKNOWN_TOPIC_OR_PARTITION (3)."""
    expect(grow(wire, version, wire.new_name("missing"), 3).error_code, UNKNOWN, "error")


@case("ADMIN-28", "CreatePartitions", spec="class ControllerApis, createPartitions", priority="P1")
def test_a_topic_named_twice_does_not_grow(wire: Wire, version: int) -> None:
    """A topic named twice in one request gets INVALID_REQUEST (42) and does not grow; another one
    does."""
    topic, other = wire.create_topic(), wire.create_topic()
    entries = [
        part("CreatePartitions", "CreatePartitionsTopic", name=name, count=2, assignments=None)
        for name in (topic.name, other.name, topic.name)
    ]
    answer = wire.call("CreatePartitions", version, topics=entries, timeout_ms=20_000)
    found = sorted({(r.name, r.error_code) for r in answer.results})
    expected = sorted([(topic.name, int(ErrorCode.INVALID_REQUEST)), (other.name, 0)])
    expect(found, expected, "(name, error)")
    wire.wait_for_topic(other.name, 2)
    expect(len(wire.topic_metadata(topic.name).partitions), 1, "partitions afterwards")


@case("ADMIN-30", "CreatePartitions", spec="KIP-195, field ValidateOnly", priority="P1")
def test_validate_only_grows_nothing(wire: Wire, version: int) -> None:
    """validate_only answers as the real request would, NONE or INVALID_PARTITIONS (37), and changes
    nothing."""
    topic = wire.create_topic()
    for count, code in ((3, ErrorCode.NONE), (1, ErrorCode.INVALID_PARTITIONS)):
        result = grow(wire, version, topic.name, count, validate_only=True)
        expect(result.error_code, code, f"error for {count}")
    expect(len(wire.topic_metadata(topic.name).partitions), 1, "partitions afterwards")


@case("ADMIN-24", "DeleteTopics", spec="KIP-322", priority="P1", config=STRICT)
def test_topics_stay_where_deletion_is_disabled(wire: Wire, version: int) -> None:
    """With delete.topic.enable=false the error is TOPIC_DELETION_DISABLED (73), before version 3
    INVALID_REQUEST (42); the topic stays."""
    topic = wire.create_topic()
    expected = ErrorCode.TOPIC_DELETION_DISABLED if version >= 3 else ErrorCode.INVALID_REQUEST
    expect(delete(wire, version, topic.name)[0].error_code, expected, "error")
    expect(wire.topic_metadata(topic.name).error_code, ErrorCode.NONE, "error of Metadata")


@case(
    "ADMIN-31",
    "CreatePartitions",
    spec="CreatePartitionsResponse.json, field Results",
    priority="P1",
)
def test_every_topic_asked_for_has_a_result(wire: Wire, version: int) -> None:
    """The answer has one result per topic of the request, accepted and refused ones alike: NONE,
    INVALID_PARTITIONS (37), UNKNOWN_TOPIC_OR_PARTITION (3)."""
    growing, shrinking = wire.create_topic(), wire.create_topic(partitions=2)
    missing = wire.new_name("missing")
    entries = [
        part("CreatePartitions", "CreatePartitionsTopic", name=name, count=count, assignments=None)
        for name, count in ((growing.name, 2), (shrinking.name, 1), (missing, 2))
    ]
    answer = wire.call("CreatePartitions", version, topics=entries, timeout_ms=20_000)
    errors = {
        growing.name: ErrorCode.NONE,
        shrinking.name: ErrorCode.INVALID_PARTITIONS,
        missing: UNKNOWN,
    }
    expect({r.name: r.error_code for r in answer.results}, errors, "errors")
    expect(len(answer.results), len(entries), "number of results")


@case("ADMIN-34", "CreatePartitions", spec="class ReplicationControlManager", priority="P2")
def test_far_too_many_new_partitions_are_refused(wire: Wire, version: int) -> None:
    """Up to 10,000 new partitions in one request are valid, of one topic or of several; a topic
    that needs more than are left gets UNKNOWN_SERVER_ERROR (-1) or POLICY_VIOLATION (44)."""
    names = wire.create_topic().name, wire.create_topic().name
    refusals = {ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.POLICY_VIOLATION}
    for counts, refused in (
        ((10_000,), 0),
        ((10_001,), 1),
        ((6_000, 4_000), 0),
        ((6_000, 4_001), 1),
    ):
        topics = [
            part(
                "CreatePartitions",
                "CreatePartitionsTopic",
                name=name,
                count=1 + count,
                assignments=None,
            )
            for name, count in zip(names, counts, strict=False)
        ]
        answer = wire.call(
            "CreatePartitions", version, topics=topics, timeout_ms=20_000, validate_only=True
        )
        # A broker may handle the topics in any order.
        found = ["refused" if r.error_code in refusals else r.error_code for r in answer.results]
        expected = ["refused"] * refused + [0] * (len(counts) - refused)
        expect(sorted(found, key=str, reverse=True), expected, f"errors of {counts} new ones")
