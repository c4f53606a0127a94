"""The interface of the core to its hosts: `step(event)` returns the effects for the host, in order.

A host (the TCP server, the simulator) makes one Node over a Storage, calls `step` with Started,
then with every event. After a crash it makes a new Node over the same storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from reference_impl.core import broker_lifecycle, housekeeping
from reference_impl.core.broker import Broker
from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.effects import CloseConnection, Effect, Stop
from reference_impl.core.events import (
    Answered,
    ConnectionClosed,
    ConnectionLost,
    ConnectionOpened,
    Event,
    GoOn,
    Request,
    RequestArrived,
    Started,
    StopAsked,
    Stopping,
    TimerFired,
    TimerKey,
    TokenArrived,
)
from reference_impl.core.groups.classic import timers
from reference_impl.core.handlers import SERVED
from reference_impl.core.handlers.forwarding import decide
from reference_impl.core.partitions import purgatory
from reference_impl.core.quorum import duties
from reference_impl.core.quorum.snapshots.keeping import keep_snapshots
from reference_impl.core.requests import controller_lifecycle
from reference_impl.core.requests.api import Served
from reference_impl.core.rules import Rules
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.security.principal_rules import RULES, name_of
from reference_impl.core.security.sasl import authentication
from reference_impl.core.storage import Storage, StorageError
from reference_impl.core.transactions import coordinator as transactions
from reference_impl.core.waiting import peers
from reference_impl.core.waiting.held import held, timer_fired
from reference_impl.core.waiting.running import TIMER, Waiting, failed
from reference_impl.wire import ApiKey, not_served


class Node:
    """One node of a cluster (a broker, a controller or both), from its start to its end. A host
    makes it and steps it."""

    def __init__(
        self,
        config: BrokerConfig,
        storage: Storage,
        directory: str,
        advertised: Endpoint,
        rules: Rules | None = None,
        apis: Served = SERVED,
        also_advertised: Mapping[str, Endpoint] | None = None,
    ) -> None:
        """Create a node. advertised: the address of the first listener. also_advertised: those of
        the others."""
        self.config = config
        self.storage = storage
        self.directory = directory
        self.advertised = advertised
        self.rules = rules or Rules()
        self.apis = apis
        self.also_advertised = also_advertised or {}
        self.must_give_way: Callable[[], bool] = never
        """The host's function that decides at each GiveWay and Pause whether other requests must
        have their turn now. If it returns True for a GiveWay, the host gets that effect, and sends
        GoOn later; a Pause becomes a timer of 0 ms."""
        self.peer_addresses: dict[int, Endpoint] = {}
        """Node id -> an address that is used instead of the one known to the cluster
        (`Broker.address_of`)."""
        self._broker: Broker | None = None

    @property
    def broker(self) -> Broker:
        """The broker's state. Raise RuntimeError before Started."""
        if self._broker is None:
            raise RuntimeError("the node has not started: step it through Started first")
        return self._broker

    def step(self, event: Event) -> tuple[Effect, ...]:
        """Handle one event, resume every handler that it lets continue, and return the effects. An
        error becomes the effect Failed, but one in handling Started or Stopping itself is raised.
        After a StorageError of the event no handler is resumed. Raise RuntimeError before
        Started."""
        if isinstance(event, Started):
            broker = self._broker = Broker(
                self.config,
                self.storage,
                self.directory,
                self.advertised,
                self.rules,
                self.apis,
                event,
                self.also_advertised,
            )
            self._waiting = Waiting(
                broker,
                self._must_give_way,
                lambda node, lane: self.peer_addresses.get(node) or broker.address_of(node, lane),
                lambda request: self._handler_of(broker, request),
            )
        else:
            broker = self.broker
            broker.moment.enter(event)
        # A list is faster than a chain of generators, each of which would be resumed per effect.
        effects: list[Effect] = []
        try:
            self._take(broker, event, effects)
        except Exception as error:
            if isinstance(event, Started | Stopping):
                raise
            effects.append(failed(connection_of(event), error))
            if isinstance(error, StorageError):
                return tuple(effects)
        try:
            self._waiting.settle(effects)
        except StorageError as error:
            effects.append(failed(None, error))
        return tuple(effects)

    def _must_give_way(self) -> bool:
        return self.must_give_way()

    def _take(self, broker: Broker, event: Event, effects: list[Effect]) -> None:
        """Run the handler of a request, or handle another kind of event; add the effects for the
        host. Raise ValueError for an event that nodes do not have."""
        run = self._waiting.run
        match event:
            case RequestArrived(request=request):
                run(request.connection, self._handler_of(broker, request), effects)
            case Started():
                effects += broker.start()
                effects += housekeeping.start(broker)
                broker_lifecycle.begin(broker)
                controller_lifecycle.begin(broker)
                broker.outbox.post("snapshots", keep_snapshots(broker))
            case GoOn(connection=connection):
                self._waiting.go_on(connection, effects)
            case ConnectionOpened(connection=connection, client_port=port):
                broker.telemetry.opened(connection, port)
                effects += identify(broker, event)
            case TokenArrived(connection=connection, token=token):
                run(connection, broker.authentication.token_arrived(connection, token), effects)
            case ConnectionClosed(connection=connection):
                self._waiting.close(connection, effects)
                broker.principals.forget(connection)
                broker.connection_listeners.closed(connection)
                broker.telemetry.closed(connection)
                run(None, broker.authentication.closed(connection), effects)
                run(None, broker.purgatory.drop(connection), effects)
            case Answered(request_id=request_id, body=body):
                effects += self._waiting.peers.answered(request_id, body)
            case ConnectionLost(destination=destination, reason=reason):
                effects += self._waiting.peers.connection_lost(destination, reason)
            case TimerFired(key=key):
                if key[0] == TIMER:
                    self._waiting.timer_fired(key)
                elif key[0] == peers.TIMER:
                    effects += self._waiting.peers.timer_fired(key)
                else:
                    run(connection_of(event), TIMERS[str(key[0])](broker, key), effects)
            case StopAsked():
                broker.outbox.post("shutdown", leave(broker))
            case Stopping():
                broker.stop()
            case _:
                raise ValueError(f"a node cannot handle {event}")

    def answer_waiting(self) -> list[Effect]:
        """Resume every handler that need not wait any longer, and return the effects. Raise
        StorageError if the disk fails in one of them."""
        effects: list[Effect] = []
        self._waiting.settle(effects)
        return effects

    def _handler_of(self, broker: Broker, request: Request) -> Iterator[Effect]:
        """Return the handler that answers the request. If this node does not serve it, or the
        client must authenticate first, return one that closes the connection."""
        outsider = broker.authentication.outside.get(request.connection)
        if outsider is not None:
            objection = outsider.objection_to(request.api_key)
            if objection is not None:
                return iter((CloseConnection(request.connection, objection),))
        api = broker.apis_for(request.connection).get(request.api_key)
        # An ApiVersions of any version is answered, so that the client can choose another (KIP-35).
        if api is None or not (
            api.serves(request.api_version) or request.api_key == ApiKey.API_VERSIONS
        ):
            reason = not_served(request.api_key, request.api_version)
            return iter((CloseConnection(request.connection, reason),))
        if self.apis.controller.get(request.api_key) is api:
            return decide(broker, request)
        handler = api.handle(broker, request)
        return handler if api.refuse is None else held(broker, handler)


