"""The life of a broker in its cluster: it registers, catches up, is unfenced, and sends heartbeats.

Source: BrokerLifecycleManager.java, BrokerServer.scala; KIP-631, KIP-966 (previous broker epoch). A
broker is part of the cluster as long as the active controller receives its heartbeats.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from reference_impl.core.broker import Broker
from reference_impl.core.controller.features import REGISTERED
from reference_impl.core.controller.leaders.broker_changes import SESSION_TIMEOUT, fence_silent
from reference_impl.core.controller.leaders.elections import (
    elect_unclean_leaders,
    prefer_first_replicas,
)
from reference_impl.core.effects import Effect, Report, Stop
from reference_impl.core.refused import Refused
from reference_impl.core.replication.isr import watch_followers
from reference_impl.core.requests.asking_controller import ask_controller
from reference_impl.core.requests.producer_id_blocks import ask_for_blocks
from reference_impl.core.storage import StorageError
from reference_impl.core.waiting.waits import Applied, Later
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition

REGISTRATION = definition("BrokerRegistrationRequest")
HEARTBEAT = definition("BrokerHeartbeatRequest")
REGISTRATION_TIMEOUT = "initial.broker.registration.timeout.ms"
RETRY_MS = 100
SHUTDOWN_INTERVAL_MS = 50
"""The time between two heartbeats of a broker that waits for the permission to stop."""
LEAST_INTERVAL_MS = 10


def begin(broker: Broker) -> None:
    """Start the broker's life cycle, and the tasks that run as long as the process."""
    ask_for_blocks(broker)
    broker.outbox.post("lifecycle", live(broker))
    broker.outbox.post("sessions", watch_sessions(broker))
    broker.outbox.post("followers", watch_followers(broker))
    broker.outbox.post("preferred leaders", balance_leaders(broker))
    broker.outbox.post("unclean leaders", watch_leaderless(broker))


def live(broker: Broker) -> Iterator[Effect]:
    """Register, then send heartbeats until the broker is about to stop. If no registration succeeds
    within initial.broker.registration.timeout.ms, stop the node, as Kafka does."""
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
            yield Report(f"broker {broker.node_id} is not in the cluster yet: {refused}")
            if deadline_ms is not None and broker.monotonic_ms >= deadline_ms:
                yield Stop(
                    f"broker {broker.node_id} could not register within {timeout_ms} ms"
                    f" ({REGISTRATION_TIMEOUT}): {refused}"
                )
                return
            yield Later(RETRY_MS)


def leave(broker: Broker) -> Iterator[Effect]:
    """Ask the controller to move the leaderships of this broker, and stop the node once it says so
    (KIP-631, controlled shutdown; BrokerLifecycleManager.beginControlledShutdown)."""
    broker.is_stopping = True
    while broker.broker_epoch >= 0:
        try:
            answer = yield from heartbeat(broker, want_shut_down=True)
        except Refused as refused:
            yield Report(f"broker {broker.node_id} stops without the controller: {refused}")
            break
        if answer.should_shut_down:
            break
        yield Later(SHUTDOWN_INTERVAL_MS)
    yield Stop()


def register(broker: Broker) -> Generator[Effect, Any, None]:
    """Register this incarnation and read the metadata log up to there. Raise Refused."""
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
        listeners=[
            REGISTRATION.struct(
                "Listener",
                name=name,
                host=endpoint.host,
                port=endpoint.port,
                security_protocol=protocol,
            )
            for name, (endpoint, protocol) in broker.connection_listeners.of_brokers.items()
        ],
        features=[
            REGISTRATION.struct(
                "Feature", name=name, min_supported_version=least, max_supported_version=most
            )
            for name, (least, most) in REGISTERED.items()
        ],
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
        yield Report(f"no controller hears broker {broker.node_id}: {refused}")
        return True
    return bool(answer.is_fenced)


def heartbeat(broker: Broker, *, want_shut_down: bool = False) -> Generator[Effect, Any, Struct]:
    """Send one heartbeat and return the answer. Raise Refused: REQUEST_TIMED_OUT if no controller
    has answered, else with the controller's error."""
    body = HEARTBEAT.new(
        broker_id=broker.node_id,
        broker_epoch=broker.broker_epoch,
        current_metadata_offset=broker.applied_end_offset - 1,
        want_shut_down=want_shut_down,
    )
    # Half of the session, as in Kafka: so that the next controller hears of this broker in time.
    timeout_ms = broker.config.number(SESSION_TIMEOUT) // 2
    answer = yield from ask_controller(broker, ApiKey.BROKER_HEARTBEAT, body, timeout_ms)
    if answer.error_code != ErrorCode.NONE:
        raise Refused(ErrorCode(answer.error_code), "the controller refuses the heartbeat")
    return answer


def watch_sessions(broker: Broker) -> Iterator[Effect]:
    """Fence the brokers that fall silent, while the controller of this node is the active one."""
    while True:
        timeout_ms = broker.config.number(SESSION_TIMEOUT)
        if broker.quorum.active_epoch is not None:
            try:
                for silent in fence_silent(broker.controller):
                    yield Report(f"broker {silent} is fenced: nothing was heard of it for too long")
            except StorageError as error:
                yield Report(f"silent brokers are not fenced yet: {error}")
        interval_ms = max(LEAST_INTERVAL_MS, timeout_ms // 8)
        due_ms = broker.monotonic_ms + interval_ms
        yield Later(interval_ms)
        broker.controller.sessions.prolong(broker.monotonic_ms - due_ms)


def balance_leaders(broker: Broker) -> Iterator[Effect]:
    """Let first replicas lead again from time to time, while the controller of this node is the
    active one (QuorumController.maybeBalancePartitionLeaders)."""
    while True:
        yield Later(broker.config.number("leader.imbalance.check.interval.seconds") * 1_000)
        is_enabled = broker.config.flag("auto.leader.rebalance.enable")
        if is_enabled and broker.quorum.active_epoch is not None:
            try:
                count = prefer_first_replicas(broker.controller)
            except StorageError as error:
                yield Report(f"leaders are not balanced yet: {error}")
                continue
            if count:
                yield Report(f"{count} partitions are led by their first replicas again")


def watch_leaderless(broker: Broker) -> Iterator[Effect]:
    """Elect unclean leaders from time to time where topics allow it, while the controller of this
    node is the active one (QuorumController, electUnclean)."""
    while True:
        yield Later(broker.config.number("unclean.leader.election.interval.ms"))
        if broker.quorum.active_epoch is not None:
            try:
                for name in elect_unclean_leaders(broker.controller):
                    yield Report(f"{name} has a leader that may lack committed records")
            except StorageError as error:
                yield Report(f"no unclean leaders are elected yet: {error}")
