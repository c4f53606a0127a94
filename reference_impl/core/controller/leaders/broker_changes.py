"""Register brokers, answer their heartbeats and fence silent ones, by records of the metadata log.

Source: ClusterControlManager.java (registerBroker), BrokerHeartbeatManager.java
(calculateNextBrokerState), ReplicationControlManager.java (processBrokerHeartbeat); KIP-631,
KIP-841, KIP-858, KIP-966, KIP-1066.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.features import METADATA
from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.controller.image.registrations import BrokerImage, features_of
from reference_impl.core.controller.leaders import elections
from reference_impl.core.controller.leaders.broker_sessions import NEVER
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct, definition

REGISTER, CHANGE = definition("RegisterBrokerRecord"), definition("BrokerRegistrationChangeRecord")
FENCE, UNFENCE = 1, -1
"""The values in a record that fence or unfence a broker (BrokerRegistrationFencingChange)."""
IN_CONTROLLED_SHUTDOWN = 1
SESSION_TIMEOUT = "broker.session.timeout.ms"
CHANGED_AT_ONCE = 500
"""The records that one step writes when a broker leaves its ISRs."""
RESERVED_DIRECTORIES = 100
"""The number of reserved directory ids: the ids below this number have special meanings and name no
directory (DirectoryId.java)."""


class State(Enum):
    """The states into which the controller's answer to a heartbeat moves a broker
    (BrokerControlState). SHUTDOWN_NOW is never recorded: it permits the process to end."""

    FENCED = auto()
    UNFENCED = auto()
    CONTROLLED_SHUTDOWN = auto()
    SHUTDOWN_NOW = auto()


@dataclass(frozen=True, slots=True)
class Reply:
    """The controller's answer to a heartbeat: whether the broker has read the metadata log up to
    its own registration, and the state that it enters."""

    is_caught_up: bool
    state: State


def in_slices(controller: Controller, left: Callable[[], Iterator[Struct]]) -> Iterator[None]:
    """Write the records of a change, which may concern thousands of partitions, CHANGED_AT_ONCE at
    a time, and yield after each write, so that others have their turn. The caller writes the rest,
    at most CHANGED_AT_ONCE, in one step with what completes the change. left: yields the records
    that are left to write, or raises Refused if the change must not go on. Raise what `left` and
    `Controller.write` raise."""
    partitions = sum(len(topic.partitions) for topic in controller.image.topics.values())
    for _ in range(partitions // CHANGED_AT_ONCE):
        records = list(islice(left(), CHANGED_AT_ONCE + 1))
        if len(records) <= CHANGED_AT_ONCE:
            return
        controller.write(records[:CHANGED_AT_ONCE])
        yield


def register_in_slices(controller: Controller, body: Struct) -> Generator[None, None, int]:
    """Do what `register_broker` does, but let others have their turn after each slice of the
    partitions that the previous incarnation leaves."""
    yield from in_slices(controller, lambda: _of_return(controller, body))
    return register_broker(controller, body)


def register_broker(controller: Controller, body: Struct) -> int:
    """Register an incarnation of a broker, fenced, and return its broker epoch; the previous
    incarnation loses its leaderships. A repeated registration of the same incarnation keeps its
    epoch. Raise Refused if it is of another cluster, its former incarnation still lives, or its
    directories or features do not fit."""
    records = list(_of_return(controller, body))
    known = controller.image.brokers.get(body.broker_id)
    is_same = known is not None and known.incarnation_id == body.incarnation_id
    record = _registration(body, controller.image.end_offset, known if is_same else None)
    controller.write([*records, record])
    if not is_same:
        controller.sessions.forget(body.broker_id)
    return int(record.broker_epoch)


def _of_return(controller: Controller, body: Struct) -> Iterator[Struct]:
    """Yield the records by which a broker that returns loses the leaderships and ISR places of its
    previous incarnation; after an unclean shutdown, the ELR places too. Yield none for a new
    broker, or a repeated registration. Raise Refused if it may not register."""
    cluster_id = controller.cluster_id
    if body.cluster_id != cluster_id:
        raise Refused(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"Expected cluster ID {cluster_id}, but got cluster ID {body.cluster_id}",
        )
    known = controller.image.brokers.get(body.broker_id)
    returns = known is not None and known.incarnation_id != body.incarnation_id
    if known is not None and returns:
        _check_session(controller, known)
    _check_directories(controller, body)
    _check_features(controller, body)
    if known is None or not returns:
        return
    if controller.rules.left_uncleanly(known, body.previous_broker_epoch):
        yield from elections.after_unclean_shutdown(controller, known.node_id)
    else:
        yield from elections.without(controller, known.node_id)


def _check_session(controller: Controller, known: BrokerImage) -> None:
    """Raise Refused while another process with this broker id has a session, because it has sent a
    heartbeat, be it fenced or about to stop.

    In a node that is both controller and broker, the process before ended with both. So a restarted
    node need not wait for the end of its own old session, as it does in Kafka.
    """
    sessions = controller.sessions
    if known.node_id == controller.node_id and sessions.of(known.node_id).metadata_offset < 0:
        return
    timeout_ms = controller.config.number(SESSION_TIMEOUT)
    if sessions.is_valid(known.node_id, timeout_ms):
        raise Refused(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"Another broker is registered with the id {known.node_id}. If the broker was recently"
            " restarted this resolves itself once the controller expires the broker's session.",
        )


def _check_directories(controller: Controller, body: Struct) -> None:
    """Raise Refused unless the broker names directories, each once, that no other broker has."""
    wanted = set(body.log_dirs)
    problem = None
    if not wanted:
        problem = "No directories specified in request"
    elif any(directory.int < RESERVED_DIRECTORIES for directory in wanted):
        problem = "Reserved directory ID in request"
    elif len(wanted) < len(body.log_dirs):
        problem = "Duplicate directory ID in request"
    for broker in controller.image.brokers.values():
        if broker.node_id != body.broker_id and wanted & set(broker.log_dirs):
            problem = f"Broker {body.broker_id} claims directories of broker {broker.node_id}"
    if problem is not None:
        raise Refused(ErrorCode.INVALID_REGISTRATION, problem)


def _check_features(controller: Controller, body: Struct) -> None:
    """Raise Refused for a broker that cannot work at a level in force, or that names no levels of
    metadata.version (ClusterControlManager.processRegistrationFeature)."""
    supported = features_of(body.features)
    if METADATA not in supported:
        raise Refused(
            ErrorCode.INVALID_REGISTRATION, f"Request features do not contain '{METADATA}'"
        )
    for name, level in controller.image.features.items():
        levels = supported.get(name)
        if levels is None or not levels.lowest <= level <= levels.highest:
            can = (
                "does not support it"
                if levels is None
                else (f"supports {levels.lowest} to {levels.highest}")
            )
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION,
                f"Unable to register because the cluster works at {name} {level}, and the broker"
                f" {can}.",
            )


def _registration(body: Struct, broker_epoch: int, before: BrokerImage | None) -> Struct:
    """Return the record of a registration; a new broker is fenced. A repeated registration
    (before: what is known of the broker) keeps its broker epoch, and whether it is fenced and in
    controlled shutdown. Everything else comes from the request."""
    return REGISTER.new(
        broker_id=body.broker_id,
        incarnation_id=body.incarnation_id,
        broker_epoch=broker_epoch if before is None else before.broker_epoch,
        rack=body.rack,
        fenced=before is None or before.fenced,
        in_controlled_shutdown=before is not None and before.in_controlled_shutdown,
        log_dirs=sorted(body.log_dirs),
        end_points=[
            REGISTER.struct(
                "BrokerEndpoint",
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=each.security_protocol,
            )
            for each in body.listeners
        ],
        features=[
            REGISTER.struct(
                "BrokerFeature",
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in body.features
        ],
    )


def hear_in_slices(controller: Controller, body: Struct) -> Generator[None, None, Reply]:
    """Do what `hear_heartbeat` does, but let others have their turn after each slice of the
    partitions that a broker leaves which is fenced or stops, or that one which is unfenced may
    lead."""
    broker = _heard(controller, body)
    session = controller.sessions.of(broker.node_id)
    if broker.fenced:
        session.is_placed = False
    if body.want_fence or body.want_shut_down or not session.is_placed:
        yield from in_slices(controller, lambda: _of_move(controller, body))
    return hear_heartbeat(controller, body)


def _of_move(controller: Controller, body: Struct) -> Iterator[Struct]:
    """Yield the records by which the broker of a heartbeat leaves its ISRs before it enters its
    next state. A broker that stops enters it first: otherwise the leaders would take it into their
    ISRs again, since it still fetches. One that is unfenced does so, too: only then may it lead.
    Raise Refused as `hear_heartbeat` does."""
    broker = _heard(controller, body)
    following = _following(controller, broker, body)
    if following in (State.CONTROLLED_SHUTDOWN, State.UNFENCED):
        yield from _records_of_move(controller, broker, following)
    elif following is not state_of(broker) and not broker.fenced:
        yield from elections.without(controller, broker.node_id)


def _heard(controller: Controller, body: Struct) -> BrokerImage:
    """Return the broker that has sent a heartbeat. Raise Refused(STALE_BROKER_EPOCH) unless the
    registered incarnation has sent it."""
    broker = controller.image.brokers.get(body.broker_id)
    controller.rules.check_broker_epoch(broker, body.broker_epoch)
    assert broker is not None
    return broker


def hear_heartbeat(controller: Controller, body: Struct) -> Reply:
    """Handle a heartbeat: record changed directories, move the broker to its next state, renew its
    session, and return the answer. Raise Refused(STALE_BROKER_EPOCH) unless the registered
    incarnation has sent it."""
    broker = _heard(controller, body)
    changes = [*_offline_directories(controller, broker, body), *_cordoned(broker, body)]
    if changes:
        controller.write(changes)
        broker = controller.image.brokers[broker.node_id]
    now, following = state_of(broker), _following(controller, broker, body)
    is_stopping = following is State.CONTROLLED_SHUTDOWN
    session = controller.sessions.of(broker.node_id)
    comes = following is State.UNFENCED and not session.is_placed
    moves: list[Struct] = []
    if following is not now or is_stopping or comes:
        moves = list(_records_of_move(controller, broker, following))
    if moves:
        controller.write(moves)
    controller.sessions.renew(broker.node_id, body.current_metadata_offset)
    session.is_placed = following is State.UNFENCED
    # It is unknown yet if this controller began, or moved slices, in the middle of the shutdown.
    is_unknown = session.controlled_shutdown_at == NEVER
    if is_stopping and (moves or is_unknown or elections.leads_any(controller, broker.node_id)):
        session.controlled_shutdown_at = controller.image.end_offset - 1
    return Reply(
        controller.rules.may_unfence(broker.broker_epoch, body.current_metadata_offset), following
    )


def _offline_directories(
    controller: Controller, broker: BrokerImage, body: Struct
) -> Iterator[Struct]:
    """Yield the records of directories that have failed since the last heartbeat: their replicas
    leave the ISRs, and the broker's registration loses the directories (KIP-858;
    ReplicationControlManager.handleDirectoriesOffline)."""
    failed = set(body.offline_log_dirs) & set(broker.log_dirs)
    if not failed:
        return

    def concerns(state: PartitionImage) -> bool:
        where = dict(zip(state.replicas, state.directories, strict=False))
        return broker.node_id in state.isr and where.get(broker.node_id) in failed

    yield from elections.after(controller, elections.Event(gone=broker.node_id), concerns)
    yield change(broker, log_dirs=[each for each in broker.log_dirs if each not in failed])


def _cordoned(broker: BrokerImage, body: Struct) -> Iterator[Struct]:
    """Yield the record of the directories that take no new partitions, if they have changed. Only
    version 2 names them (KIP-1066)."""
    wanted = body.cordoned_log_dirs
    if wanted is not None and set(wanted) != set(broker.cordoned_log_dirs):
        yield change(broker, cordoned_log_dirs=sorted(wanted))


def state_of(broker: BrokerImage) -> State:
    """Return the state in which the metadata log has a broker; never SHUTDOWN_NOW."""
    if broker.fenced:
        return State.FENCED
    return State.CONTROLLED_SHUTDOWN if broker.in_controlled_shutdown else State.UNFENCED


def _following(controller: Controller, broker: BrokerImage, body: Struct) -> State:
    """Return the state that a broker enters with this heartbeat, which may be the one that it is
    in."""
    if broker.fenced:
        if body.want_shut_down:
            return State.SHUTDOWN_NOW
        is_ready = not body.want_fence and controller.rules.may_unfence(
            broker.broker_epoch, body.current_metadata_offset
        )
        return State.UNFENCED if is_ready else State.FENCED
    if body.want_fence:
        return State.SHUTDOWN_NOW if body.want_shut_down else State.FENCED
    leads = elections.leads_any(controller, broker.node_id)
    if broker.in_controlled_shutdown:
        session = controller.sessions.of(broker.node_id)
        others = [each.node_id for each in controller.image.brokers.values() if each.is_active]
        may_stop = controller.rules.may_stop(
            leads, session.controlled_shutdown_at, controller.sessions.lowest_offset(others)
        )
        return State.SHUTDOWN_NOW if may_stop else State.CONTROLLED_SHUTDOWN
    if body.want_shut_down:
        return State.CONTROLLED_SHUTDOWN if leads else State.SHUTDOWN_NOW
    return State.UNFENCED


def _records_of_move(
    controller: Controller, broker: BrokerImage, following: State
) -> Iterator[Struct]:
    """Yield the records that move a broker to its next state; one that may stop at once is fenced.
    Yield none for a broker that is fenced already and only stops or stays so. For one that is in
    controlled shutdown or unfenced already, yield what an earlier heartbeat, perhaps to another
    controller, has left to do."""
    if following is State.UNFENCED:
        if broker.fenced:
            yield change(broker, fenced=UNFENCE)
        yield from elections.with_broker(controller, broker.node_id)
    elif following is State.CONTROLLED_SHUTDOWN:
        if not broker.in_controlled_shutdown:
            yield change(broker, in_controlled_shutdown=IN_CONTROLLED_SHUTDOWN)
        elif not elections.can_leave_any(controller, broker.node_id):
            return
        yield from elections.without(controller, broker.node_id)
    elif not broker.fenced:
        yield from fenced(controller, broker)


def fenced(controller: Controller, broker: BrokerImage) -> Iterator[Struct]:
    """Yield the records that fence a broker and elect other leaders for its partitions."""
    yield from elections.without(controller, broker.node_id)
    yield change(broker, fenced=FENCE)


def change(broker: BrokerImage, **fields: object) -> Struct:
    """Return the record that changes these fields of a registered broker."""
    return CHANGE.new(broker_id=broker.node_id, broker_epoch=broker.broker_epoch, **fields)


def silent_brokers(controller: Controller) -> Iterator[int]:
    """Yield the brokers that are not fenced although their sessions are over."""
    living = [each.node_id for each in controller.image.brokers.values() if not each.fenced]
    return controller.sessions.silent(living, controller.config.number(SESSION_TIMEOUT))


def fence_in_slices(controller: Controller, silent: int) -> Iterator[None]:
    """Fence a silent broker, which may be in thousands of ISRs: take it out of some, and yield, so
    that others have their turn; at last fence it. Stop if it is no longer silent, or if this
    controller is no longer the active one: the next one begins with what is left."""
    epoch = controller.metadata.active_epoch
    for _ in in_slices(controller, lambda: elections.without(controller, silent)):
        yield
        if controller.metadata.active_epoch != epoch or silent not in silent_brokers(controller):
            return
    controller.write(list(fenced(controller, controller.image.brokers[silent])))
