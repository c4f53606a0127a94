"""The errors that a client reports to its application."""

from __future__ import annotations

from reference_impl.wire import ERRORS, ErrorCode, error_name


class ClientError(Exception):
    """An error for the application. The message is one sentence; `name` is Kafka's name of the
    error, or one of this client, such as COMMIT_FAILED."""

    def __init__(self, name: str, sentence: str, *, fatal: bool = False) -> None:
        super().__init__(sentence)
        self.name = name
        self.fatal = fatal
        """Whether the client cannot continue and must be closed."""


class ConfigError(ClientError):
    """A configuration key or value cannot be used."""

    def __init__(self, sentence: str) -> None:
        super().__init__("INVALID_CONFIG", sentence)


class TimedOut(ClientError):
    """The call took too long. It may still take effect."""

    def __init__(self, sentence: str) -> None:
        super().__init__("TIMEOUT", sentence)


class IllegalState(ClientError):
    """The call is not possible in this state of the client or with these arguments; no broker was
    asked."""

    def __init__(self, sentence: str) -> None:
        super().__init__("ILLEGAL_STATE", sentence)


class SendError(ClientError):
    """A record was not acknowledged. `attempts` says how often it was handed to a connection."""

    def __init__(self, cause: ClientError, attempts: int) -> None:
        super().__init__(cause.name, str(cause), fatal=cause.fatal)
        self.attempts = attempts


class Refusal(ClientError):
    """A broker has answered with an error code."""

    def __init__(self, code: int, doing: str, *, fatal: bool = False, detail: str = "") -> None:
        known = ERRORS.get(code)
        what = detail or (known.message if known else "this client does not know the code")
        super().__init__(
            known.code.name if known else str(code),
            f"{doing}: {error_name(code)}: {what}",
            fatal=fatal,
        )
        self.code = code


def is_retriable(code: int) -> bool:
    """Return whether Kafka calls the error retriable (Errors.java, RetriableException)."""
    return code in ERRORS and ERRORS[code].retriable


STALE_METADATA = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.NETWORK_EXCEPTION,
    }
)
"""Error codes that mean that the metadata may be old (InvalidMetadataException and its
subclasses)."""

COORDINATOR_MOVED = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
"""Error codes after which the coordinator must be found again."""

FATAL_IN_TRANSACTION = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_TRANSACTION_TIMEOUT,
    }
)
"""Error codes of a coordinator after which a transactional producer can only be closed. An old
epoch means that a successor has begun (KIP-98)."""
