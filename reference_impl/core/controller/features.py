"""The features of a cluster: which levels this version can work at, which a new cluster has, and
how they change.

Source: KIP-584, KIP-778, KIP-966, KIP-1022 (features whose lowest level is 0);
MetadataVersion.java, Feature.java, KRaftVersion.java, FeatureControlManager.java (updateFeature),
ConfigurationControlManager.java (maybeGenerateElrSafetyRecords).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reference_impl.core.configs.dynamic import ALL_BROKERS, MIN_INSYNC_REPLICAS
from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.metadata_image import BROKER_RESOURCE
from reference_impl.core.controller.image.registrations import (
    BrokerImage,
    ControllerImage,
    Features,
)
from reference_impl.core.controller.records import config_record
from reference_impl.core.quorum.voters.version_upgrade import reason_against_upgrade, upgrade
from reference_impl.core.quorum.voters.voter_set import KRAFT_VERSIONS
from reference_impl.core.refused import Refused
from reference_impl.core.storage import StorageError
from reference_impl.wire import ErrorCode, Struct, definition

METADATA, GROUPS, TRANSACTIONS = "metadata.version", "group.version", "transaction.version"
KRAFT = "kraft.version"
"""The level of this feature is a record of the quorum, not of its metadata."""
ELIGIBLE_REPLICAS = "eligible.leader.replicas.version"

SUPPORTED: dict[str, tuple[int, int]] = {
    ELIGIBLE_REPLICAS: (0, 1),  # KIP-966: with one replica no other is ever eligible
    GROUPS: (0, 1),  # KIP-848
    KRAFT: KRAFT_VERSIONS,  # KIP-853
    METADATA: (30, 30),  # 4.3-IV0, whose metadata records this version writes
    TRANSACTIONS: (0, 2),  # KIP-890: an epoch for each, partitions added by writing to them
}
"""Feature -> the lowest and the highest level at which this version can work. Clients must not use
a feature that is missing here, such as share.version, whatever its level."""

REGISTERED = {**SUPPORTED, "share.version": (0, 1), "streams.version": (0, 1)}
"""The levels at which a node may belong to a cluster. Apache Kafka's clusters begin with those of
share groups (KIP-932) and streams groups (KIP-1071), which this version does not serve."""


class UnsupportedLevel(StorageError):
    """The cluster works at a level that this version does not know; nothing was changed."""


def check_levels(levels: Mapping[str, int], directory: str) -> None:
    """Raise UnsupportedLevel unless this version can work at these levels (feature -> level); pass
    over features that it does not know. directory: the data directory to name in the error."""
    for name, (lowest, highest) in SUPPORTED.items():
        level = levels.get(name)
        if level is not None and not lowest <= level <= highest:
            raise UnsupportedLevel(
                directory,
                f"it belongs to a cluster at {name} {level}, and this version works at {lowest} to"
                f" {highest}; start the version that wrote it, or another directory",
            )


def first_levels() -> list[Struct]:
    """Return the records that set each feature to its highest level, metadata.version first;
    kraft.version is not among them, since the quorum keeps it."""
    # Kafka begins with metadata.version, which says how to read the rest.
    names = sorted(SUPPORTED, key=lambda name: (name != METADATA, name))
    return [
        definition("FeatureLevelRecord").new(name=name, feature_level=SUPPORTED[name][1])
        for name in names
        if SUPPORTED[name][1] > 0 and name != KRAFT
    ]


# --- changes ------------------------------------------------------------------------------------

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
"""The kinds of a requested change (FeatureUpdate.UpgradeType)."""


def records_of_update(controller: Controller, updates: Sequence[Struct]) -> list[Struct]:
    """Return the records that set these features to their new levels. There is none for
    kraft.version (`upgrade_quorum` writes it); eligible leader replicas bring their
    `safety_records`. Raise Refused(INVALID_UPDATE_VERSION) if one of the features cannot have its
    level."""
    records: list[Struct] = []
    for update in updates:
        name, level = update.feature, update.max_version_level
        problem = _problem_with(controller, update)
        if problem is not None:
            raise Refused(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"Invalid update version {level} for feature {name}. {problem}",
            )
        if name == KRAFT:  # its level is a record of the quorum (`upgrade_quorum`)
            continue
        records.append(definition("FeatureLevelRecord").new(name=name, feature_level=level))
        if name == ELIGIBLE_REPLICAS and level > 0:
            records += safety_records(controller)
    return records


def upgrade_quorum(controller: Controller, updates: Sequence[Struct]) -> list[Struct]:
    """Write a higher level of `kraft.version` if one of these updates, which `records_of_update`
    has checked, asks for it. Return a record for the caller to write next, so that the answer can
    wait for its offset; an empty list if the level stays. Raise StorageError if the disk fails."""
    level = next((each.max_version_level for each in updates if each.feature == KRAFT), 0)
    if level <= controller.metadata.log.voters.latest.kraft_version:
        return []
    upgrade(controller.metadata, level)
    return [definition("NoOpRecord").new()]


def _problem_with(controller: Controller, update: Struct) -> str | None:
    """Return the reason why a feature cannot have a level, or None if it can."""
    name, level = update.feature, update.max_version_level
    # [Modified in v1: KIP-778] Version 0 has a flag instead of three kinds.
    kind = SAFE_DOWNGRADE if update.allow_downgrade else update.upgrade_type
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return "The controller does not support the given upgrade type."
    current = controller.image.features.get(name, 0)
    if name == KRAFT:
        current = controller.metadata.log.voters.latest.kraft_version
    if level < 0:
        return "A feature version cannot be less than 0."
    reason = next(_reasons_against(controller, name, level), None)
    if reason is not None:
        return reason
    if level < current and kind == UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either"
            " safe or unsafe downgrade."
        )
    if level > current and kind != UPGRADE:
        return "Can't downgrade to a newer version."
    if name == KRAFT and level != current:
        if level < current:
            return "Can't downgrade the version of this feature."
        return reason_against_upgrade(controller.metadata, level)
    return None


def _reasons_against(controller: Controller, name: str, level: int) -> Iterator[str]:
    """Yield a sentence about each node that does not support this level of the feature
    (QuorumFeatures.reasonNotSupported). Every node supports level 0 of a feature that it does not
    name, except this controller."""
    image = controller.image
    nodes = [(f"Local controller {controller.node_id}", SUPPORTED.get(name))]
    registered: list[BrokerImage | ControllerImage] = [*image.controllers.values()]
    for each in (*registered, *image.brokers.values()):
        kind = "Controller" if isinstance(each, ControllerImage) else "Broker"
        found = each.features.get(name, Features(0, 0) if level == 0 else None)
        levels = None if found is None else (found.lowest, found.highest)
        nodes.append((f"{kind} {each.node_id}", levels))
    for node, levels in nodes:
        if levels is None:
            yield f"{node} does not support this feature."
        elif not levels[0] <= level <= levels[1]:
            yield f"{node} only supports versions {levels[0]}-{levels[1]}"


def safety_records(controller: Controller) -> Iterator[Struct]:
    """Yield the records, as far as they are missing, without which eligible leader replicas would
    not be safe: min.insync.replicas belongs to the cluster then, and to no broker (KIP-966)."""
    image = controller.image
    if MIN_INSYNC_REPLICAS not in image.configs_of_broker(ALL_BROKERS):
        value = controller.started_with.text(MIN_INSYNC_REPLICAS)
        yield config_record(BROKER_RESOURCE, ALL_BROKERS, MIN_INSYNC_REPLICAS, value)
    for broker in image.brokers:
        if MIN_INSYNC_REPLICAS in image.configs_of_broker(str(broker)):
            yield config_record(BROKER_RESOURCE, str(broker), MIN_INSYNC_REPLICAS, None)
