"""A topic that is deleted while a consumer waits for its records."""

from __future__ import annotations

import time

from conformance.case import case, each, expect, expect_that
from conformance.wire import Wire, batch, part
from reference_impl.wire import ErrorCode

WAIT_MS = 20_000
GONE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
)


@case("ADMIN-32", "DeleteTopics", spec="class ReplicaManager, stopPartitions", priority="P2")
def test_a_fetch_that_waits_ends_with_its_topic(wire: Wire) -> None:
    """A Fetch that waits for records of a topic that is deleted is answered at once, with
    UNKNOWN_TOPIC_OR_PARTITION (3), UNKNOWN_TOPIC_ID (100) or NOT_LEADER_OR_FOLLOWER (6) and without
    records, and so is each later one. A topic that gets the same name has none of the records."""
    topic = wire.create_topic()
    wire.produce(topic, batch(b"old").encode())
    waiting, version = wire.connect_to_leader(topic), wire.version("Fetch")
    later = wire.connect_to_leader(topic)
    body = wire.fetch_request(topic, 1, max_wait_ms=WAIT_MS, min_bytes=1)
    waiting.send("Fetch", version, body)
    began = time.monotonic()
    wire.delete_topic(topic)
    _, answer = waiting.receive("Fetch", version)
    took_s = time.monotonic() - began
    rows = [row for t in answer.responses for row in t.partitions]
    for row in each(rows):
        expect(row.error_code, GONE, "error of the Fetch that waited")
        expect(bytes(row.records or b""), b"", "its records")
    expect_that(took_s < WAIT_MS / 2000, "seconds until it is answered", WAIT_MS / 2000, took_s)
    after = later.call("Fetch", version, wire.fetch_request(topic, 0))
    expect(after.responses[0].partitions[0].error_code, GONE, "error of a later Fetch")
    again = wire.create_topic(name=topic.name)
    expect(wire.values(again), [], "records of the new topic of the same name")
    state = part("DeleteTopics", "DeleteTopicState", name=topic.name)
    wire.at_end(lambda: wire.call("DeleteTopics", topics=[state], timeout_ms=10_000))
