"""Clients' metrics: those that each client should push, and those that it has pushed (KIP-714).

An administrator subscribes to metrics of clients (configurations of type CLIENT_METRICS). A client
sends GetTelemetrySubscriptions and gets names of metrics, an interval and the id of this
subscription; once an interval it sends PushTelemetry with its measurements under that id. When what
it should push changes, so does the id, and the client asks again.

Apache Kafka passes the pushed metrics to a plugin, and advertises both APIs only if there is one.
This broker is its own receiver: it keeps the newest measurements, RECEIVED_BYTES_MAX of them, and
reports the first ones of each client.

Source: ClientMetricsManager.java, ClientMetricsInstance.java, ClientMetricsInstanceMetadata.java.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from crc32c import crc32c

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.client_metrics import (
    ALL_METRICS,
    DEFAULT_INTERVAL_MS,
    Subscription,
    subscription_of,
)
from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.effects import Effect, GiveWay
from reference_impl.core.events import Request
from reference_impl.core.log.directories.data_directory import uuid_text
from reference_impl.core.moment import Moment
from reference_impl.core.refused import Refused
from reference_impl.wire import Compression, ErrorCode

NEVER_MS = -(1 << 62)
"""A time before any reading of the monotonic clock."""
INSTANCES_MAX = 16384
"""The most clients to remember; the one that was silent for longest is forgotten first."""
SILENCE_MS = 60_000
"""A client is forgotten after this many milliseconds of silence, and at least three push
intervals."""
RECEIVED_BYTES_MAX = 16 * 1024 * 1024
ATTRIBUTE_MAX = 256
"""The longest attribute in characters. A longer one, which a client may choose freely, matches no
pattern and is not stored."""
RESERVED_IDS = (UUID(int=0), UUID(int=1))
_ASKS_ANEW_AFTER = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
_NO_SOFTWARE = ("unknown", "unknown")
_PUSH_BYTES = 512


@dataclass
class Instance:
    """One client instance, and the metrics that subscriptions request from it."""

    id: UUID
    connection: int
    attributes: Mapping[str, str] = field(repr=False)
    """Attribute -> value, to which the patterns of subscriptions are applied."""
    subscriptions_version: int
    metrics: tuple[str, ...]
    interval_ms: int
    subscription_id: int
    last_asked_ms: int = NEVER_MS
    last_pushed_ms: int = NEVER_MS
    seen_ms: int = 0
    is_terminating: bool = False
    last_error: ErrorCode = ErrorCode.NONE
    pushes: int = 0

    def may_ask(self, now_ms: int) -> bool:
        """Return whether the client may ask for its subscription now, and if its interval has
        passed, note this time as its last request. The interval counts from its last request or
        push; after an error that a new subscription corrects, the client may ask without
        waiting."""
        if now_ms - max(self.last_asked_ms, self.last_pushed_ms) >= self.interval_ms:
            self.last_asked_ms = now_ms
            return True
        return self.last_error in _ASKS_ANEW_AFTER

    def may_push(self, now_ms: int) -> bool:
        """Return whether the client may push now, and if so, note this time as its last push. It
        may an interval after its last push, or once at any time after asking, since clients spread
        their first pushes over the interval."""
        has_asked = self.last_asked_ms > self.last_pushed_ms
        if not has_asked and now_ms - self.last_pushed_ms < self.interval_ms:
            return False
        self.last_pushed_ms = now_ms
        return True

    def is_forgotten(self, now_ms: int) -> bool:
        """Return whether the client has been silent for too long."""
        return now_ms - self.seen_ms > max(SILENCE_MS, 3 * self.interval_ms)


@dataclass(frozen=True)
class Push:
    """Measurements as a client sent them: OTLP, compressed."""

    client_instance_id: UUID
    at_ms: int
    compression: Compression
    is_terminating: bool
    metrics: bytes = field(repr=False)

    @property
    def size_bytes(self) -> int:
        """Return the approximate memory that keeping the push takes."""
        return len(self.metrics) + _PUSH_BYTES


class Telemetry:
    """All clients that were asked for their metrics, and what they sent lately."""

    def __init__(
        self, image: MetadataImage, moment: Moment, config: Callable[[], BrokerConfig]
    ) -> None:
        self._image, self._moment, self._config = image, moment, config
        self._instances: OrderedDict[UUID, Instance] = OrderedDict()
        self._id_of_connection: dict[int, UUID] = {}
        self._ports: dict[int, int] = {}
        self._software: dict[int, tuple[str, str]] = {}
        self._version = 0
        self._parsed: dict[str, tuple[dict[str, str], Subscription]] = {}
        """Name -> a subscription's settings when they were parsed last, and what they mean."""
        self._parsed_version = -1
        self.received: deque[Push] = deque()
        self._received_bytes = 0

    # --- what is known of connections and subscriptions -----------------------------------------

    def opened(self, connection: int, port: int) -> None:
        """Store the port that a client connects from, which the patterns of subscriptions may
        name."""
        self._ports[connection] = port

    def told_software(self, connection: int, name: str, version: str) -> None:
        """Note the name and version of a client's software, as its ApiVersions request gives them
        (KIP-511). Ignore both if one is longer than ATTRIBUTE_MAX."""
        if len(name) <= ATTRIBUTE_MAX and len(version) <= ATTRIBUTE_MAX:
            self._software[connection] = name, version

    def closed(self, connection: int) -> None:
        """Forget a connection, and the client that came by it."""
        self._ports.pop(connection, None)
        self._software.pop(connection, None)
        if (instance_id := self._id_of_connection.pop(connection, None)) is not None:
            self._instances.pop(instance_id, None)

    def subscriptions_changed(self) -> None:
        """Determine again what each client should push, at its next request. Its subscription id
        changes if its metrics or its interval do."""
        self._version += 1

    def parse_changes(self, request: Request) -> Iterator[Effect]:
        """Parse the subscriptions that have changed. Give way after each, since the patterns of all
        of them may take a second to compile."""
        if self._parsed_version != self._version:
            for name, given in list(self._image.client_metrics.items()):
                self._parsed[name] = self._meaning(name, given)
                yield GiveWay(request)

    def _meaning(self, name: str, given: Mapping[str, str]) -> tuple[dict[str, str], Subscription]:
        """Return a subscription's settings and what they mean; parse them only if they have
        changed."""
        known = self._parsed.get(name)
        if known is not None and known[0] == given:
            return known
        return dict(given), subscription_of(given)

    def _subscriptions(self) -> Iterator[Subscription]:
        """Yield the subscriptions in force."""
        if self._parsed_version != self._version:
            self._parsed = {
                name: self._meaning(name, given)
                for name, given in self._image.client_metrics.items()
                if given
            }
            self._parsed_version = self._version
        for _, subscription in self._parsed.values():
            yield subscription

    # --- the two requests -----------------------------------------------------------------------

    def asked(self, request: Request) -> Instance:
        """Return the client instance with the metrics that it should push; a client whose id is
        zero gets a random one. Raise Refused(THROTTLING_QUOTA_EXCEEDED) if it may not ask yet
        (`Instance.may_ask`)."""
        given = request.body.client_instance_id
        instance = self._instance(given if given.int else self._moment.random_uuid(), request)
        if not instance.may_ask(self._moment.monotonic_ms):
            raise Refused(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        instance.last_error = ErrorCode.NONE
        return instance

    def pushed(self, request: Request) -> Instance:
        """Store the metrics that a client sends, if any, and return the client. Raise Refused if
        the push is wrong or too early, and keep the code as the client's last error, which decides
        when it may ask again."""
        body = request.body
        if body.client_instance_id in RESERVED_IDS:
            raise Refused(ErrorCode.INVALID_REQUEST)
        instance = self._instance(body.client_instance_id, request)
        try:
            self._check_push(instance, request)
        except Refused as refused:
            instance.last_error = refused.code
            raise
        finally:
            instance.is_terminating = body.terminating
        instance.last_error = ErrorCode.NONE
        if body.metrics:
            self._receive(instance, request)
        return instance

    # --- inside ---------------------------------------------------------------------------------

    def _check_push(self, instance: Instance, request: Request) -> None:
        body = request.body
        if instance.is_terminating:  # it has announced its last push already
            raise Refused(ErrorCode.INVALID_REQUEST)
        if not instance.may_push(self._moment.monotonic_ms) and not body.terminating:
            raise Refused(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        if body.subscription_id != instance.subscription_id:
            raise Refused(ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
        if body.compression_type not in Compression._value2member_map_:
            raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        if len(body.metrics) > self._config().number("telemetry.max.bytes"):
            raise Refused(ErrorCode.TELEMETRY_TOO_LARGE)

    def _receive(self, instance: Instance, request: Request) -> None:
        body = request.body
        push = Push(
            instance.id,
            self._moment.now_ms,
            Compression(body.compression_type),
            body.terminating,
            bytes(body.metrics),
        )
        instance.pushes += 1
        self.received.append(push)
        self._received_bytes += push.size_bytes
        while self._received_bytes > RECEIVED_BYTES_MAX:
            self._received_bytes -= self.received.popleft().size_bytes

    def _instance(self, instance_id: UUID, request: Request) -> Instance:
        """Return the client with this id, and note that it was heard of now. Make a new one if the
        id is unknown, the client was silent for too long, or subscriptions have changed."""
        now_ms = self._moment.monotonic_ms
        known = self._instances.get(instance_id)
        if known is not None and known.is_forgotten(now_ms):
            known = None
        if known is None:
            known = self._made(instance_id, request.connection, self._attributes(request))
        elif known.subscriptions_version != self._version:
            known = self._made(instance_id, request.connection, known.attributes)
        known.seen_ms = now_ms
        self._instances.move_to_end(instance_id)
        return known

    def _made(self, id: UUID, connection: int, attributes: Mapping[str, str]) -> Instance:
        about = {**attributes, "client_instance_id": uuid_text(id)}
        wanted = [each for each in self._subscriptions() if each.is_for(about)]
        metrics = sorted({name for each in wanted for name in each.metrics})
        if ALL_METRICS in metrics:
            metrics = [ALL_METRICS]
        interval_ms = min([DEFAULT_INTERVAL_MS, *(each.interval_ms for each in wanted)])
        crc = crc32c(f"[{', '.join(metrics)}]{interval_ms}".encode())
        instance = Instance(
            id,
            connection,
            attributes,
            self._version,
            tuple(metrics),
            interval_ms,
            _signed(crc ^ _java_hash(id)),
        )
        self._instances[id] = instance
        self._id_of_connection[connection] = id
        while len(self._instances) > INSTANCES_MAX:
            self._instances.popitem(last=False)
        return instance

    def _attributes(self, request: Request) -> dict[str, str]:
        """Return the client's attributes that patterns are matched against, except for the client
        instance id. Leave out those that are empty or longer than ATTRIBUTE_MAX."""
        name, version = self._software.get(request.connection, _NO_SOFTWARE)
        found = {
            "client_id": request.client_id or "",
            "client_software_name": name,
            "client_software_version": version,
            "client_source_address": request.client_host.rpartition("/")[2],
            "client_source_port": str(self._ports.get(request.connection, "")),
        }
        return {key: value for key, value in found.items() if 0 < len(value) <= ATTRIBUTE_MAX}


def _java_hash(id: UUID) -> int:
    """Return what Java's Uuid.hashCode returns, as an unsigned 32-bit number."""
    folded = (id.int >> 64) ^ (id.int & (2**64 - 1))
    return (folded >> 32) ^ (folded & (2**32 - 1))


def _signed(bits: int) -> int:
    """Return the int32 that has these 32 bits."""
    return bits - 2**32 if bits >= 2**31 else bits
