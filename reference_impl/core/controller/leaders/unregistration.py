"""Remove brokers that will not come back from the cluster.

Source: ClusterControlManager.java (unregisterBroker), ReplicationControlManager.java
(handleBrokerUnregistered); KIP-631.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.leaders import elections
from reference_impl.core.controller.leaders.broker_changes import in_slices
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct, definition


def unregister_in_slices(controller: Controller, broker_id: int) -> Generator[None, None, None]:
    """Remove a broker from the cluster, from every ISR and from every leadership; yield after each
    slice of its partitions, so that others have their turn. Raise
    Refused(BROKER_ID_NOT_REGISTERED) if it is not registered."""
    yield from in_slices(controller, lambda: _left_by(controller, broker_id))
    records = list(_left_by(controller, broker_id))
    record = definition("UnregisterBrokerRecord").new(
        broker_id=broker_id, broker_epoch=controller.image.brokers[broker_id].broker_epoch
    )
    controller.write([*records, record])
    controller.sessions.forget(broker_id)


def _left_by(controller: Controller, broker_id: int) -> Iterator[Struct]:
    """Yield the records by which a broker leaves its ISRs. Raise
    Refused(BROKER_ID_NOT_REGISTERED) if it is not registered."""
    if broker_id not in controller.image.brokers:
        raise Refused(
            ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered"
        )
    yield from elections.without(controller, broker_id)
