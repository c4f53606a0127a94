"""Voters are added, removed and updated while the quorum works (KIP-853), one change at a time.

Each table is played by real nodes. In "2+3 | 1 4 5" the nodes 2 and 3 hear each other, and so do 1,
4 and 5, but nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from uuid import UUID

import pytest

from reference_impl.core.events import Request, RequestArrived
from reference_impl.core.quorum import messages
from reference_impl.core.quorum.voters.voter_set import voters_of
from reference_impl.core.rules import Rules
from reference_impl.core.storage import MemoryStorage
from reference_impl.core.tests.cluster import CLIENT, ChangeableCluster, Cluster
from reference_impl.core.tests.hostile_quorum import Broken, Schedule, Watcher
from reference_impl.core.tests.node_identities import (
    CLUSTER_ID,
    directory_id,
    format_directory,
    voter,
)
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition

ADD, REMOVE = definition("AddRaftVoterRequest"), definition("RemoveRaftVoterRequest")
CLIENTS = count(2_000_000)
FETCH_MS = 1_000
WITHIN_MS = 30_000


def quorum_of(voters: int, spare: int, rules: type[Rules] = Rules, **configs: str) -> Cluster:
    """Return a working quorum whose voters can change, and controllers that are no voters yet."""
    named = {name.replace("_", "."): text for name, text in configs.items()}
    cluster = ChangeableCluster(seed=5, voters=voters, observers=spare, rules=rules, configs=named)
    cluster.run(4_000)
    return cluster


def leader_of(cluster: Cluster, among: Iterable[int] = ()) -> int:
    """Return the leader of the newest epoch, as soon as there is one among these nodes."""
    wanted = set(among) or set(cluster.nodes)
    for _ in range(WITHIN_MS // 10):
        led = {
            node.broker.quorum.epoch: number
            for number, node in cluster.nodes.items()
            if node.broker.quorum.is_leader and number in wanted
        }
        if led:
            return led[max(led)]
        cluster.run(10)
    raise AssertionError(f"none of {wanted} leads")


def link(cluster: Cluster, *groups: Iterable[int]) -> None:
    """Let nodes hear each other only within each group."""
    together = [set(group) for group in groups]
    nodes = cluster.disks.keys()
    cluster.silent = {
        (a, b) for a in nodes for b in nodes if not any({a, b} <= group for group in together)
    }


def add_request(node: int, directory: UUID | None = None) -> Struct:
    controller = voter(node).endpoints["CONTROLLER"]
    row = ADD.struct("Listener", name="CONTROLLER", host=controller.host, port=controller.port)
    return ADD.new(
        cluster_id=CLUSTER_ID,
        timeout_ms=5_000,
        voter_id=node,
        voter_directory_id=directory or directory_id(node),
        listeners=[row],
    )


def remove_request(node: int) -> Struct:
    return REMOVE.new(cluster_id=CLUSTER_ID, voter_id=node, voter_directory_id=directory_id(node))


def send(cluster: Cluster, node: int, body: Struct, client: int | None = None) -> None:
    """Ask for a change. Only the answer to the test's client is heard; by default it is another
    one, which waits for nothing."""
    is_add = hasattr(body, "ack_when_committed")
    key, version = (ApiKey.ADD_RAFT_VOTER, 1) if is_add else (ApiKey.REMOVE_RAFT_VOTER, 0)
    connection = next(CLIENTS) if client is None else client
    request = Request(connection, key, version, 1, "test", "/1.2.3.4", body)
    cluster.step(node, RequestArrived(*cluster.moment(), request))


def change(cluster: Cluster, leader: int, body: Struct) -> str:
    """Ask for a change, and return how it is answered."""
    cluster.answers[leader].clear()
    send(cluster, leader, body, CLIENT)
    for _ in range(WITHIN_MS // 10):
        cluster.run(10)
        if cluster.answers[leader]:
            return ErrorCode(cluster.answers[leader][0].error_code).name
    return "silence"


def voters_at(cluster: Cluster, *nodes: int) -> str:
    """Return the voters that each of these nodes goes by; all, if none is named."""
    quorums = (cluster.nodes[node].broker.quorum for node in nodes or cluster.nodes)
    return " or ".join(sorted({"+".join(map(str, quorum.voters)) for quorum in quorums}))


CHANGES = """
add 4     | NONE            | 1+2+3+4
add 4     | DUPLICATE_VOTER | 1+2+3+4
add 5     | NONE            | 1+2+3+4+5
remove 4  | NONE            | 1+2+3+5
remove 4  | VOTER_NOT_FOUND | 1+2+3+5
remove 1  | NONE            | 2+3+5
remove 2  | NONE            | 3+5
remove 3  | NONE            | 5
remove 5  | VOTER_NOT_FOUND | 5
add 1     | NONE            | 1+5
"""
"""Request | its answer | the voters that all nodes go by afterwards. The last voter stays."""


def test_voters_come_and_go_one_by_one_the_leader_too() -> None:
    cluster, seen = quorum_of(3, 2), []
    for row in CHANGES.strip().splitlines():
        request = row.split("|")[0].strip()
        what, node = request.split()
        body = (add_request if what == "add" else remove_request)(int(node))
        answer = change(cluster, leader_of(cluster), body)
        leader_of(cluster)
        cluster.run(3 * FETCH_MS)
        seen.append([request, answer, voters_at(cluster)])
    assert seen == [[cell.strip() for cell in r.split("|")] for r in CHANGES.strip().splitlines()]
    leader = cluster.nodes[leader_of(cluster, (1, 5))].broker.quorum
    assert leader.high_watermark == leader.end_offset


def test_a_node_that_is_started_again_knows_the_voters() -> None:
    cluster = quorum_of(3, 1)
    assert change(cluster, leader_of(cluster), add_request(4)) == "NONE"
    cluster.run(FETCH_MS)
    for node in (1, 4):
        cluster.kill(node, loses_power=True)
        cluster.boot(node)
        assert voters_at(cluster, node) == "1+2+3+4"


def test_a_voter_that_has_lost_its_directory_is_no_voter_until_it_is_added_again() -> None:
    cluster = quorum_of(3, 0)
    lost = next(n for n in (1, 2, 3) if n != leader_of(cluster))
    cluster.kill(lost)
    cluster.disks[lost] = MemoryStorage()
    format_directory(cluster.disks[lost], lost)
    meta = cluster.disks[lost].read_file("data/meta.properties")
    fresh = meta.replace(f"{lost}AAAA".encode(), f"{lost}AABA".encode())
    cluster.disks[lost].write_atomically("data/meta.properties", fresh)
    cluster.boot(lost)
    cluster.run(4 * FETCH_MS)
    node = cluster.nodes[lost].broker.quorum
    assert not node.is_voter
    assert node.end_offset > 0, "it follows all the same"
    leader = leader_of(cluster)
    assert change(cluster, leader, add_request(lost, node.directory_id)) == "DUPLICATE_VOTER"
    assert change(cluster, leader, remove_request(lost)) == "NONE"
    assert change(cluster, leader, add_request(lost, node.directory_id)) == "NONE"
    cluster.run(FETCH_MS)
    assert node.is_voter


def test_a_controller_joins_by_itself_and_in_the_place_of_its_lost_directory() -> None:
    cluster = quorum_of(2, 1, controller_quorum_auto_join_enable="true")
    cluster.run(6 * FETCH_MS)
    assert voters_at(cluster) == "1+2+3"
    cluster.kill(3)
    cluster.disks[3] = MemoryStorage()
    format_directory(cluster.disks[3], 3)
    meta = cluster.disks[3].read_file("data/meta.properties")
    cluster.disks[3].write_atomically("data/meta.properties", meta.replace(b"3AAAA", b"3AABA"))
    cluster.boot(3)
    cluster.run(10 * FETCH_MS)
    node = cluster.nodes[3].broker.quorum
    assert node.is_voter
    assert cluster.nodes[1].broker.quorum.voters[3].directory_id == node.directory_id


def test_a_voter_tells_its_leader_where_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = quorum_of(3, 0)
    moved = next(n for n in (1, 2, 3) if n != leader_of(cluster))
    quorum = cluster.nodes[moved].broker.quorum
    elsewhere = {
        "CONTROLLER": voter(moved).endpoints["CONTROLLER"],
        "OTHER": voter(1).endpoints["CONTROLLER"],
    }
    monkeypatch.setattr(quorum, "member", replace(quorum.member, endpoints=elsewhere))
    cluster.run(4 * FETCH_MS)
    for node in cluster.nodes.values():
        assert dict(node.broker.quorum.voters[moved].endpoints) == elsewhere


def test_a_replica_that_has_never_fetched_becomes_no_voter() -> None:
    cluster = quorum_of(3, 1)
    unknown = UUID(int=12345)
    assert change(cluster, leader_of(cluster), add_request(4, unknown)) == "REQUEST_TIMED_OUT"
    assert voters_at(cluster) == "1+2+3"


REFUSED = """
another cluster   | INCONSISTENT_CLUSTER_ID
no directory      | INVALID_REQUEST
no such listener  | INVALID_REQUEST
"""


def test_requests_that_cannot_be_met_are_refused() -> None:
    cluster, seen = quorum_of(3, 1), []
    broken: dict[str, Callable[[Struct], None]] = {
        "another cluster": lambda body: setattr(body, "cluster_id", "x" * 22),
        "no directory": lambda body: setattr(body, "voter_directory_id", UUID(int=0)),
        "no such listener": lambda body: body.listeners.clear(),
    }
    for name, break_it in broken.items():
        body = add_request(4)
        break_it(body)
        seen.append([name, change(cluster, leader_of(cluster), body)])
    assert seen == [[cell.strip() for cell in r.split("|")] for r in REFUSED.strip().splitlines()]


def test_configured_voters_cannot_be_changed() -> None:
    cluster = Cluster(seed=5, voters=3, observers=1)
    cluster.run(4_000)
    assert change(cluster, leader_of(cluster), add_request(4)) == "UNSUPPORTED_VERSION"
    assert change(cluster, leader_of(cluster), remove_request(1)) == "UNSUPPORTED_VERSION"


class ChangeTwoVotersAtOnce(Rules):
    def check_one_change(self, offset: int, high_watermark: int, *, is_changing: bool) -> None:
        """Begin each change at once."""


@pytest.mark.parametrize("rules", [Rules, ChangeTwoVotersAtOnce])
def test_two_changes_at_once_would_give_two_majorities_without_a_common_voter(
    rules: type[Rules],
) -> None:
    """A leader of three adds two, which hear it alone: with it they are three of five, and the
    other two of three go on without it."""
    cluster = quorum_of(3, 2, rules)
    watcher = Watcher(cluster)
    cluster.watch = watcher.look
    leader = leader_of(cluster)
    others = {1, 2, 3} - {leader}
    link(cluster, (leader, 4, 5), others)
    cluster.nodes[leader].broker.quorum.settings = replace(
        cluster.nodes[leader].broker.quorum.settings, fetch_timeout_ms=60_000
    )
    for node in (4, 5):
        send(cluster, leader, add_request(node))
        cluster.run(200)
    assert voters_at(cluster, leader) == ("1+2+3+4+5" if rules is not Rules else "1+2+3+4")
    found = play(cluster, lambda: leader_of(cluster, others))
    assert (found is not None) is (rules is not Rules)


class ChangeBeforeOwnCommit(Rules):
    def check_fenced(self, told_high_watermark: int) -> None:
        """Begin a change whatever an earlier leader has begun."""


@pytest.mark.parametrize("rules", [Rules, ChangeBeforeOwnCommit])
def test_a_change_before_the_leaders_own_commit_would_lose_what_is_committed(
    rules: type[Rules],
) -> None:
    """The bug of 2015 in Raft's changes of one server: four voters, and a leader that adds a fifth
    unseen by the others; its successor removes it and commits with one of the two left."""
    cluster = quorum_of(4, 1, rules)
    watcher = Watcher(cluster)
    cluster.watch = watcher.look
    first = leader_of(cluster)
    link(cluster, (first, 5))
    send(cluster, first, add_request(5))
    cluster.run(300)
    assert voters_at(cluster, first, 5) == "1+2+3+4+5"
    others = {1, 2, 3, 4} - {first}
    link(cluster, others, (first, 5))
    second = third = 0

    def isolate(node: int) -> None:
        """Cut one voter off from the next leader, in the step in which that is elected."""
        nonlocal second, third
        watcher.look(node)
        if node in others and not second and cluster.nodes[node].broker.quorum.is_leader:
            second, third = node, min(others - {node})
            link(cluster, (second, third), (first, 5))

    cluster.watch = isolate
    leader_of(cluster, others)
    fourth = max(others - {second})
    send(cluster, second, remove_request(first))
    cluster.run(1_000)
    link(cluster, (second, third), (first, fourth, 5))
    found = play(cluster, lambda: leader_of(cluster, (first, fourth, 5)))
    assert (found is not None) is (rules is not Rules)


def play(cluster: Cluster, elect: Callable[[], int]) -> str | None:
    """Let others elect a leader, and let time pass. Return the promise that is broken, or None."""
    try:
        elect()
        cluster.run(4 * FETCH_MS)
    except Broken as broken:
        return str(broken)
    except AssertionError:
        return None  # nobody is elected: the quorum stands still, and loses nothing
    return None


class AddLaggards(Rules):
    def may_become_voter(self, caught_up_ms: int, now_ms: int) -> bool:
        return True


def test_a_voter_that_lags_would_stop_the_quorum() -> None:
    """With a second voter that cannot follow, the first commits nothing any more."""
    cluster = quorum_of(1, 1, AddLaggards)
    link(cluster, (1,))
    cluster.run(100)
    leader = cluster.nodes[1].broker.quorum
    ahead = leader.log.voters
    cluster.silent = set()
    assert change(cluster, 1, add_request(2, UUID(int=77))) != "NONE"
    assert ahead.latest.offset >= leader.high_watermark, "the record stays uncommitted"


class ChangingVoters(Schedule):
    """A hostile schedule in which voters come and go, too."""

    cluster_class = ChangeableCluster

    def __init__(self, seed: int, rules: type[Rules] = Rules) -> None:
        super().__init__(seed, 3, rules, observers=2)
        self.faults = (*self.faults, self.change_voters)
        self.weights = (*self.weights, 6)
        self.changes = 0

    def change_voters(self) -> None:
        """Ask every node for a change of the voters; the leader makes it."""
        node = self.random.choice(self.nodes)
        body = self.random.choice((add_request, remove_request))(node)
        for each in self.cluster.nodes:
            send(self.cluster, each, body)


@pytest.mark.seeds(4)
def test_a_quorum_whose_voters_change_keeps_its_promises(seed: int) -> None:
    schedule = ChangingVoters(seed)
    schedule.run(seconds=20)
    assert len(schedule.watcher.committed) > 5
    kinds = {len(node.broker.quorum.voters) for node in schedule.cluster.nodes.values()}
    assert len(kinds) == 1, "all go by the same voters in the end"


def test_a_node_of_another_directory_is_told_apart_in_messages() -> None:
    cluster = quorum_of(3, 0)
    quorum = cluster.nodes[1].broker.quorum
    messages.check_voter(quorum, 1, directory_id(1))
    with pytest.raises(Exception, match="INVALID_VOTER_KEY"):
        messages.check_voter(quorum, 1, UUID(int=5))


def test_a_change_of_voters_that_is_cut_off_was_never_in_force() -> None:
    """Its leader was replaced before a majority had the record (KIP-853)."""
    cluster = quorum_of(1, 0)
    log = cluster.nodes[1].broker.quorum.log
    end, before = log.end_offset, log.voters.latest
    log.append_voters(voters_of(voter(1), voter(2)), log.last_epoch, 0)
    assert sorted(log.voters.latest.voters) == [1, 2]
    log.truncate(end)
    assert log.voters.latest == before
