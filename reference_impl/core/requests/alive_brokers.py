"""The brokers that a client can reach, with their addresses on the listener that the client used.

Source: KRaftMetadataCache.java (getAliveBrokerNodes, getAliveEndpoint); KIP-103.
"""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.registrations import BrokerImage
from reference_impl.core.events import Request
from reference_impl.core.security.listeners import Endpoint


@dataclass(frozen=True, slots=True)
class Alive:
    """A broker as a Metadata or DescribeCluster response describes it."""

    node_id: int
    endpoint: Endpoint
    rack: str | None
    is_fenced: bool = False


def alive_brokers(
    broker: Broker, request: Request, *, with_fenced: bool = False
) -> dict[int, Alive]:
    """Return the brokers that have the listener of this connection, by their ids; fenced brokers
    only if `with_fenced`."""
    listener = broker.connection_listeners.name_of(request.connection)
    found = {}
    for node_id, each in sorted(broker.image.brokers.items()):
        endpoint = _endpoint(broker, request, each, listener)
        if endpoint is not None and (with_fenced or not each.fenced):
            found[node_id] = Alive(node_id, endpoint, each.rack, each.fenced)
    return found


def _endpoint(broker: Broker, request: Request, of: BrokerImage, listener: str) -> Endpoint | None:
    if of.node_id == broker.node_id:
        return broker.advertised_to(request)
    return of.listeners.get(listener)


def controller_told(broker: Broker, alive: dict[int, Alive]) -> int:
    """Return the node to name as the controller: a broker in `alive`, since clients cannot reach
    controllers. Name the active controller's node if it is one of them, which saves a hop
    (KIP-590), else this broker, else the one with the lowest id. If `alive` is empty, name this
    broker."""
    active = broker.controller_id
    if active in alive:
        return active
    return broker.node_id if broker.node_id in alive or not alive else next(iter(alive))
