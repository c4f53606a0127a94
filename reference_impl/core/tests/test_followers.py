"""Followers copy their leaders: what they append, what they cut off, and where they stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect
from reference_impl.core.events import Request
from reference_impl.core.handlers.fetch import handle_fetch
from reference_impl.core.log.readable_log import ReadableLog
from reference_impl.core.partitions.fetch_sessions import replica_of
from reference_impl.core.replication.copying import Copying
from reference_impl.core.rules import Rules
from reference_impl.core.rules.agreeing import LogEnd
from reference_impl.core.storage import StorageError
from reference_impl.core.tests.replicated_cluster import (
    ReplicatedCluster,
    bytes_of,
    rows_of,
    values_of,
)
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, BatchHeader, ErrorCode, Struct, definition

FETCH, DELETE = definition("FetchRequest"), definition("DeleteRecordsRequest")


def cluster_with_topic(rules: type[Rules] = Rules, **configs: str) -> ReplicatedCluster:
    cluster = ReplicatedCluster(rules=rules)
    cluster.create(**configs)
    return cluster


def produce(cluster: ReplicatedCluster, *values: str, acks: int = -1) -> None:
    """Write to the leader, and let everybody copy it and learn that it is committed."""
    leader = cluster.leader()
    cluster.produce(leader, *values, acks=acks)
    cluster.run(1_000)
    assert cluster.code(leader) == ErrorCode.NONE


def fail_over(cluster: ReplicatedCluster) -> int:
    """Kill the leader, and return the new one."""
    cluster.kill(cluster.leader())
    cluster.run(6_000)
    return cluster.leader()


def all_agree(cluster: ReplicatedCluster) -> bool:
    replicas = [cluster.partition(node) for node in cluster.nodes]
    return (
        len({bytes_of(each) for each in replicas}) == 1
        and len({each.log.log_end_offset for each in replicas}) == 1
    )


def test_a_record_is_acknowledged_as_soon_as_all_followers_have_fetched_it() -> None:
    cluster = cluster_with_topic()
    leader = cluster.leader()
    cluster.produce(leader, "a", "b")
    assert cluster.code(leader) is None
    cluster.run(10)
    assert cluster.code(leader) == ErrorCode.NONE
    for node in cluster.nodes:
        assert values_of(cluster.partition(node)) == ["a", "b"]
    cluster.run(500)
    assert {cluster.partition(node).high_watermark for node in cluster.nodes} == {2}


def test_a_follower_that_is_cut_off_keeps_the_record_from_being_acknowledged() -> None:
    cluster = cluster_with_topic()
    leader, follower = cluster.leader(), cluster.followers()[0]
    cluster.silent.add((follower, leader))
    cluster.produce(leader, "a")
    cluster.run(500)
    assert cluster.code(leader) is None
    assert cluster.partition(leader).high_watermark == 0


def test_a_leader_that_returns_cuts_off_what_no_one_else_has() -> None:
    cluster = cluster_with_topic()
    produce(cluster, "a")
    old = cluster.leader()
    cluster.produce(old, "lost", acks=1)
    new = fail_over(cluster)
    produce(cluster, "b", "c")
    cluster.boot(old)
    cluster.run(5_000)
    assert values_of(cluster.partition(old)) == ["a", "b", "c"]
    assert all_agree(cluster)
    entries = [cluster.partition(node).log.leader_epochs.entries for node in cluster.nodes]
    assert entries == [[(0, 0), (cluster.partition(new).leader_epoch, 1)]] * 3


class KeepsEverything(Rules):
    """A follower that takes its own log for the leader's."""

    def truncation(self, log: ReadableLog, told: LogEnd) -> int:
        return log.log_end_offset


class CutsAtHighWatermark(Rules):
    """A follower as before KIP-101."""

    def kept_end(self, log: ReadableLog) -> int:
        return log.high_watermark


