"""A quorum follows no epoch that elections cannot have reached, and never passes the last one."""

from __future__ import annotations

import pytest

from reference_impl.core.events import ConnectionOpened
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.quorum import messages
from reference_impl.core.quorum.elections.election_state import (
    EPOCH_MAX,
    BadQuorumState,
    ElectionFile,
    ElectionState,
)
from reference_impl.core.quorum.elections.epochs_ahead import EPOCHS_AHEAD_MAX
from reference_impl.core.quorum.voters.voter_set import Voter, VoterHistory, voters_of
from reference_impl.core.rules import Rules
from reference_impl.core.storage import MemoryStorage
from reference_impl.core.tests.cluster import CLIENT, Cluster
from reference_impl.core.tests.test_quorum import leaders, quorum_of
from reference_impl.core.tests.test_raft_paper import DIRECTORY, disk_with
from reference_impl.wire import ApiKey, ErrorCode, Struct

FILE = f"{DIRECTORY}/quorum-state"


def claims(cluster: Cluster, node: int, sender: int, epoch: int) -> list[tuple[ApiKey, Struct]]:
    """Return the requests by which a sender tells this node that the quorum is in this epoch."""
    quorum = cluster.nodes[sender].broker.quorum
    found = []
    for api, body in (
        (ApiKey.VOTE, messages.vote_request(quorum, node, is_pre_vote=False)),
        (ApiKey.VOTE, messages.vote_request(quorum, node, is_pre_vote=True)),
        (ApiKey.BEGIN_QUORUM_EPOCH, messages.begin_request(quorum, node)),
        (ApiKey.END_QUORUM_EPOCH, messages.end_request(quorum)),
    ):
        row = messages.only_row(body)
        assert row is not None
        if api is ApiKey.VOTE:
            row.replica_epoch = epoch
        else:
            row.leader_epoch = epoch
        found.append((api, body))
    return found


def answer_of(cluster: Cluster, node: int, api: ApiKey, body: Struct) -> Struct:
    """Return the answer that a node's controller gives at once."""
    cluster.step(node, ConnectionOpened(*cluster.moment(), CLIENT, "CONTROLLER", 0))
    cluster.send(node, api, 2 if api is ApiKey.VOTE else 1, body)
    return cluster.answers[node].pop()


@pytest.mark.parametrize("ahead", [EPOCHS_AHEAD_MAX + 1, None])
def test_an_epoch_that_is_too_far_ahead_is_refused(ahead: int | None) -> None:
    cluster, leader = quorum_of(3)
    epoch = cluster.nodes[leader].broker.quorum.epoch
    node, sender = leader, leader % 3 + 1
    for api, body in claims(cluster, node, sender, EPOCH_MAX if ahead is None else epoch + ahead):
        assert answer_of(cluster, node, api, body).error_code == ErrorCode.INVALID_REQUEST
    cluster.run(5_000)
    assert leaders(cluster) == [leader]
    assert {each.broker.quorum.epoch for each in cluster.nodes.values()} == {epoch}


def test_the_greatest_epoch_that_elections_may_have_reached_is_followed() -> None:
    cluster, leader = quorum_of(3)
    epoch = cluster.nodes[leader].broker.quorum.epoch + EPOCHS_AHEAD_MAX
    api, body = claims(cluster, leader, leader % 3 + 1, epoch)[0]
    answer_of(cluster, leader, api, body)
    assert cluster.nodes[leader].broker.quorum.epoch == epoch
    cluster.run(10_000)
    assert len(leaders(cluster)) == 1


def test_several_votes_lead_no_further_than_one_and_elections_go_on() -> None:
    """Without a limit for all together, eight Votes would use up the epochs."""
    cluster, leader = quorum_of(3)
    begun = cluster.nodes[leader].broker.quorum.epoch
    for _ in range(8):
        for node in (1, 2, 3):
            epoch = cluster.nodes[node].broker.quorum.epoch + EPOCHS_AHEAD_MAX - 1
            api, body = claims(cluster, node, node % 3 + 1, epoch)[0]
            answer_of(cluster, node, api, body)
        cluster.run(10_000)
        assert len(leaders(cluster)) == 1
    for node in (1, 2, 3):
        assert cluster.nodes[node].broker.quorum.epoch - begun < 1.01 * EPOCHS_AHEAD_MAX


def test_an_answer_with_an_epoch_that_is_too_far_ahead_is_not_followed() -> None:
    cluster, leader = quorum_of(3)
    quorum = cluster.nodes[leader].broker.quorum
    epoch = quorum.epoch
    quorum.hear(EPOCH_MAX, leader % 3 + 1)
    assert (quorum.epoch, quorum.is_leader) == (epoch, True)


def test_in_the_last_epoch_nobody_stands_and_nothing_fails() -> None:
    """The leader of the last epoch resigns: it may not forget that it has voted for itself."""
    cluster = Cluster(seed=1, voters=3)
    for node in (1, 2, 3):
        cluster.kill(node)
        cluster.disks[node] = disk_with(node, [1], EPOCH_MAX - 1, [1, 2, 3])
        cluster.boot(node)
    cluster.run(5_000)
    (leader,) = leaders(cluster)
    assert cluster.nodes[leader].broker.quorum.epoch == EPOCH_MAX
    for other in {1, 2, 3} - {leader}:
        cluster.silent |= {(leader, other), (other, leader)}
    cluster.run(30_000)
    cluster.silent.clear()
    cluster.run(30_000)
    for each in cluster.nodes.values():
        assert each.broker.quorum.epoch == EPOCH_MAX
        assert each.broker.quorum.election.voted_id is not None


@pytest.mark.parametrize("epochs", [[], [EPOCH_MAX]], ids=["quorum-state", "log"])
def test_a_node_that_knows_of_the_last_epoch_does_not_start(epochs: list[int]) -> None:
    cluster = Cluster(seed=1, voters=1)
    cluster.kill(1)
    cluster.disks[1] = disk_with(1, epochs, 5 if epochs else EPOCH_MAX, [1])
    with pytest.raises(BadQuorumState, match=f"{FILE}: the epoch {EPOCH_MAX}"):
        cluster.boot(1)


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"leaderId":-1,"leaderEpoch":2147483648,"votedId":-1,"data_version":0}',
        b'{"leaderId":-2,"leaderEpoch":1,"votedId":-1,"data_version":0}',
        b'{"leaderId":2147483648,"leaderEpoch":1,"votedId":-1,"data_version":0}',
        b'{"leaderId":-1,"leaderEpoch":1,"votedId":99999999999,"data_version":0}',
    ],
    ids=["brackets", "epoch", "leader-2", "leader", "voted"],
)
def test_a_file_that_kafka_cannot_have_written_is_refused(content: bytes) -> None:
    storage = MemoryStorage()
    LogDirectory(storage, "data", Rules())
    storage.make_directory(DIRECTORY)
    file = ElectionFile(storage, DIRECTORY, VoterHistory(voters_of(Voter(1))))
    file.save(ElectionState(1))
    storage.write_atomically(FILE, content)
    with pytest.raises(BadQuorumState, match=f"{FILE}: cannot be read"):
        file.load()
