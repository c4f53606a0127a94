"""Read a broker's own settings, for cases that depend on limits which its operator chooses."""

from __future__ import annotations

from conformance.case import Unsupported
from conformance.wire import Wire, part
from reference_impl.wire import ErrorCode

BROKER = 4
"""ConfigResource.Type of a broker."""
FETCH_SESSIONS, FETCH_SESSIONS_DEFAULT = "max.incremental.fetch.session.cache.slots", 1000
SESSION_TIMEOUTS_MS = ("group.min.session.timeout.ms", "group.max.session.timeout.ms")
VERIFICATION = "transaction.partition.verification.enable"
TRANSACTION_TIMEOUT_MS = "transaction.max.timeout.ms"


def broker_setting(wire: Wire, key: str) -> str | None:
    """Return a setting of the first broker, or None if the broker does not reveal it."""
    if "DescribeConfigs" not in wire.advertised:
        return None
    node_id = min(wire.brokers())
    resource = part(
        "DescribeConfigs",
        "DescribeConfigsResource",
        resource_type=BROKER,
        resource_name=str(node_id),
        configuration_keys=[key],
    )
    version = wire.version("DescribeConfigs")
    (found,) = wire.broker(node_id).call("DescribeConfigs", version, resources=[resource]).results
    if found.error_code != ErrorCode.NONE:
        return None
    return next((config.value for config in found.configs if config.name == key), None)


def limit(wire: Wire, key: str, default: int) -> int:
    """Return a numeric setting of the first broker, or `default`, which must be Apache Kafka's, if
    the broker does not reveal it."""
    value = broker_setting(wire, key)
    return int(value) if value is not None else default


def session_timeouts_ms(wire: Wire) -> tuple[int, int]:
    """Return the shortest and the longest session time-out of classic groups that the broker
    allows, in milliseconds."""
    shortest, longest = SESSION_TIMEOUTS_MS
    return limit(wire, shortest, 6_000), limit(wire, longest, 1_800_000)


def require_session_timeout(wire: Wire, timeout_ms: int) -> None:
    """Raise Unsupported if the broker's limits exclude this session time-out of classic groups."""
    shortest, longest = session_timeouts_ms(wire)
    if not shortest <= timeout_ms <= longest:
        raise Unsupported(
            f"{' and '.join(SESSION_TIMEOUTS_MS)} are {shortest} and {longest} here; the case"
            f" needs a session time-out of {timeout_ms}"
        )


def require_transaction_timeout(wire: Wire, timeout_ms: int) -> None:
    """Raise Unsupported if the broker's limit excludes this time-out of transactions."""
    longest = limit(wire, TRANSACTION_TIMEOUT_MS, 900_000)
    if timeout_ms > longest:
        raise Unsupported(
            f"{TRANSACTION_TIMEOUT_MS} is {longest} here; the case needs {timeout_ms}"
        )


def require_verification(wire: Wire) -> None:
    """Raise Unsupported if the broker appends transactional batches to partitions that were not
    added to the transaction, since its operator wants no verification (KIP-890)."""
    if broker_setting(wire, VERIFICATION) == "false":
        raise Unsupported(f"{VERIFICATION} is false here; the case needs true")


def require_fetch_session(wire: Wire, session_id: int) -> None:
    """Raise Unsupported if the broker gave no fetch session, and may have had no room for it: its
    cache is smaller than by default, or others use it, too (KIP-227, Fetch Session Caching)."""
    slots = limit(wire, FETCH_SESSIONS, FETCH_SESSIONS_DEFAULT)
    if session_id == 0 and (slots < FETCH_SESSIONS_DEFAULT or wire.is_shared):
        shared = ", and others use it, too" if wire.is_shared else ""
        raise Unsupported(f"the broker gave no fetch session; {FETCH_SESSIONS} is {slots}{shared}")


def require_assignor(wire: Wire, name: str, *, by_default: bool = False) -> None:
    """Raise Unsupported if the broker reveals that it lacks this assignor of consumer groups.

    by_default: whether it must be the first one, which groups get if they name none.
    """
    told = broker_setting(wire, "group.consumer.assignors")
    if told is None:
        return
    # Apache Kafka also takes the class of an assignor for its name.
    known = [item.strip().rpartition(".")[2].lower() for item in told.split(",")]
    known = [item.removesuffix("assignor") for item in known]
    if name not in (known[:1] if by_default else known):
        wanted = f"{name} first" if by_default else name
        raise Unsupported(f"group.consumer.assignors is {told} here; the case needs {wanted}")


def require_auto_creation(wire: Wire) -> None:
    """Raise Unsupported unless the broker reveals that it creates topics on first use
    (auto.create.topics.enable)."""
    told = broker_setting(wire, "auto.create.topics.enable")
    if told != "true":
        what = f"is {told} here" if told else "is not revealed by the broker"
        raise Unsupported(f"auto.create.topics.enable {what}; the case needs true")
