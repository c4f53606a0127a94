"""The life of a controller in its cluster: it registers with the active one.

Source: ControllerRegistrationManager.scala; KIP-919. A controller that is not registered votes and
may become the active one all the same; yet no feature is upgraded without knowing what it supports.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from reference_impl.core.broker import Broker
from reference_impl.core.controller.features import REGISTERED
from reference_impl.core.effects import Effect, Report
from reference_impl.core.refused import Refused
from reference_impl.core.requests.asking_controller import ask_controller
from reference_impl.core.waiting.waits import Applied, Later
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition

REQUEST = definition("ControllerRegistrationRequest")
TIMEOUT_MS, RETRY_MS = 30_000, 1_000


def begin(broker: Broker) -> None:
    """Let a controller register. The others have nothing to register."""
    if broker.membership.is_controller and not broker.membership.is_alone:
        broker.outbox.post("controller registration", register(broker, broker.random_uuid()))


def register(broker: Broker, incarnation_id: UUID) -> Iterator[Effect]:
    """Send the registration of this incarnation until it is in force."""
    yield Applied(1)  # until then, nobody knows whether the active controller understands it
    while not _is_registered(broker, incarnation_id) and not broker.is_stopping:
        body = registration_of(broker, incarnation_id)
        try:
            answer = yield from ask_controller(
                broker, ApiKey.CONTROLLER_REGISTRATION, body, TIMEOUT_MS
            )
            if answer.error_code != ErrorCode.NONE:
                raise Refused(ErrorCode(answer.error_code), answer.error_message or "")
        except Refused as refused:
            yield Report(f"controller {broker.node_id} is not registered yet: {refused}")
        yield Later(RETRY_MS)


def _is_registered(broker: Broker, incarnation_id: UUID) -> bool:
    known = broker.image.controllers.get(broker.node_id)
    return known is not None and known.incarnation_id == incarnation_id


def registration_of(broker: Broker, incarnation_id: UUID) -> Struct:
    """Return the request by which the controller of this node registers."""
    return REQUEST.new(
        controller_id=broker.node_id,
        incarnation_id=incarnation_id,
        listeners=[
            REQUEST.struct(
                "Listener",
                name=name,
                host=endpoint.host,
                port=endpoint.port,
                security_protocol=protocol,
            )
            for name, (endpoint, protocol) in broker.connection_listeners.of_controllers.items()
        ],
        features=[
            REQUEST.struct(
                "Feature", name=name, min_supported_version=least, max_supported_version=most
            )
            for name, (least, most) in REGISTERED.items()
        ],
    )
