"""Administrative requests whose time is over when they come."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.admin.test_create_topics import creatable
from conformance.wire import Wire, part
from reference_impl.wire import ErrorCode

SPEC = "field TimeoutMs of the request; class KafkaEventQueue: deadlines"
TOO_LATE = ErrorCode.REQUEST_TIMED_OUT


@case("ADMIN-33", "CreateTopics", versions=(2, 7), spec=SPEC, priority="P2")
def test_without_time_no_topic_is_created(wire: Wire, version: int) -> None:
    """CreateTopics with timeout_ms 0 or below gets REQUEST_TIMED_OUT (7) for each topic, and none
    is created."""
    for timeout_ms in (0, -1):
        names = [wire.new_name() for _ in range(2)]
        topics = [creatable(name) for name in names]
        answer = wire.call("CreateTopics", version, topics=topics, timeout_ms=timeout_ms)
        found = {row.name: row.error_code for row in answer.topics}
        expect(found, dict.fromkeys(names, TOO_LATE), f"errors within {timeout_ms} ms")
    wire.create_topic()  # by then one that was created in the background would be there, too
    for name in names:
        error = wire.topic_metadata(name).error_code
        expect(error, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Metadata afterwards")


@case("ADMIN-33", "CreatePartitions", spec=SPEC, priority="P2")
def test_without_time_no_topic_grows(wire: Wire, version: int) -> None:
    """CreatePartitions with timeout_ms 0 gets REQUEST_TIMED_OUT (7), and the topic does not
    grow."""
    topic = wire.create_topic()
    entry = part(
        "CreatePartitions", "CreatePartitionsTopic", name=topic.name, count=2, assignments=None
    )
    answer = wire.call("CreatePartitions", version, topics=[entry], timeout_ms=0)
    expect([row.error_code for row in answer.results], [TOO_LATE], "errors")
    wire.create_topic()
    expect(len(wire.topic_metadata(topic.name).partitions), 1, "partitions afterwards")


@case("ADMIN-33", "DeleteTopics", spec=SPEC, priority="P2")
def test_without_time_no_topic_is_deleted(wire: Wire, version: int) -> None:
    """DeleteTopics with timeout_ms 0 gets REQUEST_TIMED_OUT (7), and the topic stays."""
    topic = wire.create_topic()
    answer = wire.call(
        "DeleteTopics",
        version,
        topic_names=[topic.name],
        topics=[part("DeleteTopics", "DeleteTopicState", name=topic.name)],
        timeout_ms=0,
    )
    expect([row.error_code for row in answer.responses], [TOO_LATE], "errors")
    wire.create_topic()
    expect(wire.topic_metadata(topic.name).error_code, ErrorCode.NONE, "Metadata afterwards")
