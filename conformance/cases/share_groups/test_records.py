"""Records of a share group: who acquires them, how often, and what becomes of them (KIP-932)."""

from __future__ import annotations

import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.cluster.test_other_brokers import another_broker
from conformance.clients.share_members import Ack, Acquired, ShareMember, ack, acknowledged, send
from conformance.clients.transactions import Producer, wait_until_ended
from conformance.target.examination import Examined
from conformance.target.restarts import restarting
from conformance.target.variants import SHARED_SHORTLY
from conformance.wire import Topic, Wire, eventually, part
from reference_impl.wire import ErrorCode

ACQUIRING = "KIP-932, Fetching and acknowledging records; class SharePartition, acquire"
DELIVERIES_MAX = 5
"""group.share.delivery.count.limit, by default."""


def topic_with(wire: Wire, *batches: tuple[bytes, ...]) -> Topic:
    """Return a topic of one partition with a batch of records for each of these."""
    topic = wire.create_topic()
    for values in batches:
        send(wire, topic, *values)
    return topic


@case("SHARE-04", "ShareFetch", spec=ACQUIRING, priority="P1")
def test_what_is_fetched_is_acquired(wire: Wire, version: int) -> None:
    """ShareFetch with epoch 0 opens a session: the member gets the records, has acquired all of
    them with delivery count 1, and the answer has the duration of the locks."""
    topic = topic_with(wire, (b"a", b"b", b"c"))
    member = ShareMember.ready(wire, topic, version=version)
    lock_ms = member.try_to_fetch(max_wait_ms=0).acquisition_lock_timeout_ms
    expect_that(lock_ms > 0, "time of the lock", "> 0 ms", lock_ms)
    member.reconnect()
    found = member.acquire_values()
    expect(found.values, {0: b"a", 1: b"b", 2: b"c"}, "records by offset")
    expect([(run.first, run.last) for run in found.runs], [(0, 2)], "records acquired")


@case("SHARE-05", "ShareFetch", spec="KIP-932, share.auto.offset.reset", priority="P1")
def test_a_share_group_begins_at_the_end_unless_told_otherwise(wire: Wire, version: int) -> None:
    """A group without share.auto.offset.reset begins at the end of a partition, and one with
    "earliest" at its beginning."""
    topic = topic_with(wire, (b"old",))
    late = ShareMember.ready(wire, topic, reset=None, version=version)
    late.acquires_nothing()
    send(wire, topic, b"new")
    expect(late.acquire(), [Acquired(1, 1, 1)], "records acquired from the end on")
    early = ShareMember.ready(wire, topic, version=version)
    expect(early.acquire_values().values, {0: b"old", 1: b"new"}, "records from the beginning")


@case("SHARE-06", "ShareFetch", spec=ACQUIRING, priority="P1")
def test_no_record_is_acquired_twice(wire: Wire, version: int) -> None:
    """A second member gets only records that the first one has not acquired."""
    topic = topic_with(wire, (b"a", b"b"))
    first = ShareMember.ready(wire, topic, version=version)
    expect(first.acquire(), [Acquired(0, 1, 1)], "records of the first")
    second = first.partner()
    second.acquires_nothing()
    send(wire, topic, b"c")
    expect(second.acquire(), [Acquired(2, 2, 1)], "records of the second")
    first.acquires_nothing()


@pytest.mark.parametrize("with_fetch", [False, True], ids=["ShareAcknowledge", "ShareFetch"])
@case("SHARE-07", "ShareAcknowledge", spec=ACQUIRING, priority="P1")
def test_only_released_records_come_again(wire: Wire, version: int, with_fetch: bool) -> None:
    """Of records accepted, released and rejected only the released one is delivered again, with
    delivery count 2; acknowledgements may come with ShareFetch, too."""
    topic = topic_with(wire, (b"a", b"b", b"c"))
    member = ShareMember.ready(wire, topic, version=version)
    expect(member.acquire(), [Acquired(0, 2, 1)], "records acquired")
    kinds = (Ack.ACCEPT, Ack.RELEASE, Ack.REJECT)
    if with_fetch:
        found = member.fetch(acks=[ack("ShareFetch", 0, 2, *kinds)])
        expect(found.errors, [ErrorCode.NONE], "error of the acknowledgement")
        runs = found.runs or member.acquire()
    else:
        member.acknowledge(acknowledged(0, 2, *kinds))
        runs = member.acquire()
    expect(runs, [Acquired(1, 1, 2)], "records delivered again")
    member.acknowledge(acknowledged(1, 1, Ack.ACCEPT))
    member.acquires_nothing()


