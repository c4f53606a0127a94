"""The access of a node to others, as its connections use it, and what the log says of refusals."""

from __future__ import annotations

import logging

from reference_impl.access import Access
from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.security.peer_access import PeerAccess
from reference_impl.host.outgoing.access_to import AccessTo
from reference_impl.host.seldom import Seldom
from reference_impl.host.tcp.tls import client_context
from reference_impl.links.effects import Destination

log = logging.getLogger("reference_impl.host")


def access_to_nodes(config: BrokerConfig) -> AccessTo:
    """Return a function that gives a node's access to each destination. Raise BadConfig for
    settings that contradict each other, or keys and certificates that cannot be loaded."""
    peers = config.access_to_peers()
    brokers, controllers = _access(peers.brokers), _access(peers.controllers)
    return lambda to: controllers if to.lane.leads_to_controllers else brokers


def _access(peer: PeerAccess) -> Access:
    context = None if peer.tls is None else client_context(peer.listener, peer.tls)
    return Access(peer.protocol, peer.mechanism, peer.username, peer.password, made_context=context)


class Refusals:
    """Logs why other nodes refuse a connection, seldom, since the node goes on trying."""

    def __init__(self) -> None:
        self._seldom = Seldom()

    def refused(self, destination: Destination, reason: str) -> None:
        """Log the reason, unless the same was logged of this address a short time ago."""
        where = destination.host, destination.port
        if self._seldom.is_due(where, reason):
            what = "controller" if destination.lane.leads_to_controllers else "broker"
            log.warning("no access to the %s at %s:%d, tried again: %s", what, *where, reason)
