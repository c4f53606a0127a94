"""A node that is far behind fetches a snapshot from the leader, and goes on from its end."""

from __future__ import annotations

import pytest

from reference_impl.core.controller.image.image_records import records_of
from reference_impl.core.controller.records import config_record
from reference_impl.core.effects import Respond
from reference_impl.core.events import ConnectionOpened
from reference_impl.core.quorum.metadata_log import TOPIC
from reference_impl.core.quorum.snapshots.snapshot_file import SnapshotId
from reference_impl.core.tests.cluster import CLIENT, Cluster
from reference_impl.core.tests.hostile_quorum import FORGETFUL
from reference_impl.core.tests.test_quorum import cut_off, leaders
from reference_impl.links.effects import Ask
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition, response_definition

REQUEST = request_definition(ApiKey.FETCH_SNAPSHOT)
RESPONSE = response_definition(ApiKey.FETCH_SNAPSHOT)


class Trimmed:
    """A cluster whose leader has deleted what one node has not fetched yet."""

    def __init__(self, observers: int = 0) -> None:
        self.cluster = Cluster(seed=1, voters=3, observers=observers, configs=FORGETFUL)
        self.cluster.run(3_000)
        (self.leader,) = leaders(self.cluster)
        self.late = 4 if observers else self.leader % 3 + 1
        cut_off(self.cluster, self.late)
        for round_ in range(4):
            self.write(range(10 * round_, 10 * round_ + 10))
            self.cluster.run(3_000)

    def write(self, numbers: range) -> None:
        """Let the active controller write some records."""
        (self.leader,) = leaders(self.cluster)
        controller = self.cluster.nodes[self.leader].broker.controller
        for number in numbers:
            controller.write([config_record(4, "", f"k{number}", "v")])

    def end_of(self, node: int) -> int:
        """Return the end of a node's log."""
        return self.cluster.nodes[node].broker.quorum.end_offset

    def start_of(self, node: int) -> int:
        """Return the start of a node's log."""
        return self.cluster.nodes[node].broker.quorum.log.start_offset

    def image_of(self, node: int) -> list[str]:
        """Return what a node knows of the cluster."""
        return sorted(map(repr, records_of(self.cluster.nodes[node].broker.image)))

    def files_of(self, node: int) -> list[str]:
        """Return the snapshots of a node, and what is left of unfinished ones."""
        return [path for path in self.cluster.disks[node].paths() if ".checkpoint" in path]

    def check_caught_up(self) -> None:
        """Require that the late node knows all that the leader knows."""
        (leader,) = leaders(self.cluster)
        assert self.end_of(self.late) == self.end_of(leader)
        assert self.image_of(self.late) == self.image_of(leader)
        assert not [path for path in self.files_of(self.late) if path.endswith(".part")]


@pytest.mark.parametrize("observers", [0, 1])
def test_a_node_that_is_far_behind_fetches_a_snapshot(observers: int) -> None:
    trimmed = Trimmed(observers)
    assert trimmed.start_of(trimmed.leader) > trimmed.end_of(trimmed.late)
    trimmed.cluster.silent.clear()
    trimmed.cluster.run(5_000)
    trimmed.check_caught_up()
    assert trimmed.start_of(trimmed.late) > 0
    trimmed.cluster.kill(trimmed.late, loses_power=True)
    trimmed.cluster.boot(trimmed.late)
    trimmed.cluster.run(5_000)
    trimmed.check_caught_up()


def parts(trimmed: Trimmed, break_at: int) -> list[int]:
    """Note the position of each part that the late node asks for; cut its connections once at one
    of them."""
    asked: list[int] = []
    perform = trimmed.cluster._perform

    def note(node: int, effect: object) -> None:
        if isinstance(effect, Ask) and effect.api_key == ApiKey.FETCH_SNAPSHOT:
            asked.append(effect.body.topics[0].partitions[0].position)
            if len(asked) == break_at:
                cluster = trimmed.cluster
                cluster.at(0, lambda: cluster.cut(trimmed.late, trimmed.leader))
        perform(node, effect)  # type: ignore[arg-type]

    trimmed.cluster._perform = note  # type: ignore[method-assign]
    return asked


@pytest.mark.parametrize("break_at", [0, 2])
def test_a_snapshot_comes_in_parts_and_a_part_that_is_lost_is_asked_for_again(
    break_at: int,
) -> None:
    trimmed = Trimmed()
    positions = parts(trimmed, break_at)
    trimmed.cluster.silent.clear()
    trimmed.cluster.run(5_000)
    trimmed.check_caught_up()
    size = int(FORGETFUL["controller.quorum.fetch.snapshot.max.bytes"])
    assert positions[:2] == [0, size]
    assert len(positions) >= 3
    assert positions == sorted(positions)
    assert (len(positions) > len(set(positions))) is (break_at > 0)


def test_a_transfer_that_the_leader_cannot_finish_begins_again() -> None:
    """The leader dies half-way, and its successor has another snapshot."""
    trimmed = Trimmed()
    positions = parts(trimmed, 0)
    trimmed.cluster.silent.clear()
    while len(positions) < 2:
        trimmed.cluster.run(1)
    trimmed.cluster.kill(trimmed.leader)
    trimmed.cluster.run(1_000)
    trimmed.cluster.boot(trimmed.leader)
    trimmed.cluster.run(10_000)
    trimmed.check_caught_up()
    assert positions.count(0) > 1