def is_lost(rules: type[Rules]) -> bool:
    """Let a follower that has not heard of the last commit follow another leader, which dies before
    the follower can fetch from it (KIP-101, scenario 1). Return whether the committed record is
    lost."""
    blocked = False

    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        if not (blocked and replica_of(request.body) >= 0):
            yield from handle_fetch(broker, request)

    patient = {"replica.lag.time.max.ms": "60000"}
    cluster = ReplicatedCluster(rules=rules, configs=patient, apis={ApiKey.FETCH: handle})
    cluster.create()
    produce(cluster, "a")
    first = cluster.leader()
    heir, other = (n for n in cluster.partition(first).state.replicas if n != first)
    cluster.produce(first, "b")
    cluster.run(10)
    assert cluster.code(first) == ErrorCode.NONE
    assert cluster.partition(other).high_watermark == 1
    blocked = True
    assert fail_over(cluster) == heir
    cluster.boot(first)
    cluster.run(6_000)
    assert fail_over(cluster) == other
    return values_of(cluster.partition(other)) != ["a", "b"]


@pytest.mark.parametrize("rules", [Rules, CutsAtHighWatermark])
def test_a_follower_keeps_what_it_does_not_know_to_be_committed(rules: type[Rules]) -> None:
    assert is_lost(rules) is (rules is CutsAtHighWatermark)


def test_a_follower_that_keeps_what_diverges_never_agrees() -> None:
    cluster = cluster_with_topic(KeepsEverything)
    produce(cluster, "a")
    old = cluster.leader()
    cluster.produce(old, "lost", acks=1)
    fail_over(cluster)
    produce(cluster, "b")
    cluster.boot(old)
    cluster.run(3_000)
    assert "lost" in values_of(cluster.partition(old))


def test_a_follower_begins_anew_where_the_leader_has_deleted_what_comes_next() -> None:
    cluster = cluster_with_topic()
    produce(cluster, "a")
    leader, late = cluster.leader(), cluster.followers()[0]
    cluster.kill(late)
    cluster.run(6_000)
    for value in ("b", "c", "d"):
        produce(cluster, value)
    delete_before(cluster, 3)
    cluster.run(1_000)
    assert deleted(cluster, leader) == (ErrorCode.NONE, 3)
    assert log_starts(cluster) == {3}, "the log start follows the leader's"
    cluster.boot(late)
    cluster.run(3_000)
    log = cluster.partition(late).log
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (3, 4, 4)
    assert values_of(cluster.partition(late)) == ["d"]


def delete_before(cluster: ReplicatedCluster, offset: int, timeout_ms: int = 5_000) -> None:
    """Ask the leader to delete what lies below an offset."""
    row = DELETE.struct("DeleteRecordsPartition", partition_index=0, offset=offset)
    topic = DELETE.struct("DeleteRecordsTopic", name="t", partitions=[row])
    body = DELETE.new(topics=[topic], timeout_ms=timeout_ms)
    cluster.send(cluster.leader(), ApiKey.DELETE_RECORDS, 2, body)


def deleted(cluster: ReplicatedCluster, leader: int) -> tuple[int, int] | None:
    """Return the error and the low watermark that were answered, or None."""
    rows = [body.topics[0].partitions[0] for body in cluster.answers[leader]]
    cluster.answers[leader].clear()
    return (rows[0].error_code, rows[0].low_watermark) if rows else None


def log_starts(cluster: ReplicatedCluster) -> set[int]:
    return {cluster.partition(node).log.log_start_offset for node in cluster.nodes}


def damage(row: Struct) -> None:
    """Change a byte of a record that says "bad"."""
    data = bytes(row.records)
    row.records = data.replace(b"bad", b"BAD")


def repeat(row: Struct) -> None:
    """Send a batch that says "bad" twice."""
    data = bytes(row.records)
    row.records = data * 2 if b"bad" in data else data


