"""The brokers that a client may talk to, at the addresses of the listener it came in by.

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
    """A broker as a client is told of it."""

    node_id: int
    endpoint: Endpoint
    rack: str | None
    is_fenced: bool = False


def alive_brokers(
    broker: Broker, request: Request, *, with_fenced: bool = False
) -> dict[int, Alive]:
    """Return the brokers that have the listener of this connection, by their ids. Those that are
    fenced are not alive."""
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
    """Return the node that clients take for the controller: a broker that lives, as controllers are
    not for clients. Where the active one is a broker too, that saves a hop (KIP-590)."""
    active = broker.controller_id
    if active in alive:
        return active
    return broker.node_id if broker.node_id in alive or not alive else next(iter(alive))
