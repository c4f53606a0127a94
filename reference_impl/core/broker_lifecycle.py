"""The life of a broker in its cluster: it registers, catches up, is unfenced, and sends heartbeats.

Source: BrokerLifecycleManager.java, BrokerServer.scala; KIP-631, KIP-966 (previous broker epoch),
KIP-1066 (cordoned directories). A broker is part of the cluster as long as the active controller
receives its heartbeats.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Any

from reference_impl.core.broker import Broker
from reference_impl.core.controller.features import REGISTERED
from reference_impl.core.controller.image.registrations import endpoint_rows, feature_rows
from reference_impl.core.controller.leaders.broker_changes import SESSION_TIMEOUT
from reference_impl.core.effects import Effect, Report, Stop
from reference_impl.core.log.directories.cordoned import CORDONED, cordons
from reference_impl.core.refused import Refused
from reference_impl.core.replication.directories import watch_directories
from reference_impl.core.replication.isr import watch_followers
from reference_impl.core.requests.asking_controller import ask_controller
from reference_impl.core.requests.producer_id_blocks import ask_for_blocks
from reference_impl.core.waiting.waits import Applied, Later
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition

REGISTRATION = definition("BrokerRegistrationRequest")
HEARTBEAT = definition("BrokerHeartbeatRequest")
REGISTRATION_TIMEOUT = "initial.broker.registration.timeout.ms"
RETRY_MS = 100
SHUTDOWN_INTERVAL_MS = 50
"""The time between two heartbeats of a broker that waits for the permission to stop."""


def begin(broker: Broker) -> None:
    """Start the broker's life cycle, and the tasks that run as long as the process. Do nothing on a
    node that is only a controller."""
    if broker.membership.is_broker:
        ask_for_blocks(broker)
        broker.data_directory.cordoning_changed = lambda: broker.outbox.post(
            "cordoned directories", tell_of_cordoned(broker)
        )
        broker.outbox.post("lifecycle", live(broker))
        broker.outbox.post("followers", watch_followers(broker))
        broker.outbox.post("directories", watch_directories(broker))


def live(broker: Broker) -> Iterator[Effect]:
    """Register, then send heartbeats until the broker is about to stop. Register again whenever the
    controller refuses a heartbeat. If the first registration does not succeed within
    initial.broker.registration.timeout.ms, stop the node, as Kafka does."""
    timeout_ms = broker.config.number(REGISTRATION_TIMEOUT)
    deadline_ms: int | None = broker.monotonic_ms + timeout_ms
    while not broker.is_stopping:
        try:
            yield from register(broker)
            deadline_ms = None
            while not broker.is_stopping:
                is_fenced = yield from beat(broker)
                interval_ms = broker.config.number("broker.heartbeat.interval.ms")
                yield Later(min(interval_ms, RETRY_MS) if is_fenced else interval_ms)
        except Refused as refused:
            # Another process may still be this broker, or the controller may not answer.
            yield Report(f"broker {broker.node_id} is not in the cluster: {refused}")
            if deadline_ms is not None and broker.monotonic_ms >= deadline_ms:
                yield Stop(
                    f"broker {broker.node_id} could not register within {timeout_ms} ms"
                    f" ({REGISTRATION_TIMEOUT}): {refused}"
                )
                return
            yield Later(RETRY_MS)


def leave(broker: Broker) -> Iterator[Effect]:
    """Mark the broker as stopping, and ask the controller to move its leaderships until it says
    that the broker may stop (KIP-631, controlled shutdown;
    BrokerLifecycleManager.beginControlledShutdown). Give up, with a Report, if the controller
    refuses or does not answer in time. A broker that never registered asks nothing."""
    broker.is_stopping = True
    while broker.broker_epoch >= 0:
        try:
            answer = yield from heartbeat(broker, want_shut_down=True)
        except Refused as refused:
            yield Report(
                f"broker {broker.node_id} stops without the controller's permission: {refused}"
            )
            break
        if answer.should_shut_down:
            break
        yield Later(SHUTDOWN_INTERVAL_MS)


def register(broker: Broker) -> Generator[Effect, Any, None]:
    """Register this incarnation, store the epoch that the controller gives it, and wait until the
    metadata log is read up to the registration. Raise Refused if the controller refuses it, or if
    none answers in time."""
    timeout_ms = broker.config.number(REGISTRATION_TIMEOUT)
    answer = yield from ask_controller(
        broker, ApiKey.BROKER_REGISTRATION, registration_of(broker), timeout_ms
    )
    if answer.error_code != ErrorCode.NONE:
        raise Refused(ErrorCode(answer.error_code), "the controller refuses the registration")
    broker.broker_epoch = answer.broker_epoch
    yield Applied(answer.broker_epoch + 1)


def registration_of(broker: Broker) -> Struct:
    """Return the request by which the broker registers."""
    return REGISTRATION.new(
        broker_id=broker.node_id,
        cluster_id=broker.cluster_id,
        incarnation_id=broker.incarnation_id,
        listeners=endpoint_rows(REGISTRATION, "Listener", broker.connection_listeners.of_brokers),
        features=feature_rows(REGISTRATION, "Feature", REGISTERED),
        rack=broker.config.text("broker.rack") or None,
        log_dirs=[broker.data_directory.directory_id],
        previous_broker_epoch=broker.logs.previous_broker_epoch,
    )


def beat(broker: Broker) -> Generator[Effect, Any, bool]:
    """Send one heartbeat, and return whether the broker is fenced, or may be as no controller has
    answered. Raise Refused if it must register again."""
    try:
        answer = yield from heartbeat(broker)
    except Refused as refused:
        if refused.code is not ErrorCode.REQUEST_TIMED_OUT:
            raise
        yield Report(f"no controller answers the heartbeats of broker {broker.node_id}: {refused}")
        return True
    return bool(answer.is_fenced)


def tell_of_cordoned(broker: Broker) -> Iterator[Effect]:
    """Send a heartbeat at once, so that the controller need not wait for the next one to learn
    which directories are cordoned. Do nothing before the broker is registered or when it is about
    to stop; leave a failure to the next heartbeat (BrokerLifecycleManager.CordonedDirEvent)."""
    if broker.broker_epoch >= 0 and not broker.is_stopping:
        with suppress(Refused):
            yield from heartbeat(broker)


def heartbeat(broker: Broker, *, want_shut_down: bool = False) -> Generator[Effect, Any, Struct]:
    """Send one heartbeat and return the answer. Raise Refused: REQUEST_TIMED_OUT if no controller
    has answered, else with the controller's error."""
    directory = broker.data_directory
    is_cordoned = cordons(broker.config.text(CORDONED), directory.path)
    body = HEARTBEAT.new(
        broker_id=broker.node_id,
        broker_epoch=broker.broker_epoch,
        current_metadata_offset=broker.applied_end_offset - 1,
        cordoned_log_dirs=[directory.directory_id] if is_cordoned else [],
        want_shut_down=want_shut_down,
    )
    # Half of the session, as in Kafka, so that there is time left to reach the next controller.
    timeout_ms = broker.config.number(SESSION_TIMEOUT) // 2
    answer = yield from ask_controller(broker, ApiKey.BROKER_HEARTBEAT, body, timeout_ms)
    if answer.error_code != ErrorCode.NONE:
        raise Refused(ErrorCode(answer.error_code), "the controller refuses the heartbeat")
    return answer
