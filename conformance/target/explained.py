"""Find the setting of a target that explains why it refused a case what the case needs.

A broker whose operator forbids something is not wrong: such a case is unsupported, and names the
setting. Each explanation has two bounds: the setting, as DescribeConfigs tells it now, must forbid
exactly the request that was refused, and the default of Apache Kafka must allow it. The same error
without the setting is a failure, and so is what follows a refusal that every broker owes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from conformance.brokers import Brokers
from conformance.case import Deviation, Unsupported
from conformance.connection import ConnectionClosed, NoAnswer, part
from conformance.refusals import Closure, Refusal, Refusals
from conformance.target.permissions import has_authorizer
from conformance.wire import NONCE
from reference_impl.wire import ErrorCode, Malformed, Struct, error_name

ASK_TIMEOUT_S = 5.0
BROKER = 4
"""ConfigResource.Type of a broker."""
IDLE_SHARE = 0.9
"""The share of the idle limit from which on it explains a closure: a broker checks only now and
then, and by another clock."""
DEFAULTS = {
    "connections.max.idle.ms": "600000",
    "group.max.session.timeout.ms": "1800000",
    "group.min.session.timeout.ms": "6000",
    "log.segment.bytes": "1073741824",
    "message.max.bytes": "1048588",
    "offset.metadata.max.bytes": "4096",
    "socket.request.max.bytes": "104857600",
    "transaction.max.timeout.ms": "900000",
}
"""The limits of Apache Kafka 4.3.1 that a case may exceed on purpose. The default of any other
setting forbids nothing that a case can ask, but for the replication factors of internal topics,
which no case examines."""


@dataclass(frozen=True)
class Told:
    """The facts that a target reveals about itself: its settings, its brokers, and whether an
    operator limits changes of topics by a quota, or what clients may do by permissions."""

    settings: Mapping[str, str]
    brokers: int = 1
    has_mutation_quota: bool = False
    has_authorizer: bool = False
    """Whether permissions limit what clients may do, as the target shows elsewhere."""

    def without(self, keys: Collection[str]) -> Told:
        """Return the same facts without these settings."""
        left = {key: value for key, value in self.settings.items() if key not in keys}
        authorizes = self.has_authorizer and AUTHORIZER not in keys
        return replace(self, settings=left, has_authorizer=authorizes)

    def by_default(self) -> Told:
        """Return the facts of this target as if all its settings were Apache Kafka's defaults."""
        return Told(DEFAULTS, self.brokers)

    def number(self, key: str) -> float | None:
        """Return a numeric setting, or None if the target does not reveal it."""
        with suppress(KeyError, ValueError):
            return float(self.settings[key])
        return None

    def is_below(self, key: str, value: float) -> bool:
        """Return whether a limit is known, and below this value."""
        limit = self.number(key)
        return limit is not None and limit < value

    def is_above(self, key: str, value: float) -> bool:
        """Return whether a limit is known, and above this value."""
        limit = self.number(key)
        return limit is not None and limit > value


Holds = Callable[[Told, Refusal], bool]


@dataclass(frozen=True)
class Explanation:
    """An error that a setting may cause. apis: the requests that it concerns, or none if it
    concerns all. holds: whether the setting forbids the request."""

    error: ErrorCode
    setting: str
    holds: Holds
    apis: frozenset[str] = frozenset()

    def explains(self, told: Told, refusal: Refusal) -> bool:
        """Return whether this setting of the target forbids the request that was refused, and its
        default in Apache Kafka would not."""
        return (
            refusal.error == self.error
            and (not self.apis or refusal.api in self.apis)
            and self.holds(told, refusal)
            and not self.holds(told.by_default(), refusal)
        )


def _is(key: str, value: str) -> Holds:
    return lambda told, _: told.settings.get(key) == value


def _is_set(key: str) -> Holds:
    return lambda told, _: bool(told.settings.get(key))


def _is_full(key: str) -> Holds:
    return lambda told, refusal: told.is_below(key, refusal.members + 1)


def _lacks(protocol: str) -> Holds:
    key = "group.coordinator.rebalance.protocols"
    return lambda told, _: (
        key in told.settings
        and protocol not in [word.strip().lower() for word in told.settings[key].split(",")]
    )


def _has_too_few_brokers(key: str, key_type: int) -> Holds:
    return lambda told, refusal: (
        getattr(refusal.asked, "key_type", 0) == key_type and told.is_above(key, told.brokers)
    )


def _metadata_is_longer(told: Told, refusal: Refusal) -> bool:
    """Return whether one of the offsets to commit has metadata longer than
    offset.metadata.max.bytes."""
    texts = [
        partition.committed_metadata or ""
        for topic in refusal.asked.topics
        for partition in topic.partitions
    ]
    return told.is_below("offset.metadata.max.bytes", max(map(len, texts), default=0))


