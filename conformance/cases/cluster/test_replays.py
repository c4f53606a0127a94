"""Metadata that a restarted node reads from a snapshot and from the log behind it (KIP-630)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.case import case, expect
from conformance.cases.cluster.test_quorum import METADATA
from conformance.cases.configs.configs import alter, change, describe, wait_for
from conformance.cases.quotas.quotas import CLIENT_ID, entry, key_of
from conformance.cases.quotas.quotas import alter as alter_quotas
from conformance.cases.quotas.quotas import described as described_quotas
from conformance.target.examination import Examined
from conformance.target.restarts import restarting
from conformance.target.variants import OFTEN_SNAPSHOT
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import ErrorCode

RATE = 1_000_000.0


def image(wire: Wire, topics: list[Topic], client_ids: list[str]) -> dict[str, Any]:
    """Return what the cluster says about these topics, about their configurations, and about these
    clients' quotas."""
    told: dict[str, Any] = {}
    for topic in topics:
        row = wire.topic_metadata(topic.name)
        told[f"partitions of {topic.name}"] = (row.error_code, row.topic_id, len(row.partitions))
        found = describe(wire, topic.name, ["retention.ms", "cleanup.policy"])
        told[f"settings of {topic.name}"] = (
            found.error_code,
            sorted((row.name, row.value, row.config_source) for row in found.configs),
        )
    quotas = described_quotas(wire)
    for client_id in client_ids:
        told[f"quotas of {client_id}"] = quotas.get(key_of({CLIENT_ID: client_id}))
    return told


def change_everything(wire: Wire) -> tuple[list[Topic], list[str]]:
    """Create a topic, delete another, change a setting, add partitions, set a quota; return what
    `image` asks about."""
    kept, deleted = wire.create_topic(2, {"retention.ms": "123000"}), wire.create_topic()
    wire.delete_topic(deleted)
    code = alter(wire, None, {kept.name: [change("retention.ms", "456000")]})
    expect(code, {kept.name: ErrorCode.NONE}, "errors of IncrementalAlterConfigs")
    wait_for(wire, kept.name, "retention.ms", "456000")
    client_id = wire.new_name("client")
    row = entry({CLIENT_ID: client_id}, producer_byte_rate=RATE)
    expect(alter_quotas(wire, row), [ErrorCode.NONE], "errors of AlterClientQuotas")
    wire.at_end(lambda: alter_quotas(wire, entry({CLIENT_ID: client_id}, producer_byte_rate=None)))
    return [kept, deleted], [client_id]


def snapshots_of(directory: Path) -> list[str]:
    """Return the names of the snapshots of the metadata, without that of the formatted disk."""
    found = sorted(file.name for file in directory.glob("*.checkpoint"))
    return [name for name in found if not name.startswith("0" * 20)]


@case(
    "KRFT-14",
    "Metadata",
    versions=(13, 13),
    spec="KIP-630, Snapshots; class SnapshotGenerator; class MetadataLoader",
    priority="P2",
    requires=["restart"],
    config=OFTEN_SNAPSHOT,
)
def test_a_snapshot_and_the_log_behind_it_give_the_same_metadata(
    wire: Wire, version: int, examined: Examined
) -> None:
    """A node that is killed after a snapshot of the metadata was written, and after further
    changes, has the same metadata after its next start: topics with their ids and partitions,
    deleted topics, settings and quotas."""
    topics, client_ids = change_everything(wire)
    node = min(wire.brokers())
    directory = examined.data_of(node) / f"{METADATA}-0"

    def snapshot_after_another_topic() -> list[str]:
        wire.create_topic()
        return snapshots_of(directory)

    eventually(snapshot_after_another_topic, bool, "a snapshot is written")
    later = change_everything(wire)
    topics, client_ids = topics + later[0], client_ids + later[1]
    before = image(wire, topics, client_ids)
    quotas = {name: told for name, told in before.items() if name.startswith("quotas")}
    rate = {"producer_byte_rate": RATE}
    expect(list(quotas.values()), [rate, rate], "quotas before")
    with restarting(wire, topics[0]):
        examined.kill_and_restart()
    eventually(
        lambda: image(wire, topics, client_ids), lambda now: now == before, f"it knows {before}"
    )
