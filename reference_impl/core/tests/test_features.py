"""The levels of features: records of the metadata log decide, not this version's constants."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from reference_impl.core.controller import activation
from reference_impl.core.controller.features import (
    ELIGIBLE_REPLICAS,
    GROUPS,
    KRAFT,
    METADATA,
    SUPPORTED,
    TRANSACTIONS,
    UnsupportedLevel,
)
from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.quorum.snapshots.formatting import FIRST_RECORDS
from reference_impl.core.quorum.snapshots.snapshot_file import (
    BOOTSTRAP,
    DamagedSnapshot,
    UnfinishedSnapshot,
)
from reference_impl.core.quorum.voters.voter_set import CONFIGURED, Composition
from reference_impl.core.tests.world import START_MS, World
from reference_impl.wire import (
    ApiKey,
    ControlRecordType,
    ErrorCode,
    Record,
    RecordBatch,
    Struct,
    definition,
    read_header,
    request_definition,
)

CONTROL_BIT = 1 << 5
HIGHEST = {n: highest for n, (_, highest) in SUPPORTED.items() if highest > 0 and n != KRAFT}


def level(name: str, value: int) -> Struct:
    return definition("FeatureLevelRecord").new(name=name, feature_level=value)


def outside_the_quorum(world: World) -> dict[str, bytes]:
    """Return the files other than those that tell who led."""
    return {
        path: world.storage.read_file(path)
        for path in world.storage.paths()
        if "__cluster_metadata-0" not in path
    }


def finalized(world: World) -> dict[str, int]:
    answer = world.call(
        ApiKey.API_VERSIONS, 4, client_software_name="test", client_software_version="1"
    )
    assert answer.finalized_features_epoch == world.node.broker.image.end_offset - 1
    return {row.name: row.max_version_level for row in answer.finalized_features}


def test_a_new_cluster_begins_with_its_levels_once() -> None:
    world = World()
    assert finalized(world) == world.node.broker.image.features == HIGHEST
    before = world.node.broker.quorum.end_offset
    world.restart()
    who_leads, registered_and_unfenced = 1, 2
    after = world.node.broker.quorum.end_offset
    assert (finalized(world), after) == (HIGHEST, before + who_leads + registered_and_unfenced)


def test_a_directory_without_levels_gets_them_at_the_next_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(activation, "first_levels", list)
    world = World()
    assert finalized(world) == {}
    monkeypatch.undo()
    world.kill()
    assert finalized(world) == HIGHEST
    world.kill()
    assert finalized(world) == HIGHEST


class Formatted(World):
    """A broker on a directory that `kafka-storage format` has formatted with these levels."""

    levels: ClassVar[dict[str, int]] = {METADATA: 30, TRANSACTIONS: 1, "share.version": 1}

    def boot(self) -> None:
        if not self.storage.exists(f"data/{FIRST_RECORDS}"):
            self.storage.make_directory("data")
            file = UnfinishedSnapshot(self.storage, "data", BOOTSTRAP, 1)
            file.begin(START_MS, START_MS, Composition(CONFIGURED, 0, {}))
            file.add([level(*row) for row in self.levels.items()], START_MS)
            file.end(START_MS)
            self.storage.rename(f"data/{BOOTSTRAP.file_name}", f"data/{FIRST_RECORDS}")
        super().boot()


def test_a_cluster_begins_with_the_levels_for_which_its_directory_was_formatted() -> None:
    world = Formatted()
    expected = {METADATA: 30, TRANSACTIONS: 1}
    assert finalized(world) == expected
    assert "" not in world.node.broker.image.broker_configs, "no ELR, no min.insync.replicas"
    world.node.broker.controller.write([level(TRANSACTIONS, 2)])
    world.kill()
    assert finalized(world) == {**expected, TRANSACTIONS: 2}, "they count once"


def test_a_directory_formatted_for_another_version_is_refused_and_nothing_is_written() -> None:
    class Older(Formatted):
        levels: ClassVar[dict[str, int]] = {METADATA: 25}

    with pytest.raises(UnsupportedLevel, match=r"at metadata.version 25, .* works at 30 to 30"):
        Older()


def test_first_records_that_were_cut_short_are_refused() -> None:
    world = Formatted()
    world.storage.kill()
    file = world.storage.open(f"data/{FIRST_RECORDS}")
    file.truncate(file.size() - 75)
    with pytest.raises(DamagedSnapshot, match=r"bootstrap.checkpoint.* was cut short"):
        world.boot()


def test_levels_are_answered_as_the_log_has_them() -> None:
    world = World()
    world.node.broker.controller.write([level(TRANSACTIONS, 1), level("share.version", 1)])
    expected = {**HIGHEST, TRANSACTIONS: 1}
    assert finalized(world) == expected, "share.version is not served"
    world.kill()
    assert finalized(world) == expected
    world.node.broker.controller.write([level(TRANSACTIONS, 0)])
    assert TRANSACTIONS not in finalized(world)


@pytest.mark.parametrize("wrong", [29, 31])
def test_a_level_that_is_unknown_stops_the_node_before_it_changes_anything(wrong: int) -> None:
    world = World()
    metadata = world.node.broker.quorum
    metadata.append([level(METADATA, wrong)], START_MS)
    before = outside_the_quorum(world)
    with pytest.raises(UnsupportedLevel, match=f"at {METADATA} {wrong}, .* works at 30 to 30"):
        world.kill()
    assert outside_the_quorum(world) == before


def test_without_group_version_there_are_no_consumer_groups() -> None:
    world = World()
    world.node.broker.controller.write([level(GROUPS, 0)])
    fields: dict[str, Any] = {
        "group_id": "g",
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout_ms": 1000,
    }
    answer = world.call(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **fields)
    assert ErrorCode(answer.error_code) is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("elr", [0, 1])
def test_min_insync_replicas_is_the_clusters_with_eligible_replicas_alone(elr: int) -> None:
    world = World()
    world.node.broker.controller.write([level(ELIGIBLE_REPLICAS, elr)])
    of = request_definition(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    row = of.struct("AlterableConfig", name="min.insync.replicas", config_operation=0, value="1")
    resource = of.struct("AlterConfigsResource", resource_type=4, resource_name="1", configs=[row])
    answer = world.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource])
    expected = ErrorCode.INVALID_CONFIG if elr else ErrorCode.NONE
    assert ErrorCode(answer.responses[0].error_code) is expected


def append_control(world: World, kind: int, value: bytes = b"\0\0") -> None:
    """Append a control record as Raft writes them: the key has a version and a type."""
    record = Record(value, (0).to_bytes(2, "big") + kind.to_bytes(2, "big"))
    data = bytearray(RecordBatch([record], attributes=CONTROL_BIT).encode())
    log = world.node.broker.quorum.log.log
    log.append(data, read_header(data), log.latest_epoch or 0, START_MS)


def test_the_leaders_of_the_past_say_nothing() -> None:
    world = World()
    append_control(world, ControlRecordType.LEADER_CHANGE)
    world.create_topic("t")
    world.kill()
    assert world.node.broker.image.topics.keys() == {"t"}


@pytest.mark.parametrize("kind", [3, 4])
def test_other_control_records_stop_the_node(kind: int) -> None:
    world = World()
    append_control(world, kind)
    with pytest.raises(CorruptLog, match=f"control record type {kind} is unknown"):
        world.kill()


def test_a_kraft_version_of_the_future_stops_the_node() -> None:
    world = World()
    of = definition("KRaftVersionRecord")
    append_control(world, ControlRecordType.KRAFT_VERSION, of.encode(of.new(k_raft_version=2), 0))
    with pytest.raises(CorruptLog, match=r"kraft.version 2 is unknown"):
        world.kill()


def test_a_log_whose_beginning_is_in_a_snapshot_stops_the_node() -> None:
    world = World()
    log = world.node.broker.quorum.log.log
    log.delete_records_before(1)
    with pytest.raises(
        CorruptLog, match="begins at offset 1, and no whole snapshot holds what came before"
    ):
        world.restart()