def _records_are_larger(key: str) -> Holds:
    def holds(told: Told, refusal: Refusal) -> bool:
        sizes = [
            len(partition.records or b"")
            for topic in refusal.asked.topic_data
            for partition in topic.partition_data
        ]
        return told.is_below(key, max(sizes, default=0))

    return holds


def _assignments_are_larger(told: Told, refusal: Refusal) -> bool:
    """Return whether the assignments of a generation exceed message.max.bytes, the limit of a
    record in the groups' log."""
    size = sum(len(row.assignment) for row in refusal.asked.assignments)
    return told.is_below("message.max.bytes", size)


def _default_is_too_many(told: Told, refusal: Refusal) -> bool:
    """Return whether a topic asks for the default number of replicas, which exceeds the brokers."""
    asks = any(topic.replication_factor == -1 for topic in refusal.asked.topics)
    return asks and told.is_above("default.replication.factor", told.brokers)


AUTHORIZER = "authorizer.class.name"
DENIALS = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    }
)
"""The errors for a client without permission (AclEntry.authorizationError)."""
DELETING = frozenset({"DeleteTopics"})
JOIN_GROUP, HEARTBEAT_8 = frozenset({"JoinGroup"}), frozenset({"ConsumerGroupHeartbeat"})
STREAMS = frozenset({"StreamsGroupHeartbeat"})
ALTERING = frozenset({"AlterConfigs", "IncrementalAlterConfigs"})
COMMITTING = frozenset({"OffsetCommit", "TxnOffsetCommit"})
PRODUCE, CREATE = frozenset({"Produce"}), frozenset({"CreateTopics"})
FIND = frozenset({"FindCoordinator"})
EXPLANATIONS = (
    Explanation(
        ErrorCode.TOPIC_DELETION_DISABLED,
        "delete.topic.enable",
        _is("delete.topic.enable", "false"),
        DELETING,
    ),
    Explanation(
        ErrorCode.INVALID_REQUEST,  # versions before 3 lack TOPIC_DELETION_DISABLED
        "delete.topic.enable",
        lambda told, r: r.version < 3 and told.settings.get("delete.topic.enable") == "false",
        DELETING,
    ),
    *(
        Explanation(ErrorCode.GROUP_MAX_SIZE_REACHED, key, _is_full(key), apis)
        for key, apis in (
            ("group.max.size", JOIN_GROUP),
            ("group.consumer.max.size", JOIN_GROUP | HEARTBEAT_8),
            ("group.share.max.size", frozenset({"ShareGroupHeartbeat"})),
            ("group.streams.max.size", STREAMS),
        )
    ),
    *(
        Explanation(
            ErrorCode.UNSUPPORTED_VERSION,
            "group.coordinator.rebalance.protocols",
            _lacks(protocol),
            apis,
        )
        for protocol, apis in (("consumer", HEARTBEAT_8), ("streams", STREAMS))
    ),
    Explanation(
        ErrorCode.INVALID_SESSION_TIMEOUT,
        "group.min.session.timeout.ms",
        lambda told, r: told.is_above("group.min.session.timeout.ms", r.asked.session_timeout_ms),
        JOIN_GROUP,
    ),
    Explanation(
        ErrorCode.INVALID_SESSION_TIMEOUT,
        "group.max.session.timeout.ms",
        lambda told, r: told.is_below("group.max.session.timeout.ms", r.asked.session_timeout_ms),
        JOIN_GROUP,
    ),
    Explanation(
        ErrorCode.INVALID_TRANSACTION_TIMEOUT,
        "transaction.max.timeout.ms",
        lambda told, r: told.is_below("transaction.max.timeout.ms", r.asked.transaction_timeout_ms),
        frozenset({"InitProducerId"}),
    ),
    Explanation(
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        "offset.metadata.max.bytes",
        _metadata_is_longer,
        COMMITTING,
    ),
    Explanation(
        ErrorCode.MESSAGE_TOO_LARGE,
        "message.max.bytes",
        _records_are_larger("message.max.bytes"),
        PRODUCE,
    ),
    *(
        Explanation(code, "message.max.bytes", _assignments_are_larger, frozenset({"SyncGroup"}))
        # Apache Kafka answers the first one; the second names the cause.
        for code in (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
    ),
    Explanation(
        ErrorCode.RECORD_LIST_TOO_LARGE,
        "log.segment.bytes",
        _records_are_larger("log.segment.bytes"),
        PRODUCE,
    ),
    Explanation(
        ErrorCode.POLICY_VIOLATION,
        "create.topic.policy.class.name",
        _is_set("create.topic.policy.class.name"),
        CREATE | {"CreatePartitions"},
    ),
    Explanation(
        ErrorCode.POLICY_VIOLATION,
        "alter.config.policy.class.name",
        _is_set("alter.config.policy.class.name"),
        ALTERING,
    ),
    Explanation(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "default.replication.factor",
        _default_is_too_many,
        CREATE,
    ),
    *(
        Explanation(
            ErrorCode.COORDINATOR_NOT_AVAILABLE, key, _has_too_few_brokers(key, key_type), FIND
        )
        for key_type, key in enumerate(
            (
                "offsets.topic.replication.factor",
                "transaction.state.log.replication.factor",
                "share.coordinator.state.topic.replication.factor",
            )
        )
    ),
    Explanation(
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        "the quota controller_mutation_rate",
        lambda told, _: told.has_mutation_quota,
        CREATE | DELETING | {"CreatePartitions"},
    ),
    *(
        Explanation(code, setting, holds)
        for setting, holds in (
            (AUTHORIZER, _is_set(AUTHORIZER)),
            ("an authorizer limits this client", lambda told, _: told.has_authorizer),
        )
        for code in sorted(DENIALS)
    ),
)
OF_CONNECTIONS: tuple[tuple[str, Callable[[float, Closure], bool]], ...] = (
    ("connections.max.idle.ms", lambda limit, closure: closure.idle_s * 1000 >= limit * IDLE_SHARE),
    ("socket.request.max.bytes", lambda limit, closure: closure.request_bytes > limit),
    ("max.connections", lambda limit, closure: closure.open >= limit),
    ("max.connections.per.ip", lambda limit, closure: closure.open >= limit),
)
"""(setting, whether it makes a broker close this connection)."""
SETTINGS = sorted({e.setting for e in EXPLANATIONS} | {key for key, _ in OF_CONNECTIONS})


def why_unsupported(
    target: Brokers, refusals: Refusals, asked_for: Collection[str] = ()
) -> str | None:
    """Return the sentence that names the setting because of which the running case could not be
    judged, or None if no setting explains a refusal, or the target does not tell its settings. It
    is asked for them only if it has refused something. asked_for: the settings that the case itself
    has given the target. They are what it examines, and explain nothing."""
    suspected = {e.error for e in EXPLANATIONS} & {refusal.error for refusal in refusals.answers}
    if not suspected and not refusals.closures:
        return None
    found = Refusals(list(refusals.answers), list(refusals.closures))
    try:
        # This request may be refused, too.
        told = ask(target, permissions=bool(suspected & DENIALS)).without(asked_for)
    except (OSError, ConnectionClosed, NoAnswer, Malformed, Deviation, Unsupported):
        return None
    return next(_sentences(told, found), None)


def _sentences(told: Told, refusals: Refusals) -> Iterator[str]:
    for refusal in refusals.answers:
        for each in EXPLANATIONS:
            if each.explains(told, refusal):
                value = told.settings.get(each.setting)
                is_so = f" is {value}" if value is not None else ""
                yield (
                    f"{each.setting}{is_so} here, so that {refusal.api} gets"
                    f" {error_name(refusal.error)}"
                )
    for closure in refusals.closures:
        for key, makes_close in OF_CONNECTIONS:
            limit, default = told.number(key), told.by_default().number(key)
            if default is not None and makes_close(default, closure):
                continue
            if limit is not None and makes_close(limit, closure):
                yield f"{key} is {told.settings[key]} here, so that a connection was closed"


def ask(target: Brokers, *, permissions: bool = False) -> Told:
    """Return what a target tells of the settings that explain refusals, of its brokers and quotas
    and, if `permissions`, whether it has an authorizer (else False)."""
    brokers = target.brokers()
    settings, is_denied = _settings(target, min(brokers))
    authorizes = permissions and has_authorizer(target, is_denied=is_denied)
    return Told(settings, len(brokers), _has_mutation_quota(target), authorizes)


def _settings(target: Brokers, node_id: int) -> tuple[dict[str, str], bool]:
    """Return the settings that explain refusals, and whether the target denied this client to
    see them."""
    if "DescribeConfigs" not in target.advertised:
        return {}, False
    resource = part(
        "DescribeConfigs",
        "DescribeConfigsResource",
        resource_type=BROKER,
        resource_name=str(node_id),
        configuration_keys=SETTINGS,
    )
    version = target.version("DescribeConfigs")
    asked = target.broker(node_id).call("DescribeConfigs", version, resources=[resource])
    settings = {
        entry.name: entry.value
        for result in asked.results
        for entry in result.configs
        if entry.value is not None
    }
    return settings, any(result.error_code in DENIALS for result in asked.results)


def _has_mutation_quota(target: Brokers) -> bool:
    """Return whether someone other than a case limits changes of topics by a quota."""
    if "DescribeClientQuotas" not in target.advertised:
        return False
    answer = target.call("DescribeClientQuotas", components=[], strict=False)
    return any(
        value.key == "controller_mutation_rate" and not _is_ours(entry)
        for entry in answer.entries or []
        for value in entry.values
    )


def _is_ours(entry: Struct) -> bool:
    return any(NONCE.hex() in (part.entity_name or "") for part in entry.entity)