@case("SHARE-08", "ShareAcknowledge", spec=ACQUIRING, priority="P1")
def test_a_record_of_another_member_cannot_be_acknowledged(wire: Wire, version: int) -> None:
    """Acknowledging what another member has acquired gets INVALID_RECORD_STATE (121), and the other
    one may still accept it."""
    topic = topic_with(wire, (b"a",))
    owner = ShareMember.ready(wire, topic, version=version)
    owner.acquire()
    other = owner.partner()
    other.acquires_nothing()
    other.acknowledge(acknowledged(0, 0, Ack.RELEASE), error=ErrorCode.INVALID_RECORD_STATE)
    other.acquires_nothing()
    owner.acknowledge(acknowledged(0, 0, Ack.ACCEPT))


@case("SHARE-09", "ShareAcknowledge", spec=ACQUIRING, priority="P1", config=SHARED_SHORTLY)
def test_a_lock_that_ends_gives_the_record_away(wire: Wire, version: int) -> None:
    """If a record is not acknowledged before its lock expires, it is delivered again, with delivery
    count 2; the first receiver cannot acknowledge it any more (INVALID_RECORD_STATE, 121)."""
    topic = topic_with(wire, (b"a",))
    first = ShareMember.ready(wire, topic, version=version)
    expect(first.acquire(), [Acquired(0, 0, 1)], "records acquired")
    second = first.partner()
    expect(second.acquire(), [Acquired(0, 0, 2)], "records acquired after the lock")
    first.acknowledge(acknowledged(0, 0, Ack.ACCEPT), error=ErrorCode.INVALID_RECORD_STATE)


@case("SHARE-10", "ShareFetch", spec="KIP-932, group.share.delivery.count.limit", priority="P1")
def test_a_record_is_delivered_so_often_and_not_again(wire: Wire, version: int) -> None:
    """A record that is released each time is delivered up to the limit (5 times by default), with
    growing delivery counts, and then never again; the next record is still delivered."""
    topic = topic_with(wire, (b"a",))
    member = ShareMember.ready(wire, topic, version=version)
    for delivery in range(1, DELIVERIES_MAX + 1):
        expect(member.acquire(), [Acquired(0, 0, delivery)], "records acquired")
        member.acknowledge(acknowledged(0, 0, Ack.RELEASE))
    member.acquires_nothing()
    send(wire, topic, b"b")
    expect(member.acquire(), [Acquired(1, 1, 1)], "records acquired afterwards")


@case("SHARE-16", "ShareFetch", spec="KIP-932, ShareFetch API; KIP-1206", priority="P1")
def test_a_member_acquires_whole_batches_up_to_max_records(wire: Wire, version: int) -> None:
    """Whole record batches are acquired until there are max_records, and the last of them with all
    its records; no run is longer than batch_size, unless one record batch is."""
    topic = topic_with(wire, *[(b"1", b"2", b"3")] * 6)
    member = ShareMember.ready(wire, topic, version=version)
    runs = [
        [(run.first, run.last) for run in member.acquire(max_records=most, batch_size=size)]
        for most, size in ((1, 100), (4, 100), (9, 3))
    ]
    expect(runs, [[(0, 2)], [(3, 8)], [(9, 11), (12, 14), (15, 17)]], "records acquired")


@case("SHARE-16", "ShareFetch", versions=(2, 2), spec="KIP-1206", priority="P1")
def test_a_member_may_ask_for_no_more_than_max_records(wire: Wire, version: int) -> None:
    """With share_acquire_mode 1 exactly max_records are acquired, in the middle of a batch, too."""
    topic = topic_with(wire, (b"1", b"2", b"3", b"4", b"5"))
    member = ShareMember.ready(wire, topic, version=version)
    runs = [member.acquire(max_records=most, share_acquire_mode=1) for most in (2, 3)]
    expect(runs, [[Acquired(0, 1, 1)], [Acquired(2, 4, 1)]], "records acquired")


@case("SHARE-17", "ShareFetch", spec="KIP-932, ShareFetch API; KIP-951", priority="P1")
def test_share_fetch_from_another_broker_names_the_leader(wire: Wire, version: int) -> None:
    """A broker that does not lead the partition answers NOT_LEADER_OR_FOLLOWER (6) without
    records, and names the leader, its epoch, and where it listens."""
    other = another_broker(wire, wire.home())
    topic = wire.create_topic(on_one_broker=True)
    send(wire, topic, b"a")
    member = ShareMember.ready(wire, topic, version=version)
    answer = member.try_to_fetch(connection=other)
    found = answer.responses[0].partitions[0]
    expect(found.error_code, ErrorCode.NOT_LEADER_OR_FOLLOWER, "error")
    expect(bytes(found.records or b""), b"", "records")
    partition = wire.topic_metadata(topic.name).partitions[0]
    told = (found.current_leader.leader_id, found.current_leader.leader_epoch)
    expect(told, (partition.leader_id, partition.leader_epoch), "current leader (id, epoch)")
    at = {node.node_id: (node.host, node.port) for node in answer.node_endpoints}
    expect(at, {told[0]: wire.brokers()[told[0]]}, "node endpoints")


