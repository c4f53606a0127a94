"""The first decisions of a controller that has become the active one.

Source: ActivationRecordsGenerator.java, BootstrapMetadata.java.
"""

from __future__ import annotations

from reference_impl.core.configs.dynamic import ALL_BROKERS, MIN_INSYNC_REPLICAS
from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.features import (
    ELIGIBLE_REPLICAS,
    METADATA,
    check_levels,
    first_levels,
)
from reference_impl.core.controller.image.metadata_image import BROKER_RESOURCE
from reference_impl.core.controller.records import config_record
from reference_impl.wire import Struct, definition


def activate(controller: Controller) -> None:
    """Write the first records of a new cluster, abort a metadata transaction that an earlier
    controller left open, and give each broker that is not fenced a fresh session, since this
    controller has heard from none yet. Raise UnsupportedLevel if the first records set a feature to
    a level that this version does not know."""
    brokers = controller.image.brokers.values()
    controller.sessions.begin(each.node_id for each in brokers if not each.fenced)
    records = _first_records(controller)
    if controller.metadata.is_in_transaction:
        reason = "a controller failed before it ended the transaction"
        records.insert(0, definition("AbortTransactionRecord").new(reason=reason))
    if records:
        controller.write(records)


def _first_records(controller: Controller) -> list[Struct]:
    """Return the records with which a new cluster begins: those that formatting the directory has
    left, or the highest level of every feature; none if the cluster has its levels already. A
    directory of an earlier version of this project has topics but no levels; return only the levels
    for it. If eligible leader replicas are enabled, also set min.insync.replicas for the whole
    cluster, because brokers may no longer have values of their own (KIP-966)."""
    image = controller.image
    if METADATA in image.features:
        return []
    records = list(controller.first_records) or first_levels()
    levels = {record.name: record.feature_level for record in records if is_level(record)}
    check_levels(levels, controller.directory)
    if levels.get(ELIGIBLE_REPLICAS) and not image.topics:
        value = controller.started_with.text(MIN_INSYNC_REPLICAS)
        records.append(config_record(BROKER_RESOURCE, ALL_BROKERS, MIN_INSYNC_REPLICAS, value))
    return records


def is_level(record: Struct) -> bool:
    """Return whether a record sets the level of a feature."""
    return type(record).__name__ == "FeatureLevelRecord"
