"""A broker that cannot use the files of a replica gives it up to the others, and gets it back when
its disk works again."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from reference_impl.core.controller.image.registrations import LOST
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.replication.directories import directory_of
from reference_impl.core.rules import Rules
from reference_impl.core.storage import MemoryStorage, StorageError
from reference_impl.core.tests.node_identities import format_directory
from reference_impl.core.tests.replicated_cluster import ReplicatedCluster, values_of
from reference_impl.wire import ErrorCode, definition

FETCHED = definition("FetchResponse")


class KeepEachReplica(Rules):
    def gives_up_replica(self, isr: Collection[int], node_id: int) -> bool:
        return False


def cluster_with_topic(rules: type[Rules] = Rules) -> ReplicatedCluster:
    cluster = ReplicatedCluster(rules=rules)
    cluster.create()
    return cluster


def break_log(partition: Partition) -> None:
    """Let a log be one that only a restart repairs."""
    error = StorageError(partition.log.directory, "the sync has failed")
    partition.log._flush_state.failure = error


def fail_writes(monkeypatch: pytest.MonkeyPatch, disk: MemoryStorage) -> None:
    """Let a disk refuse each write to the topic's partition."""
    charge = MemoryStorage.charge

    def refuse(path: str, size: int) -> None:
        if "/t-0/" in path:
            raise StorageError(path, "input/output error")
        charge(disk, path, size)

    monkeypatch.setattr(disk, "charge", refuse)


@pytest.mark.parametrize("rules", [Rules, KeepEachReplica])
def test_another_replica_leads_when_the_leaders_log_has_failed(rules: type[Rules]) -> None:
    cluster = cluster_with_topic(rules)
    bad = cluster.leader()
    cluster.produce(bad, "a")
    cluster.run(1_000)
    assert cluster.code(bad) == ErrorCode.NONE
    break_log(cluster.partition(bad))
    cluster.produce(bad, "b")
    assert cluster.code(bad) == ErrorCode.KAFKA_STORAGE_ERROR
    cluster.run(2_000)
    if rules is KeepEachReplica:
        assert cluster.leader() == bad
        return
    new = cluster.leader()
    assert new != bad
    state = cluster.partition(new).state
    assert bad not in state.isr
    assert directory_of(state, bad) == LOST
    cluster.produce(new, "c")
    cluster.run(500)
    assert cluster.code(new) == ErrorCode.NONE
    cluster.kill(bad)
    cluster.boot(bad)
    cluster.run(6_000)
    state = cluster.partition(new).state
    own = cluster.nodes[bad].broker.data_directory.directory_id
    assert directory_of(state, bad) == own
    assert set(state.isr) == {1, 2, 3}
    assert values_of(cluster.partition(bad)) == ["a", "c"]


def test_another_replica_leads_when_the_leaders_disk_refuses_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = cluster_with_topic()
    bad = cluster.leader()
    fail_writes(monkeypatch, cluster.disks[bad])
    cluster.produce(bad, "a")
    assert cluster.code(bad) == ErrorCode.KAFKA_STORAGE_ERROR
    cluster.run(2_000)
    new = cluster.leader()
    assert new != bad
    cluster.produce(new, "b")
    cluster.run(4_000)
    assert bad not in cluster.partition(new).state.isr, "it cannot copy the record"
    monkeypatch.undo()
    cluster.run(4_000)
    assert set(cluster.partition(new).state.isr) == {1, 2, 3}
    assert values_of(cluster.partition(bad)) == ["b"]


@pytest.mark.parametrize("file", ["leader-epoch-checkpoint", ".log"])
def test_a_full_disk_is_no_reason_to_give_a_replica_up(
    monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """Also where it has no room for the entry of a new leader epoch."""
    cluster = cluster_with_topic()
    full = cluster.leader()
    charge = MemoryStorage.charge

    def refuse(path: str, size: int) -> None:
        if "/t-0/" in path and file in path:
            raise StorageError(path, "no space left on the disk", no_space=True)
        charge(cluster.disks[full], path, size)

    monkeypatch.setattr(cluster.disks[full], "charge", refuse)
    cluster.produce(full, "a")
    assert cluster.code(full) == ErrorCode.KAFKA_STORAGE_ERROR
    cluster.run(2_000)
    assert cluster.leader() == full


def test_a_follower_whose_log_has_failed_leaves_the_isr() -> None:
    cluster = cluster_with_topic()
    leader, bad = cluster.leader(), cluster.followers()[0]
    break_log(cluster.partition(bad))
    cluster.run(1_500)
    assert set(cluster.partition(leader).state.isr) == {1, 2, 3} - {bad}
    assert cluster.partition(leader).leader_epoch == 0


def test_the_last_replica_in_sync_stays_leader_so_that_its_records_can_be_read() -> None:
    cluster = cluster_with_topic()
    leader = cluster.leader()
    cluster.blocked.update(cluster.followers())
    cluster.produce(leader, "a", acks=1)
    cluster.run(7_000)
    assert cluster.partition(leader).state.isr == (leader,)
    break_log(cluster.partition(leader))
    cluster.run(3_000)
    assert cluster.leader() == leader
    assert directory_of(cluster.partition(leader).state, leader) != LOST


def test_a_broker_with_a_new_disk_says_that_its_replicas_lie_there() -> None:
    cluster = cluster_with_topic()
    leader, bad = cluster.leader(), cluster.followers()[0]
    cluster.produce(leader, "a")
    cluster.run(1_000)
    before = directory_of(cluster.partition(leader).state, bad)
    cluster.kill(bad)
    cluster.disks[bad] = MemoryStorage()
    format_directory(cluster.disks[bad], bad, "B")
    cluster.boot(bad)
    cluster.run(6_000)
    state = cluster.partition(cluster.leader()).state
    assert set(state.isr) == {1, 2, 3}
    own = cluster.nodes[bad].broker.data_directory.directory_id
    assert before != own == directory_of(state, bad)
    assert values_of(cluster.partition(bad)) == ["a"]


def test_an_answer_that_comes_late_lets_no_failed_log_be_fetched_again() -> None:
    cluster = cluster_with_topic()
    leader, bad = cluster.leader(), cluster.followers()[0]
    break_log(cluster.partition(bad))
    cluster.run(1_500)
    followers = cluster.nodes[bad].broker.followers
    source, topic_id = followers._sources[leader], cluster.partition(bad).topic_id
    assert not source.session.positions
    row = FETCHED.struct("PartitionData", high_watermark=0)
    topic = FETCHED.struct("FetchableTopicResponse", topic_id=topic_id, partitions=[row])
    list(followers._take(leader, source, FETCHED.new(responses=[topic])))
    assert not source.session.positions