@case("SHARE-18", "ShareFetch", spec="KIP-932, share.isolation.level", priority="P1")
def test_read_committed_share_groups_get_no_aborted_records(wire: Wire, version: int) -> None:
    """With share.isolation.level read_committed neither records of aborted nor of open transactions
    are delivered, but those of committed ones; read_uncommitted, the default, delivers all."""
    topic, producer = wire.create_topic(), Producer.ready(wire)
    producer.add_and_send(topic, b"aborted")
    producer.abort()
    producer.add_and_send(topic, b"committed")
    producer.commit()
    producer.add_and_send(topic, b"open")
    careful = {"share.isolation.level": "read_committed"}
    member = ShareMember.ready(wire, topic, version=version, configs=careful)
    expect(sorted_values(member), [b"committed"], "records of read_committed")
    member.acquires_nothing()
    hasty = ShareMember.ready(wire, topic, version=version)
    everything = [b"aborted", b"committed", b"open"]
    expect(sorted_values(hasty), everything, "records of read_uncommitted")


def sorted_values(member: ShareMember) -> list[bytes | None]:
    """Return the values that the member acquires next, in offset order."""
    return [value for _, value in sorted(member.acquire_values().values.items())]


@case("SHARE-20", "ShareAcknowledge", spec=ACQUIRING, priority="P1")
def test_markers_between_records_are_acknowledged_as_gaps(wire: Wire, version: int) -> None:
    """A member must acknowledge a transaction marker between acquired records as a gap (type 0);
    then none of these records is delivered again."""
    topic, producer = wire.create_topic(), Producer.ready(wire)
    producer.add_and_send(topic, b"a")
    producer.commit()
    wait_until_ended(wire, topic)
    send(wire, topic, b"b")
    member = ShareMember.ready(wire, topic, version=version)
    found = eventually(
        member.fetch, lambda f: any(run.last == 2 for run in f.runs), "all is acquired"
    )
    expect(found.values, {0: b"a", 2: b"b"}, "records by offset")
    expect(found.runs, [Acquired(0, 2, 1)], "runs acquired")
    member.acknowledge(acknowledged(0, 2, Ack.ACCEPT, Ack.GAP, Ack.ACCEPT))
    member.acquires_nothing()


@case("SHARE-20", "ShareAcknowledge", spec=ACQUIRING, priority="P1")
def test_deleted_records_are_not_delivered(wire: Wire, version: int) -> None:
    """Records deleted while a member has them may be acknowledged, and are not delivered again,
    nor to a new group; those behind them are."""
    topic = topic_with(wire, (b"a", b"b"), (b"c", b"d"))
    member = ShareMember.ready(wire, topic, version=version)
    expect(member.acquire(), [Acquired(0, 3, 1)], "records acquired")
    delete_records(wire, topic, 3)
    member.acknowledge(acknowledged(0, 3, Ack.RELEASE))
    expect(member.acquire(), [Acquired(3, 3, 2)], "records delivered again")
    late = ShareMember.ready(wire, topic, version=version)
    expect(late.acquire(), [Acquired(3, 3, 1)], "records of a new group")


def delete_records(wire: Wire, topic: Topic, before: int) -> None:
    """Delete the records of partition 0 below an offset."""
    api = "DeleteRecords"
    rows = [part(api, "DeleteRecordsPartition", partition_index=0, offset=before)]
    entry = part(api, "DeleteRecordsTopic", name=topic.name, partitions=rows)
    answer = wire.leader(topic).call(api, wire.version(api), topics=[entry], timeout_ms=20_000)
    expect(answer.topics[0].partitions[0].error_code, ErrorCode.NONE, "DeleteRecords error")


@case("SHARE-21", "ShareAcknowledge", spec=ACQUIRING, priority="P2", requires=["restart"])
def test_accepted_records_stay_accepted_after_a_crash(
    wire: Wire, version: int, examined: Examined
) -> None:
    """After kill -9 and a restart of the broker no record that was accepted is delivered again; one
    that was released is."""
    topic = topic_with(wire, (b"a", b"b", b"c"))
    member = ShareMember.ready(wire, topic, version=version)
    member.acquire()
    member.acknowledge(acknowledged(0, 2, Ack.ACCEPT, Ack.RELEASE, Ack.ACCEPT))
    with restarting(wire, topic):
        examined.kill_and_restart()
    again = ShareMember.of(wire, topic, group=member.group, version=version)
    eventually(again.try_to_join, lambda a: a.error_code == ErrorCode.NONE, "it joins", 60)
    again.join()

    def runs() -> list[Acquired]:
        answer = again.try_to_fetch()
        if answer.error_code != ErrorCode.NONE:
            again.session_epoch = 0
        rows = [row for found in answer.responses for row in found.partitions]
        return [
            Acquired(r.first_offset, r.last_offset, r.delivery_count)
            for row in rows
            for r in row.acquired_records
        ]

    found = eventually(runs, bool, "records are acquired", 60)
    expect([(run.first, run.last) for run in found], [(1, 1)], "records delivered again")
