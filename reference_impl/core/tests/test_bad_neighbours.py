"""Controllers that send nonsense or belong elsewhere: one replica is refused or stops, with its
reason, and the others go on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_impl.core.effects import Effect, Failed, Respond
from reference_impl.core.quorum import messages
from reference_impl.core.quorum.metadata_log import TOPIC_ID
from reference_impl.core.tests.cluster import Cluster
from reference_impl.core.tests.node_identities import CLUSTER_ID
from reference_impl.core.tests.replicated_cluster import CREATE, FAST
from reference_impl.core.tests.test_voter_changes import quorum_of as changeable_quorum
from reference_impl.wire import ApiKey, Struct

ELSEWHERE = "another-cluster-clust1"
HEAD_BYTES = 61


class Tampered(Cluster):
    """Three voters, one of which gets altered answers when it fetches the metadata log."""

    def __init__(self) -> None:
        self.alter: Callable[[Struct], None] = lambda row: None
        self.victim = 0
        self.failures: dict[int, str] = {}
        super().__init__(seed=1, voters=3, configs=FAST)
        self.run(3_000)
        self.leader = next(n for n, node in self.nodes.items() if node.broker.quorum.is_leader)
        self.victim = self.leader % 3 + 1

    def _perform(self, node: int, effect: Effect) -> None:
        if isinstance(effect, Failed):
            self.failures[node] = str(effect.error)
            self.kill(node)
        elif node in self.nodes:
            super()._perform(node, effect)

    def _answer(self, node: int, effect: Respond) -> None:
        request = effect.request
        if request.api_key == ApiKey.FETCH and effect.body.responses:
            row, state = messages.only_row(effect.body), request.body.replica_state
            is_of_log = effect.body.responses[0].topic_id == TOPIC_ID
            if row is not None and is_of_log and state.replica_id == self.victim:
                self.alter(row)
        super()._answer(node, effect)

    def create(self, name: str) -> None:
        """Create a topic, which all nodes but the victim know soon."""
        row = CREATE.struct("CreatableTopic", name=name, num_partitions=1, replication_factor=1)
        body = CREATE.new(topics=[row], timeout_ms=5_000)
        self.send(self.leader, ApiKey.CREATE_TOPICS, 7, body)
        self.run(1_500)
        assert self.answers[self.leader].pop().topics[0].error_code == 0

    def knows(self, node: int, topic: str) -> bool:
        return topic in self.nodes[node].broker.image.topics


def repeat_the_first_batch(cluster: Tampered) -> Callable[[Struct], None]:
    """Return a change by which the leader's offsets go back."""
    log = cluster.nodes[cluster.leader].broker.quorum.log

    def alter(row: Struct) -> None:
        if row.records:
            row.records = log.read(0, 1)

    return alter


def flip_a_bit(_: Tampered) -> Callable[[Struct], None]:
    """Return a change after which the CRC does not hold."""

    def alter(row: Struct) -> None:
        if row.records:
            data = bytearray(row.records)
            data[HEAD_BYTES] ^= 1
            row.records = bytes(data)

    return alter


@pytest.mark.parametrize("tamper", [repeat_the_first_batch, flip_a_bit])
def test_a_controller_takes_no_batch_that_does_not_fit_and_others_go_on(
    tamper: Callable[[Tampered], Callable[[Struct], None]],
) -> None:
    cluster = Tampered()
    victim = cluster.nodes[cluster.victim].broker.quorum
    cluster.create("before")
    end = victim.end_offset
    cluster.alter = tamper(cluster)
    cluster.create("meanwhile")
    assert not cluster.knows(cluster.victim, "meanwhile") and victim.end_offset == end
    told = f"{cluster.victim}: metadata that node {cluster.leader} sent are damaged"
    assert [report for report in cluster.reports if report.startswith(told)]
    cluster.alter = lambda row: None
    cluster.run(1_000)
    assert cluster.knows(cluster.victim, "meanwhile")


def test_a_controller_stops_whose_leader_has_lost_what_is_committed() -> None:
    """Otherwise it would forget decisions that were acknowledged."""
    cluster = Tampered()
    cluster.create("before")

    def forget(row: Struct) -> None:
        row.diverging_epoch.epoch, row.diverging_epoch.end_offset = 1, 1
        row.records = b""

    cluster.alter = forget
    cluster.create("meanwhile")
    assert list(cluster.failures) == [cluster.victim]
    failure = cluster.failures[cluster.victim]
    assert "the leader's log ends at offset 1, but everything below" in failure
    assert "restore the shorter one from a copy" in failure
    third = 6 - cluster.leader - cluster.victim
    assert cluster.knows(third, "meanwhile")


def test_a_controller_of_another_cluster_is_told_so_and_counts_for_nothing() -> None:
    cluster = Tampered()
    stranger = cluster.victim
    cluster.kill(stranger)
    disk, path = cluster.disks[stranger], "data/meta.properties"
    text = disk.read_file(path).decode().replace(CLUSTER_ID, ELSEWHERE)
    disk.write_atomically(path, text.encode())
    cluster.boot(stranger)
    cluster.create("meanwhile")
    cluster.run(4_000)
    quorum = cluster.nodes[cluster.leader].broker.quorum
    assert quorum.is_leader and quorum.leadership is not None
    assert quorum.leadership.followers[stranger].end_offset < quorum.end_offset
    assert not cluster.knows(stranger, "meanwhile")
    told = [report for report in cluster.reports if "INCONSISTENT_CLUSTER_ID" in report]
    own = [report for report in told if report.startswith(f"{stranger}: the controller at")]
    assert 1 <= len(own) <= 2, "once for each of the others"
    assert f"this node belongs to cluster {ELSEWHERE}" in own[0]
    assert "correct controller.quorum.voters" in own[0]


def test_a_voter_whose_directory_was_replaced_is_named_with_what_to_do() -> None:
    cluster = changeable_quorum(3, 0)
    (leader,) = (n for n, node in cluster.nodes.items() if node.broker.quorum.is_leader)
    lost = leader % 3 + 1
    cluster.kill(lost)
    text = cluster.disks[lost].read_file("data/meta.properties").decode()
    cluster.disks[lost].write_atomically(
        "data/meta.properties",
        text.replace(f"directory.id={lost}A", f"directory.id={lost}B").encode(),
    )
    cluster.boot(lost)
    cluster.run(4_000)
    told = [report for report in cluster.reports if "INVALID_VOTER_KEY" in report]
    assert len([report for report in told if report.startswith(f"{leader}:")]) == 1
    assert "remove this voter, and add it again with its new directory" in told[0]
