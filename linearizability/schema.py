"""The columns of a history, the kinds of its operations, and the types of their outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import polars as pl
import pyarrow as pa

SCHEMA_VERSION = 2
"""The version of the schema. Since version 2, records have checksums, readers record where they
begin, and producers and members record their ids and partitions."""
ROW_GROUP_ROWS = 512 * 1024


NO_GENERATION = -1
"""The generation of a commit that names no member."""


class F(StrEnum):
    """The kind of operation of a row (column `f`)."""

    SEND = "send"  # one record produced; offset: the acknowledged one, null if unknown
    POLL = "poll"  # one record delivered (or none: offset null)
    BEGIN = "begin"  # a transaction was opened
    COMMIT = "commit"  # the end of transaction `txn`, asked to commit
    ABORT = "abort"  # the end of transaction `txn`, asked to abort
    ASSIGN = "assign"  # positions were set: a new `session` of this process begins
    READ_ALL = "read_all"  # this process read partition from log_start to high_watermark, whole
    SUBSCRIBE = "subscribe"  # a new member of `group` is about to join: a new `session` begins
    COMMIT_OFFSETS = "commit_offsets"  # the group's next `offset` of a partition, by a member;
    # null beside a topic: what it had committed was deleted
    FETCH_OFFSETS = "fetch_offsets"  # the group's committed `offset`, null: none; only where every
    # commit of the group is recorded
    READ_LATEST = "read_latest"  # the last committed record of a partition, as its leader told:
    # `offset` and `value`, null: there was none
    TOPIC = "topic"  # the topic was made with, or changed to, `settings`: one row per partition
    DELETE_RECORDS = "delete_records"  # DeleteRecords of all below `offset` (null: below the high
    # watermark); its answer's low watermark: `log_start`
    POSITION = (
        "position"  # this process reads the partition from `offset` on (null: not known yet);
    )
    # `asked` and `asked_offset`: how it chose
    OWNED = (
        "owned"  # the member owns this partition from t_complete_ns on, in `generation`; without
    )
    # a topic: it owns nothing
    INIT_PRODUCER = "init_producer"  # InitProducerId answered with producer_id and producer_epoch
    SEND_OFFSETS = "send_offsets"  # `txn` is to commit the group's next `offset` of a partition
    HEARTBEAT = "heartbeat"  # a request that renews the session of a member of `group`: it joined,
    # or sent a heartbeat; fail: the coordinator answered that it is not a member
    LEAVE = "leave"  # the member was closed
    CRASH = "crash"  # the member is gone without a word
    TRY_READ = "try_read"  # this process tried to read on from `asked_offset` (null: the log
    # start), after a final read had failed; `node`: the leader that it asked, null without one
    NEMESIS = "nemesis"  # a fault was applied or healed (`detail`: JSON of the fault)


class Type(StrEnum):
    """The outcome of an operation (column `type`)."""

    OK = "ok"
    FAIL = "fail"
    INFO = "info"


COLUMNS: Mapping[str, tuple[Any, str]] = {
    "schema_version": (pl.Int16, "version of this table: 2; older ones stay readable"),
    "run_id": (pl.String, "name of the run directory"),
    "op_id": (pl.Int64, "number of the operation, unique in the run, in order of invocation"),
    "record_index": (pl.Int32, "position of the record inside its operation, from 0"),
    "process": (pl.Int32, "logical single-threaded client; -1 is the nemesis"),
    "session": (
        pl.Int32,
        "grows when the process sets its positions again (assign, seek, rebalance, reset, own "
        "operation that failed or whose outcome is unknown): poll order holds within one session",
    ),
    "client": (pl.String, "client library: confluent, raw, reference, java"),
    "node": (pl.Int32, "node that served it, where known"),
    "replica": (pl.Int32, "replica that a raw read was taken from"),
    "group": (pl.String, "consumer group"),
    "member_id": (pl.String, "member of the group"),
    "generation": (pl.Int32, "generation or member epoch; -1 on a commit that names no member"),
    "transactional_id": (pl.String, "transactional.id of the producer"),
    "txn": (pl.Int64, "number of the transaction, unique in the run"),
    "isolation": (pl.String, "read_committed or read_uncommitted (polls)"),
    "acks": (pl.Int16, "-1, 0 or 1 (sends)"),
    "idempotent": (pl.Boolean, "the producer had enable.idempotence (sends)"),
    "f": (pl.String, "kind of operation: see F"),
    "type": (pl.String, "ok, fail or info"),
    "final": (pl.Boolean, "belongs to the final phase, after all faults were healed"),
    "topic": (pl.String, ""),
    "topic_id": (pl.String, "UUID, which differs if the topic is created again"),
    "partition": (pl.Int32, ""),
    "offset": (pl.Int64, "offset of the record"),
    "batch_base_offset": (pl.Int64, "base offset of the record's batch (raw reads)"),
    "control": (pl.String, "commit or abort: a control record (raw reads)"),
    "key": (
        pl.String,
        "key of the record; recorded on sends, polls and raw reads if the topic may "
        "be compacted, else null",
    ),
    "value": (
        pl.Int64,
        "unique number inside the payload (of a tombstone: inside a header); null "
        "if the payload is not ours",
    ),
    "tombstone": (pl.Boolean, "the record's value is null; recorded where key is"),
    "checksum": (pl.Int64, "CRC-32 of the record's key, value and headers, as sent or as given"),
    "timestamp_ms": (
        pl.Int64,
        "timestamp of the record, on polls, and on sends that set it themselves; on "
        "topic rows: the wall clock at t_invoke_ns",
    ),
    "timestamp_type": (
        pl.String,
        "whether timestamp_ms was set on create or append (polls, raw reads)",
    ),
    "producer_id": (
        pl.Int64,
        "producer id: of the batch header (raw reads), of the response (init_producer), or of "
        "the transactional producer (send_offsets)",
    ),
    "producer_epoch": (pl.Int16, "epoch of producer_id"),
    "sequence": (
        pl.Int32,
        "sequence number of the record (raw reads); on a send: the first number that it named "
        "although the batch before it has it, so that it must be refused",
    ),
    "leader_epoch": (
        pl.Int32,
        "leader epoch of the batch; without a record, that of the leader that answered (on "
        "delete_records: to which the request was sent)",
    ),
    "error": (pl.String, "Kafka's error name, or the client's own with a leading underscore"),
    "t_invoke_ns": (pl.Int64, "monotonic time of the invocation"),
    "t_complete_ns": (pl.Int64, "monotonic time of the completion; null if it never completed"),
    "high_watermark": (pl.Int64, "high watermark in the response (polls, read_all)"),
    "last_stable_offset": (pl.Int64, "last stable offset in the response (polls)"),
    "log_start": (
        pl.Int64,
        "log start in the response (polls, read_all, delete_records); on position "
        "rows: in a response that came after the start was requested",
    ),
    "size_bytes": (
        pl.Int64,
        "size of all batches from log_start on, as they were read raw (read_all)",
    ),
    "asked": (
        pl.String,
        "start that a reader requested: earliest, latest, committed, offset, timestamp (position); "
        "epoch: a producer asked to continue after its own epoch (init_producer); answered or "
        "refused: what the same leader did with a fetch of asked_offset, below the log start "
        "that it had just answered (delete_records); joining: another member had asked to join "
        "the classic group and was not answered yet (heartbeat); answered or silent: what the node "
        "did with another request right after this one had failed (try_read)",
    ),
    "asked_offset": (
        pl.Int64,
        "the requested offset or timestamp, or the committed offset "
        "that the group's coordinator answered (position), or the producer's epoch "
        "(init_producer), or the offset that was fetched (delete_records, try_read), or the "
        "milliseconds since the other member asked to join (heartbeat)",
    ),
    "settings": (
        pl.String,
        "JSON object of a topic's settings, text to text, in Kafka's names "
        "(topic rows), its own and those which its brokers give it: cleanup.policy, "
        "retention.ms, retention.bytes, delete.retention.ms; "
        "segment.ms; log.retention.check.interval.ms and "
        "log.initial.task.delay.ms of its brokers; message.timestamp.type; a client's own: "
        "session.timeout.ms (subscribe, heartbeat), max.poll.interval.ms (subscribe), "
        "group.protocol (subscribe, owned, heartbeat), "
        "transaction.timeout.ms "
        "(init_producer)",
    ),
    "detail": (
        pl.String,
        "error text; the fault's JSON; why a payload could not be read; leader "
        "epoch and metadata of a committed offset (commit_offsets and fetch_offsets, ok)",
    ),
}
"""Column -> (polars type, meaning). Every column but REQUIRED may be null."""

SCHEMA = pl.Schema({name: dtype for name, (dtype, _) in COLUMNS.items()})
SINCE_2 = ("checksum", "timestamp_type", "asked", "asked_offset")
REQUIRED = ("schema_version", "op_id", "record_index", "process", "f", "type", "t_invoke_ns")
PARTITION = ("topic", "topic_id", "partition")
"""The columns that identify a partition. The topic id distinguishes a topic from one that was
re-created with the same name."""


def arrow_schema() -> pa.Schema:
    """Return the schema in Arrow's types (the recorder writes it, and Spark reads it)."""
    return pl.DataFrame(schema=SCHEMA).to_arrow().cast(plain_arrow()).schema


def plain_arrow() -> pa.Schema:
    """Return Arrow types without polars' large and view strings, so that every reader understands
    them."""
    types = {
        pl.Int16: pa.int16(),
        pl.Int32: pa.int32(),
        pl.Int64: pa.int64(),
        pl.String: pa.string(),
        pl.Boolean: pa.bool_(),
    }
    return pa.schema([(name, types[dtype]) for name, (dtype, _) in COLUMNS.items()])
