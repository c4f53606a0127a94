"""Decide by a table of error codes, with reasons, whether an error proves that the operation had no
effect.

`FAIL` asserts that the operation certainly had no effect, and a checker accuses the broker if the
effect shows nevertheless. So the rule is: **when in doubt, INFO**. A code which is not in the table
is INFO.

A send is the hard case, since clients retry by themselves. librdkafka reports the answer to the
*last* attempt: a batch whose first attempt was appended, and whose answer got lost, may end in
NOT_ENOUGH_REPLICAS or OUT_OF_ORDER_SEQUENCE_NUMBER, which proves only that the last attempt was not
appended. librdkafka knows more (rd_kafka_message_status: NOT_PERSISTED, POSSIBLY_PERSISTED), and
confluent-kafka does not expose it (2.16). So certainty has three grades, and a client that does not
report the number of attempts can use only ALWAYS.

Sources: org.apache.kafka.common.protocol.Errors; ReplicaManager.appendRecords, LogValidator,
ProducerStateManager (checks before the append), DelayedProduce (answers after it); rdkafka.h,
rd_kafka_resp_err_t and rd_kafka_purge; KIP-360, KIP-890. The names of Kafka's codes are Kafka's; a
leading underscore marks librdkafka's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from chaos.values.protocols import Outcome


class Certainty(StrEnum):
    """The condition under which an error proves that the operation had no effect."""

    ALWAYS = "always"
    FIRST_ATTEMPT = "first attempt"
    NEVER = "never"


ALWAYS, FIRST, NEVER = Certainty.ALWAYS, Certainty.FIRST_ATTEMPT, Certainty.NEVER


@dataclass(frozen=True)
class Row:
    """One error, with the facts that it proves about a send and about a commit or an abort, and the
    reason."""

    error: str
    send: Certainty
    end: Certainty
    reason: str


_CHECKED_AGAIN = "a property of the request itself: every attempt is refused before the append"
_THIS_ATTEMPT = "refused before the append, but an earlier attempt may have been appended"
_AFTER_APPEND = "may be answered after the append, while the leader waits for followers"
_NOT_AN_ANSWER = "says nothing about what the broker did with the request"
_CALL_ORDER = "refused inside the client by the order of calls: no request was made"

TABLE: tuple[Row, ...] = (
    # --- refused for what the records are -----------------------------------------------------
    Row("MESSAGE_TOO_LARGE", ALWAYS, NEVER, _CHECKED_AGAIN),
    Row("RECORD_LIST_TOO_LARGE", ALWAYS, NEVER, _CHECKED_AGAIN),
    Row("INVALID_REQUIRED_ACKS", ALWAYS, NEVER, _CHECKED_AGAIN),
    Row("INVALID_TIMESTAMP", ALWAYS, NEVER, _CHECKED_AGAIN),
    Row("UNSUPPORTED_FOR_MESSAGE_FORMAT", ALWAYS, NEVER, _CHECKED_AGAIN),
    Row("UNSUPPORTED_COMPRESSION_TYPE", ALWAYS, NEVER, _CHECKED_AGAIN),
    Row("INVALID_RECORD", ALWAYS, NEVER, _CHECKED_AGAIN),
    Row("INVALID_TOPIC_EXCEPTION", ALWAYS, NEVER, _CHECKED_AGAIN),
    # --- refused for the state of the moment --------------------------------------------------
    Row("CORRUPT_MESSAGE", FIRST, NEVER, _THIS_ATTEMPT),
    Row("NOT_ENOUGH_REPLICAS", FIRST, NEVER, _THIS_ATTEMPT),
    Row("TOPIC_AUTHORIZATION_FAILED", FIRST, NEVER, _THIS_ATTEMPT),
    Row("CLUSTER_AUTHORIZATION_FAILED", FIRST, NEVER, _THIS_ATTEMPT),
    Row("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", FIRST, FIRST, _THIS_ATTEMPT),
    Row("UNSUPPORTED_VERSION", FIRST, FIRST, _THIS_ATTEMPT),
    Row("INVALID_REQUEST", FIRST, FIRST, _THIS_ATTEMPT),
    Row("OUT_OF_ORDER_SEQUENCE_NUMBER", FIRST, NEVER, _THIS_ATTEMPT),
    Row("UNKNOWN_PRODUCER_ID", FIRST, NEVER, _THIS_ATTEMPT),
    Row(
        "INVALID_PRODUCER_EPOCH",
        FIRST,
        NEVER,
        "this attempt was fenced; an earlier one, or the end of the transaction, may have worked",
    ),
    Row(
        "PRODUCER_FENCED",
        FIRST,
        NEVER,
        "this attempt was fenced; the coordinator may already have ended the transaction as asked",
    ),
    Row(
        "INVALID_TXN_STATE",
        FIRST,
        NEVER,
        "the retry of an end that succeeded finds the transaction ended",
    ),
    Row(
        "INVALID_PRODUCER_ID_MAPPING",
        FIRST,
        NEVER,
        "the coordinator forgot the id, perhaps after it did what was asked",
    ),
    Row(
        "CONCURRENT_TRANSACTIONS",
        FIRST,
        NEVER,
        "another end is under way, and it may be an earlier attempt of this one",
    ),
    # --- Kafka's answers that prove nothing ---------------------------------------------------
    Row("UNKNOWN_SERVER_ERROR", NEVER, NEVER, _NOT_AN_ANSWER),
    Row("UNKNOWN_TOPIC_OR_PARTITION", NEVER, NEVER, _AFTER_APPEND),
    Row("UNKNOWN_TOPIC_ID", NEVER, NEVER, _AFTER_APPEND),
    Row("NOT_LEADER_OR_FOLLOWER", NEVER, NEVER, _AFTER_APPEND),
    Row("KAFKA_STORAGE_ERROR", NEVER, NEVER, _AFTER_APPEND),
    Row("LEADER_NOT_AVAILABLE", NEVER, NEVER, _NOT_AN_ANSWER),
    Row("REQUEST_TIMED_OUT", NEVER, NEVER, _AFTER_APPEND),
    Row("NOT_ENOUGH_REPLICAS_AFTER_APPEND", NEVER, NEVER, "the record is in the leader's log"),
    Row("DUPLICATE_SEQUENCE_NUMBER", NEVER, NEVER, "an earlier attempt is in the log"),
    Row("NETWORK_EXCEPTION", NEVER, NEVER, _NOT_AN_ANSWER),
    Row("TRANSACTION_ABORTABLE", NEVER, NEVER, "KIP-890 promises only that aborting is right"),
    Row("COORDINATOR_NOT_AVAILABLE", NEVER, NEVER, _NOT_AN_ANSWER),
    Row("COORDINATOR_LOAD_IN_PROGRESS", NEVER, NEVER, _NOT_AN_ANSWER),
    Row("NOT_COORDINATOR", NEVER, NEVER, "an earlier attempt may have reached the coordinator"),
    # --- librdkafka ---------------------------------------------------------------------------
    Row("_QUEUE_FULL", ALWAYS, NEVER, "the record was never accepted by the client"),
    Row("_STATE", ALWAYS, ALWAYS, _CALL_ORDER),
    Row("_INVALID_ARG", ALWAYS, ALWAYS, _CALL_ORDER),
    Row("_NOT_CONFIGURED", ALWAYS, ALWAYS, _CALL_ORDER),
    Row("_UNKNOWN_PARTITION", FIRST, NEVER, _THIS_ATTEMPT),
    Row("_UNKNOWN_TOPIC", FIRST, NEVER, _THIS_ATTEMPT),
    Row(
        "_PURGE_QUEUE",
        FIRST,
        NEVER,
        "purged while queued, and a batch is also queued between two attempts",
    ),
    Row("_PURGE_INFLIGHT", NEVER, NEVER, "purged after it was handed to the network"),
    Row("_MSG_TIMED_OUT", NEVER, NEVER, "the time was up, in the queue or between attempts"),
    Row("_TIMED_OUT", NEVER, NEVER, _NOT_AN_ANSWER),
    Row("_TRANSPORT", NEVER, NEVER, _NOT_AN_ANSWER),
    Row("_ALL_BROKERS_DOWN", NEVER, NEVER, _NOT_AN_ANSWER),
    Row("_DESTROY", NEVER, NEVER, "the client was closed with the request under way"),
    Row("_FENCED", NEVER, NEVER, "fenced now; what was sent before may have worked"),
    Row(
        "_FATAL",
        NEVER,
        NEVER,
        "the client gave up; the cause proves nothing about earlier attempts",
    ),
    Row("_GAPLESS_GUARANTEE", NEVER, NEVER, _NOT_AN_ANSWER),
    Row("_INCONSISTENT", NEVER, NEVER, "the client lost track of its sequence numbers"),
)

BY_ERROR = {row.error: row for row in TABLE}


def send_outcome(error: str | None, *, single_attempt: bool = False) -> Outcome:
    """Return the outcome of one record of a send: OK without an error, and INFO for an error that
    is not in the table. single_attempt: whether the client is known not to have retried."""
    return _outcome(error, BY_ERROR[error].send if error in BY_ERROR else NEVER, single_attempt)


def end_outcome(error: str | None, *, single_attempt: bool = False) -> Outcome:
    """Return the outcome of a commit or an abort: OK without an error, and INFO for an error that
    is not in the table. single_attempt: whether the client is known not to have retried."""
    return _outcome(error, BY_ERROR[error].end if error in BY_ERROR else NEVER, single_attempt)


def begin_outcome(error: str | None) -> Outcome:
    """Return the outcome of opening a transaction: any error is a failure, since the client sends
    nothing in a transaction that was not opened."""
    return Outcome.OK if error is None else Outcome.FAIL


def read_outcome(error: str | None) -> Outcome:
    """Return the outcome of a poll: a read has no effect, so one that delivered nothing certainly
    failed."""
    return Outcome.OK if error is None else Outcome.FAIL


def _outcome(error: str | None, certainty: Certainty, single_attempt: bool) -> Outcome:
    if error is None:
        return Outcome.OK
    proven = certainty is ALWAYS or (certainty is FIRST and single_attempt)
    return Outcome.FAIL if proven else Outcome.INFO


def list_markdown() -> str:
    """Return a table in Markdown: for each error, whether it proves that a send, or the end of a
    transaction, has failed, and why."""
    lines = ["| error | a send failed | an end failed | because |", "|---|---|---|---|"]
    lines += [f"| `{r.error}` | {r.send} | {r.end} | {r.reason} |" for r in TABLE]
    return "\n".join(lines)
