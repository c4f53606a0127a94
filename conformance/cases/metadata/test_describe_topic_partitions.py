"""DescribeTopicPartitions: topics in pages (KIP-966)."""

from __future__ import annotations

from conformance.case import case, each, expect, expect_that
from conformance.target.variants import SMALL_FETCHES
from conformance.wire import Wire, part
from reference_impl.wire import ErrorCode, Struct

SPEC = "KIP-966, DescribeTopicPartitions"
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def describe(
    wire: Wire, version: int, names: list[str], *, limit: int = 2000, cursor: Struct | None = None
) -> Struct:
    """Return a page of these topics; `cursor` is what the page before ended with."""
    if cursor is not None:
        cursor = part(
            "DescribeTopicPartitions",
            "Cursor",
            topic_name=cursor.topic_name,
            partition_index=cursor.partition_index,
        )
    return wire.call(
        "DescribeTopicPartitions",
        version,
        topics=[part("DescribeTopicPartitions", "TopicRequest", name=name) for name in names],
        response_partition_limit=limit,
        cursor=cursor,
    )


@case("META-25", "DescribeTopicPartitions", spec=SPEC, priority="P1")
def test_an_unknown_topic_is_refused_beside_the_others(wire: Wire, version: int) -> None:
    """A topic that does not exist gets UNKNOWN_TOPIC_OR_PARTITION (3) and has no partitions; one
    that exists is described in the same answer, as Metadata describes it."""
    topic, missing = wire.create_topic(partitions=2), wire.new_name("missing")
    answer = describe(wire, version, [missing, topic.name])
    found = {t.name: t for t in answer.topics}
    expect(sorted(found), sorted([missing, topic.name]), "topics")
    expect(
        (found[missing].error_code, found[missing].partitions),
        (UNKNOWN, []),
        "(error, partitions) of the missing one",
    )
    described = found[topic.name]
    expect(
        (described.error_code, described.topic_id, described.is_internal),
        (0, topic.id, False),
        "(error, id, internal)",
    )
    names = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",
    )
    told, expected = (
        [
            tuple(getattr(p, name) for name in names)
            for p in sorted(found, key=lambda p: int(p.partition_index))
        ]
        for found in (described.partitions, wire.topic_metadata(topic.name).partitions)
    )
    expect(told, expected, f"({', '.join(names)})")
    expect(answer.next_cursor, None, "cursor behind the last page")


@case("META-26", "DescribeTopicPartitions", spec=SPEC, priority="P1")
def test_pages_follow_each_other_without_gaps(wire: Wire, version: int) -> None:
    """With room for one partition in a page, a cursor names the next partition; following it shows
    every partition of every topic once, in the order of names and numbers."""
    topics = [wire.create_topic(partitions=3), wire.create_topic(partitions=2)]
    names = sorted(topic.name for topic in topics)
    wanted = [
        (t.name, p) for t in sorted(topics, key=lambda t: t.name) for p in range(t.partitions)
    ]
    seen: list[tuple[str, int]] = []
    cursor = None
    for _ in wanted:
        page = describe(wire, version, names, limit=1, cursor=cursor)
        found = [(t.name, p.partition_index) for t in page.topics for p in t.partitions]
        expect_that(len(found) <= 1, "partitions in a page", "at most 1", found)
        seen += found
        cursor = page.next_cursor
        if cursor is None:
            break
        expect((cursor.topic_name, cursor.partition_index), wanted[len(seen)], "cursor")
    expect(seen, wanted, "(topic, partition) of all pages")
    expect(cursor, None, "cursor behind the last page")


@case("META-27", "DescribeTopicPartitions", spec=SPEC, priority="P2")
def test_topics_come_sorted_by_name(wire: Wire, version: int) -> None:
    """Topics come in the order of their names, whatever the order of the request, each once; the
    lists of eligible leader replicas are there, or null."""
    names = sorted(wire.create_topic().name for _ in range(3))
    answer = describe(wire, version, [names[2], names[0], names[1], names[0]])
    expect([t.name for t in answer.topics], names, "topics")
    for topic in each(answer.topics, "topics"):
        for found in each(topic.partitions, "partitions"):
            replicas = {*(found.eligible_leader_replicas or []), *(found.last_known_elr or [])}
            expect_that(
                replicas <= set(found.replica_nodes),
                "eligible leaders",
                f"among {found.replica_nodes}",
                replicas,
            )


@case(
    "META-28",
    "DescribeTopicPartitions",
    spec="class DescribeTopicPartitionsRequestHandler",
    priority="P2",
)
def test_a_cursor_beside_the_topics_is_refused(wire: Wire, version: int) -> None:
    """A cursor with a negative partition, or with a topic that was not requested, gets
    INVALID_REQUEST (42) for each topic; a limit below 1 counts as 1."""
    topic = wire.create_topic(partitions=2)
    other = wire.new_name("other")
    for name, index in ((topic.name, -1), (other, 0)):
        cursor = part("DescribeTopicPartitions", "Cursor", topic_name=name, partition_index=index)
        answer = describe(wire, version, [topic.name], cursor=cursor)
        found = [(t.error_code, t.partitions) for t in answer.topics]
        expect(found, [(ErrorCode.INVALID_REQUEST, [])], f"(error, partitions) of {(name, index)}")
    for limit in (0, -1):
        page = describe(wire, version, [topic.name], limit=limit)
        expect(
            [p.partition_index for t in page.topics for p in t.partitions],
            [0],
            f"partitions within a limit of {limit}",
        )


@case(
    "META-28",
    "DescribeTopicPartitions",
    spec="KIP-966, max.request.partition.size.limit",
    priority="P2",
    config=SMALL_FETCHES,
)
def test_a_broker_limits_what_one_page_has(wire: Wire, version: int) -> None:
    """However many partitions a request wants in a page, it has no more than the broker's
    max.request.partition.size.limit, and a cursor names the first one that did not fit."""
    most = int(SMALL_FETCHES["max.request.partition.size.limit"])
    topic = wire.create_topic(partitions=most + 1)
    page = describe(wire, version, [topic.name], limit=most + 100)
    found = [p.partition_index for t in page.topics for p in t.partitions]
    expect(found, list(range(most)), "partitions of the first page")
    cursor = page.next_cursor
    told = None if cursor is None else (cursor.topic_name, cursor.partition_index)
    expect(told, (topic.name, most), "cursor")
    rest = describe(wire, version, [topic.name], limit=most + 100, cursor=cursor)
    expect([p.partition_index for t in rest.topics for p in t.partitions], [most], "the rest")