@pytest.mark.parametrize(
    ("alter", "reason"),
    [
        (damage, "its bytes have"),
        (repeat, "the leader has sent offset 0 again: this log ends at 1"),
    ],
)
def test_a_replica_whose_leader_sends_nonsense_stops_and_others_go_on(
    alter: Callable[[Struct], None], reason: str
) -> None:
    cluster = ReplicatedCluster()
    for topic in ("t", "bad"):
        cluster.create(topic)
    cluster.alter = alter
    leader = cluster.leader("bad")
    cluster.produce(leader, "bad", acks=1, topic="bad")
    cluster.run(500)
    cluster.answers[leader].clear()
    produce(cluster, "a")
    stopped = [
        sentence for sentence in cluster.reports if "bad-0 is not copied any more" in sentence
    ]
    assert len(stopped) == 2
    assert all(reason in sentence for sentence in stopped)
    assert all_agree(cluster)


class TakesWhatComes(Rules):
    def check_fetched(self, log: ReadableLog, header: BatchHeader) -> None:
        """Append whatever the leader sends."""


def test_a_follower_that_checks_no_offsets_gets_a_log_whose_offsets_go_back() -> None:
    cluster = cluster_with_topic(TakesWhatComes)
    cluster.alter = repeat
    cluster.produce(cluster.leader(), "bad", acks=1)
    cluster.run(500)
    assert values_of(cluster.partition(cluster.followers()[0])) == ["bad", "bad"]


def test_a_cut_below_the_high_watermark_is_reported() -> None:
    world = World()
    world.create_topic("t")
    world.produce("t", "a")
    world.produce("t", "b")
    broker = world.node.broker
    partition = broker.replicas.get("t", 0)
    assert partition is not None and partition.high_watermark == 2
    copying = Copying(Rules(), broker.moment, broker.logs)
    assert list(copying.cut(partition, 2)) == []
    (report,) = copying.cut(partition, 1)
    assert "is cut at offset 1, below its high watermark 2" in str(report)
    assert values_of(partition) == ["a"]


def test_an_idle_follower_names_no_partition_again() -> None:
    named: list[int] = []

    def handle(broker: Broker, request: Request) -> Iterator[Effect]:
        if replica_of(request.body) >= 0:
            named.append(len(request.body.topics))
        yield from handle_fetch(broker, request)

    cluster = ReplicatedCluster(apis={ApiKey.FETCH: handle})
    cluster.create()
    cluster.run(1_000)
    named.clear()
    cluster.run(2_000)
    assert len(named) >= 20 and not any(named)


class BelievesTheDead(Rules):
    def check_replica_epoch(self, broker: object, broker_epoch: int) -> None:
        """Take every fetch for one of the present incarnation."""