def identify(broker: Broker, opened: ConnectionOpened) -> Iterator[Effect]:
    """Note the listener of a new connection. If the listener demands a login, wait for that. Else a
    client that has shown a certificate is named by it, and its connection is closed if no rule
    gives it a name (SslPrincipalMapper.java)."""
    connection = opened.connection
    listener = broker.connection_listeners.opened(connection, opened.listener)
    if listener.sasl is not None:
        broker.authentication.opened(connection, listener.sasl)
    elif listener.tls is not None and opened.subject is not None:
        name = name_of(listener.tls.rules, opened.subject)
        if name is None:
            reason = f"no rule of {RULES} matches the certificate of {opened.subject}"
            yield CloseConnection(connection, reason)
        else:
            broker.principals.authenticated(connection, f"User:{name}")


def leave(broker: Broker) -> Iterator[Effect]:
    """Let other nodes lead what this one leads, first the partitions, then the quorum. Then end the
    node."""
    yield from broker_lifecycle.leave(broker)
    yield from controller_lifecycle.leave(broker)
    yield Stop()


def connection_of(event: Event) -> int | None:
    """Return the id of the connection that an event is about, or None if it is about none."""
    match event:
        case RequestArrived(request=request):
            return request.connection
        case TimerFired(key=(purgatory.TIMER | authentication.TIMER, int(connection), *_)):
            return connection
        case TokenArrived() | GoOn() | ConnectionOpened() | ConnectionClosed():
            return event.connection
    return None


def never() -> bool:
    """Return False: with no other request waiting, no handler must give way."""
    return False


TIMERS: dict[str, Callable[[Broker, TimerKey], Iterator[Effect]]] = {
    purgatory.TIMER: lambda broker, key: broker.purgatory.expire(key),
    timers.TIMER: timer_fired,
    transactions.TIMER: lambda broker, key: broker.transactions.timer_fired(key),
    authentication.TIMER: lambda broker, key: broker.authentication.timer_fired(key),
    duties.TIMER: lambda broker, key: duties.timer_fired(broker.quorum, key),
    housekeeping.TIMER: housekeeping.fired,
}
"""The owner of a timer, the first part of its key -> the function that handles the timer when it
fires."""
