"""The first decisions of a controller that has become the active one.

Source: ActivationRecordsGenerator.java, BootstrapMetadata.java.
"""

from __future__ import annotations

from reference_impl.core.configs.dynamic import ALL_BROKERS, MIN_INSYNC_REPLICAS
from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.features import first_levels
from reference_impl.core.controller.image.metadata_image import BROKER_RESOURCE
from reference_impl.core.controller.records import config_record
from reference_impl.wire import Struct, definition


def activate(controller: Controller) -> None:
    """Write the first records of a new cluster, and give each broker a fresh session, since this
    controller has heard from none yet."""
    controller.sessions.begin(controller.image.brokers)
    records = [*first_levels(controller.image), *_first_configs(controller)]
    if controller.metadata.is_in_transaction:
        reason = "a controller failed before it ended the transaction"
        records.insert(0, definition("AbortTransactionRecord").new(reason=reason))
    if records:
        controller.write(records)


def _first_configs(controller: Controller) -> list[Struct]:
    """Return the first configuration of a new cluster: min.insync.replicas for all brokers.

    With eligible leader replicas it is the cluster's, not a broker's (KIP-966).
    """
    if controller.image.features or controller.image.topics:
        return []
    value = controller.started_with.text(MIN_INSYNC_REPLICAS)
    return [config_record(BROKER_RESOURCE, ALL_BROKERS, MIN_INSYNC_REPLICAS, value)]