def test_a_snapshot_that_arrives_damaged_is_set_aside_and_fetched_again() -> None:
    trimmed = Trimmed()
    disk = trimmed.cluster.disks[trimmed.leader]
    (path,) = trimmed.files_of(trimmed.leader)
    whole = disk.read_file(path)
    disk.corrupt(path, 300, b"????")
    trimmed.cluster.silent.clear()
    trimmed.cluster.run(1_000)
    assert [path for path in trimmed.files_of(trimmed.late) if path.endswith(".damaged")]
    disk.write_atomically(path, whole)
    trimmed.cluster.run(5_000)
    (leader,) = leaders(trimmed.cluster)
    assert trimmed.end_of(trimmed.late) == trimmed.end_of(leader)


def test_a_node_begins_again_after_the_error_of_an_apache_leader() -> None:
    """Apache Kafka 4.3.1 answers UNKNOWN_SERVER_ERROR where it has no such snapshot any more."""
    trimmed = Trimmed()
    perform = trimmed.cluster._perform
    refused: list[int] = []

    def refuse_first(node: int, effect: object) -> None:
        is_answer = isinstance(effect, Respond) and effect.request.api_key == ApiKey.FETCH_SNAPSHOT
        if is_answer and not refused:
            assert isinstance(effect, Respond)
            refused.append(node)
            effect.body = RESPONSE.new(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        perform(node, effect)  # type: ignore[arg-type]

    trimmed.cluster._perform = refuse_first  # type: ignore[method-assign]
    trimmed.cluster.silent.clear()
    trimmed.cluster.run(5_000)
    assert refused == [trimmed.leader]
    trimmed.check_caught_up()


# --- the request ----------------------------------------------------------------------------------


def asked_of_leader(trimmed: Trimmed, **fields: object) -> Struct:
    """Send one FetchSnapshot to the leader's controller, and return its answer."""
    quorum = trimmed.cluster.nodes[trimmed.leader].broker.quorum
    latest = quorum.log.snapshots.latest
    assert latest is not None
    given = {"epoch": quorum.epoch, "id": latest, "position": 0, "name": TOPIC, **fields}
    id = given["id"]
    assert isinstance(id, SnapshotId)
    row = REQUEST.struct(
        "PartitionSnapshot",
        current_leader_epoch=given["epoch"],
        snapshot_id=REQUEST.struct("SnapshotId", end_offset=id.offset, epoch=id.epoch),
        position=given["position"],
    )
    topic = REQUEST.struct("TopicSnapshot", name=given["name"], partitions=[row])
    body = REQUEST.new(
        cluster_id=given.get("cluster_id", quorum.cluster_id),
        replica_id=trimmed.late,
        max_bytes=100,
        topics=[topic] * int(str(given.get("topics", 1))),
    )
    return asked(trimmed.cluster, trimmed.leader, body)


def asked(cluster: Cluster, node: int, body: Struct) -> Struct:
    """Send one FetchSnapshot to a node's controller, and return its answer."""
    cluster.step(node, ConnectionOpened(*cluster.moment(), CLIENT, "CONTROLLER", 0))
    cluster.send(node, ApiKey.FETCH_SNAPSHOT, 1, body)
    return cluster.answers[node].pop()


@pytest.fixture(scope="module")
def trimmed() -> Trimmed:
    return Trimmed()


def test_the_leader_answers_with_a_part_of_the_file(trimmed: Trimmed) -> None:
    answer = asked_of_leader(trimmed, position=50)
    row = answer.topics[0].partitions[0]
    (path,) = trimmed.files_of(trimmed.leader)
    whole = trimmed.cluster.disks[trimmed.leader].read_file(path)
    assert (row.error_code, row.size, row.position) == (0, len(whole), 50)
    assert bytes(row.unaligned_records) == whole[50:150]
    assert row.current_leader.leader_id == trimmed.leader


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"position": -1}, ErrorCode.POSITION_OUT_OF_RANGE),
        ({"position": 1 << 40}, ErrorCode.POSITION_OUT_OF_RANGE),
        ({"id": SnapshotId(1, 1)}, ErrorCode.SNAPSHOT_NOT_FOUND),
        ({"id": SnapshotId(0, 0)}, ErrorCode.SNAPSHOT_NOT_FOUND),
        ({"epoch": 0}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"epoch": 99}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"name": "other"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_in_its_row(
    trimmed: Trimmed, fields: dict[str, object], code: ErrorCode
) -> None:
    row = asked_of_leader(trimmed, **fields).topics[0].partitions[0]
    assert (row.error_code, bytes(row.unaligned_records)) == (code, b"")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"cluster_id": "another"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"topics": 0}, ErrorCode.INVALID_REQUEST),
        ({"topics": 2}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_request_about_something_else_is_refused_whole(
    trimmed: Trimmed, fields: dict[str, object], code: ErrorCode
) -> None:
    answer = asked_of_leader(trimmed, **fields)
    assert (answer.error_code, answer.topics) == (code, [])


def test_a_snapshot_cannot_be_asked_of_a_follower(trimmed: Trimmed) -> None:
    follower = next(n for n in trimmed.cluster.nodes if n not in (trimmed.leader, trimmed.late))
    quorum = trimmed.cluster.nodes[follower].broker.quorum
    row = REQUEST.struct("PartitionSnapshot", current_leader_epoch=quorum.epoch)
    topic = REQUEST.struct("TopicSnapshot", name=TOPIC, partitions=[row])
    body = REQUEST.new(replica_id=trimmed.late, topics=[topic])
    answer = asked(trimmed.cluster, follower, body)
    row = answer.topics[0].partitions[0]
    assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert row.current_leader.leader_id == trimmed.leader
