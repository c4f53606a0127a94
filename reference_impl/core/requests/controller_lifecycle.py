"""The life of a controller in its cluster: it registers with the active controller, watches the
brokers while it is the active one itself, and resigns before it stops.

Source: ControllerRegistrationManager.scala; KIP-919. A controller may vote, and become the active
one, before it is registered; its registration tells the active controller which levels of features
it supports. QuorumController.java has the periodic tasks, KafkaRaftClient.java (shutdown) the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from reference_impl.core.broker import Broker
from reference_impl.core.controller.features import REGISTERED
from reference_impl.core.controller.image.registrations import endpoint_rows, feature_rows
from reference_impl.core.controller.leaders.broker_changes import (
    SESSION_TIMEOUT,
    fence_in_slices,
    silent_brokers,
)
from reference_impl.core.controller.leaders.elections import (
    elect_unclean_leaders,
    prefer_first_replicas,
)
from reference_impl.core.effects import Effect, Report
from reference_impl.core.refused import Refused
from reference_impl.core.requests.asking_controller import ask_controller
from reference_impl.core.storage import StorageError
from reference_impl.core.waiting.waits import Applied, Later, Pause
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition

REQUEST = definition("ControllerRegistrationRequest")
NO_OP = definition("NoOpRecord").new()
IDLE_INTERVAL = "metadata.max.idle.interval.ms"
TIMEOUT_MS, RETRY_MS = 30_000, 1_000
LEAST_INTERVAL_MS = 10
SUCCESSOR_MS_MAX = 5_000
"""The milliseconds for which a stopping controller waits for its successor (KafkaRaftManager's
shutdown)."""
LOOK_MS = 20
"""The milliseconds between two looks for the successor of a stopping controller."""


def begin(broker: Broker) -> None:
    """Start the life cycle of a controller, and the tasks that run as long as the process. Do
    nothing on a node that is only a broker."""
    if not broker.membership.is_controller:
        return
    if not broker.membership.is_alone:
        broker.outbox.post("controller registration", register(broker, broker.random_uuid()))
    broker.outbox.post("sessions", watch_sessions(broker))
    broker.outbox.post("preferred leaders", balance_leaders(broker))
    broker.outbox.post("unclean leaders", watch_leaderless(broker))
    broker.outbox.post("no-op records", write_no_ops(broker))


def leave(broker: Broker) -> Iterator[Effect]:
    """Resign if this node leads a quorum of several voters, and wait up to SUCCESSOR_MS_MAX until
    another node leads: the others then elect one at once, instead of after a fetch time-out
    (KIP-595, EndQuorumEpoch)."""
    quorum = broker.quorum
    if not quorum.is_leader or len(quorum.voters) == 1:
        return
    quorum.resign()
    end_ms = broker.monotonic_ms + SUCCESSOR_MS_MAX
    while quorum.leader_id is None and broker.monotonic_ms < end_ms:
        yield Later(LOOK_MS)


def register(broker: Broker, incarnation_id: UUID) -> Iterator[Effect]:
    """Send the registration of this incarnation again and again until it is in force, or the node
    stops. Report each failure."""
    yield Applied(1)  # before, it is unknown whether the active controller supports this
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
        listeners=endpoint_rows(REQUEST, "Listener", broker.connection_listeners.of_controllers),
        features=feature_rows(REQUEST, "Feature", REGISTERED),
    )


def watch_sessions(broker: Broker) -> Iterator[Effect]:
    """Fence the brokers that fall silent, while the controller of this node is the active one."""
    while True:
        timeout_ms = broker.config.number(SESSION_TIMEOUT)
        while broker.quorum.active_epoch is not None:
            try:
                silent = next(silent_brokers(broker.controller), None)
                if silent is None:
                    break
                for _ in fence_in_slices(broker.controller, silent):
                    yield Pause()
                known = broker.controller.image.brokers.get(silent)
                if known is not None and known.fenced:
                    yield Report(
                        f"broker {silent} is fenced: it sent no heartbeat within {SESSION_TIMEOUT}"
                    )
                yield Pause()
            except StorageError as error:
                yield Report(f"silent brokers are not fenced yet: {error}")
                break
        interval_ms = max(LEAST_INTERVAL_MS, timeout_ms // 8)
        due_ms = broker.monotonic_ms + interval_ms
        yield Later(interval_ms)
        broker.controller.sessions.prolong(broker.monotonic_ms - due_ms)


def balance_leaders(broker: Broker) -> Iterator[Effect]:
    """Let first replicas lead again every `leader.imbalance.check.interval.seconds`, if
    `auto.leader.rebalance.enable` is set and the controller of this node is the active one
    (QuorumController.maybeBalancePartitionLeaders)."""
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
                yield Report(f"{count} partitions are led by their preferred replicas again")


def watch_leaderless(broker: Broker) -> Iterator[Effect]:
    """Elect unclean leaders every `unclean.leader.election.interval.ms` where topics allow it,
    while the controller of this node is the active one (QuorumController, electUnclean)."""
    while True:
        yield Later(broker.config.number("unclean.leader.election.interval.ms"))
        if broker.quorum.active_epoch is not None:
            try:
                for name in elect_unclean_leaders(broker.controller):
                    yield Report(f"{name} has a leader that may lack committed records")
            except StorageError as error:
                yield Report(f"no unclean leaders are elected yet: {error}")


def write_no_ops(broker: Broker) -> Iterator[Effect]:
    """Write a record that changes nothing every `metadata.max.idle.interval.ms` (0: never), while
    the controller of this node is the active one. So the metadata log moves on, and a controller
    that cannot write shows itself, although nobody asks for a change (KIP-835; QuorumController,
    writeNoOpRecord)."""
    has_failed = False
    while True:
        interval_ms = broker.config.number(IDLE_INTERVAL)
        yield Later(max(LEAST_INTERVAL_MS, interval_ms or RETRY_MS))
        if interval_ms and broker.quorum.active_epoch is not None:
            try:
                broker.controller.write([NO_OP])
                has_failed = False
            except StorageError as error:
                if not has_failed:
                    yield Report(f"the metadata log takes no records: {error}")
                has_failed = True