@pytest.mark.parametrize("rules", [Rules, BelievesTheDead])
def test_a_fetch_of_an_earlier_incarnation_of_a_follower_counts_for_nothing(
    rules: type[Rules],
) -> None:
    cluster = cluster_with_topic(rules)
    leader, follower = cluster.leader(), cluster.followers()[0]
    epoch = cluster.nodes[leader].broker.image.brokers[follower].broker_epoch
    cluster.silent |= {(node, leader) for node in cluster.followers()}
    cluster.produce(leader, "a", acks=1)
    cluster.answers[leader].clear()
    row = FETCH.struct("FetchPartition", partition=0, fetch_offset=1, partition_max_bytes=1000)
    topic_id = cluster.partition(leader).topic_id
    body = FETCH.new(
        replica_state=FETCH.struct("ReplicaState", replica_id=follower, replica_epoch=epoch - 1),
        topics=[FETCH.struct("FetchTopic", topic_id=topic_id, partitions=[row])],
    )
    cluster.send(leader, ApiKey.FETCH, 17, body)
    (answer,) = cluster.answers[leader]
    is_refused = rows_of(answer)[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert is_refused is (rules is Rules)


class BelievesTheLeader(Rules):
    def followed_high_watermark(self, log: ReadableLog, told: int) -> int:
        """Return the end of the own log, as if the leader had committed all of it."""
        return log.log_end_offset


@pytest.mark.parametrize("rules", [Rules, BelievesTheLeader])
def test_a_follower_takes_for_committed_what_its_leader_says(rules: type[Rules]) -> None:
    cluster = cluster_with_topic(rules)
    leader, (cut_off, follower) = cluster.leader(), cluster.followers()
    cluster.silent.add((cut_off, leader))
    cluster.produce(leader, "a")
    cluster.run(500)
    log = cluster.partition(follower).log
    assert log.log_end_offset == 1
    assert log.high_watermark == (0 if rules is Rules else 1)


class LeadsAtOnce(Rules):
    """A broker that leads after a restart what it led before."""

    def acts_as_leader(self, leader: int, node_id: int, *, is_registered: bool) -> bool:
        return leader == node_id


@pytest.mark.parametrize("rules", [Rules, LeadsAtOnce])
def test_a_leader_that_has_lost_power_takes_no_record_from_its_followers(
    rules: type[Rules],
) -> None:
    cluster = cluster_with_topic(rules)
    leader = cluster.leader()
    produce(cluster, "a", "b")
    cluster.kill(leader, loses_power=True)
    cluster.boot(leader)
    cluster.run(20_000)
    is_kept = all(values_of(cluster.partition(node)) == ["a", "b"] for node in cluster.nodes)
    assert is_kept is (rules is Rules)


def test_a_leader_that_has_not_registered_again_answers_no_reader() -> None:
    """The simulator found consumers that went back to offset 0 (failed-syncs): a leader that had
    lost power told them that its log ends before their position."""
    cluster = cluster_with_topic()
    leader = cluster.leader()
    produce(cluster, "a", "b")
    topic_id = cluster.partition(leader).topic_id
    cluster.kill(leader, loses_power=True)
    cluster.boot(leader)
    cluster.run(1_500)
    assert cluster.partition(leader).state.leader == leader
    row = FETCH.struct("FetchPartition", partition=0, fetch_offset=2, partition_max_bytes=1000)
    body = FETCH.new(topics=[FETCH.struct("FetchTopic", topic_id=topic_id, partitions=[row])])
    cluster.answers[leader].clear()
    cluster.send(leader, ApiKey.FETCH, 17, body)
    (answer,) = cluster.answers[leader]
    assert rows_of(answer)[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_follower_goes_on_when_its_full_disk_has_room_again() -> None:
    """The simulator found a partition that stayed without this replica for ever (disk-full)."""
    cluster = cluster_with_topic()
    produce(cluster, "a")
    follower = next(node for node in cluster.nodes if node != cluster.leader())
    disk = cluster.disks[follower]
    disk.capacity_bytes = 0
    cluster.produce(cluster.leader(), "b", acks=1)
    cluster.run(3_000)
    assert any("is tried again later" in each for each in cluster.reports)
    disk.capacity_bytes = None
    cluster.run(3_000)
    assert all_agree(cluster) and values_of(cluster.partition(follower)) == ["a", "b"]


def test_a_follower_goes_on_after_one_failed_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator found a partition that stayed without this replica for ever (failed-writes):
    the write was undone, so nothing is amiss in the log."""
    cluster = cluster_with_topic()
    produce(cluster, "a")
    follower = next(node for node in cluster.nodes if node != cluster.leader())

    def fail(path: str, size: int) -> None:
        monkeypatch.undo()
        raise StorageError(path, "the disk reports an input/output error")

    monkeypatch.setattr(cluster.disks[follower], "charge", fail)
    cluster.produce(cluster.leader(), "b", acks=1)
    cluster.run(3_000)
    assert any("is tried again later" in each for each in cluster.reports)
    assert all_agree(cluster) and values_of(cluster.partition(follower)) == ["a", "b"]
