"""Requests that only nodes of the cluster may send: each needs ClusterAction on the cluster.

Source: ControllerApis.scala (authorizeClusterAction), KIP-595.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.handlers import refusals
from reference_impl.core.requests.api import Handler
from reference_impl.core.security.authorization.permissions import CLUSTER_ACTION
from reference_impl.wire import ErrorCode


def among_nodes(response: str, handle: Callable[[Broker, Request], Iterator[Effect]]) -> Handler:
    """Return a handler that does what `handle` does for a sender that may act as a node of the
    cluster, and answers any other with an error. response: the name of the answer's definition."""
    refuse = refusals.on_top(response)

    def handle_of_node(broker: Broker, request: Request) -> Iterator[Effect]:
        if not broker.access.may(request, CLUSTER_ACTION):
            refusal = refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            return iter((Respond(request, refusal),))
        return handle(broker, request)

    return handle_of_node
