"""The history: what clients asked, what they were told, and when. One documented Parquet file.

One row per (operation, record): a send of three records is three rows with one `op_id`; a poll
that returned nothing is one row without an offset. Completion `type`: **ok** happened, **fail**
certainly did not, **info** nobody knows ("when in doubt, info"). Nemesis events are rows of the
same file (f = "nemesis"). All times come from one monotonic clock per run.

Topics whose records may legally go are told apart by their topic rows. `compaction` and `retention`
judge those topics alone, and every other judge excuses what their settings allow to be removed:
- compacted (cleanup.policy names compact): `key` stands on every send, poll and raw read of the
  topic, `tombstone` where a value was null. A tombstone is numbered like any record: its `value` is
  in a header. A send whose outcome is unknown has its key and tombstone too.
- retained (cleanup.policy names delete, with a retention.ms or retention.bytes): every answer tells
  its `log_start`; a send that sets a record's time has `timestamp_ms`.
- a delete_records row is info where nobody knows whether it was done, fail only where it was not.

Since version 2 a history also says what version 1 left to be inferred. Each of these may be absent:
- where a reader begins: `position` rows, one per partition, whenever positions are set (assign,
  seek, a partition received from the group), in the session that begins there;
- what a group's member owns: `owned` rows, one per partition after each rebalance that its client
  reports, or one without a partition where it owns nothing;
- what a producer is: `init_producer` rows, with the id and epoch that InitProducerId answered;
- the offsets of transactions: `send_offsets` rows, one per partition (TxnOffsetCommit);
- what a record is: `checksum`, on every row that speaks of a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from os.path import isdir
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from linearizability import errors, parquet
from linearizability.files import require_regular, shown

SCHEMA_VERSION = 2
"""2: records have checksums, readers say where they begin, producers and members what they are."""
ROW_GROUP_ROWS = 512 * 1024
HistoryError = errors.HistoryError


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
    LEAVE = "leave"  # the member was closed
    CRASH = "crash"  # the member is gone without a word
    NEMESIS = "nemesis"  # a fault was applied or healed (`detail`: JSON of the fault)


class Type(StrEnum):
    """How an operation ended (column `type`)."""

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
        "grows when the process sets its positions anew (assign, seek, "
        "rebalance, reset, own failed operation): poll order holds within one session",
    ),
    "client": (pl.String, "client library: confluent, raw, reference, java"),
    "node": (pl.Int32, "node that served it, where known"),
    "replica": (pl.Int32, "replica that a raw read was taken from"),
    "group": (pl.String, "consumer group"),
    "member_id": (pl.String, "member of the group"),
    "generation": (pl.Int32, "generation or member epoch"),
    "transactional_id": (pl.String, "of the producer"),
    "txn": (pl.Int64, "number of the transaction, unique in the run"),
    "isolation": (pl.String, "read_committed or read_uncommitted (polls)"),
    "acks": (pl.Int16, "-1, 0 or 1 (sends)"),
    "idempotent": (pl.Boolean, "the producer had enable.idempotence (sends)"),
    "f": (pl.String, "what the row speaks of: see F"),
    "type": (pl.String, "ok, fail or info"),
    "final": (pl.Boolean, "belongs to the final phase, after all faults were healed"),
    "topic": (pl.String, ""),
    "topic_id": (pl.String, "UUID; tells a topic from its namesake created later"),
    "partition": (pl.Int32, ""),
    "offset": (pl.Int64, "of the record"),
    "batch_base_offset": (pl.Int64, "of the record's batch (raw reads)"),
    "control": (pl.String, "commit or abort: a control record (raw reads)"),
    "key": (
        pl.String,
        "of the record; recorded on sends, polls and raw reads where the topic may "
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
        "of the record, on polls, and on sends that set it themselves; on "
        "topic rows: the wall clock at t_invoke_ns",
    ),
    "timestamp_type": (pl.String, "create or append: who set timestamp_ms (polls, raw reads)"),
    "producer_id": (
        pl.Int64,
        "from the batch header (raw reads); as answered (init_producer); of "
        "the transactional producer (send_offsets)",
    ),
    "producer_epoch": (pl.Int16, "as producer_id"),
    "sequence": (pl.Int32, "of the record (raw reads)"),
    "leader_epoch": (
        pl.Int32,
        "of the batch; without a record: of the leader that answered (on "
        "delete_records: that was asked)",
    ),
    "error": (pl.String, "Kafka's error name, or the client's own with a leading underscore"),
    "t_invoke_ns": (pl.Int64, "monotonic"),
    "t_complete_ns": (pl.Int64, "monotonic; null if it never completed"),
    "high_watermark": (pl.Int64, "as the answer said (polls, read_all)"),
    "last_stable_offset": (pl.Int64, "as the answer said (polls)"),
    "log_start": (
        pl.Int64,
        "as the answer said (polls, read_all, delete_records); on position "
        "rows: as an answer said that came after the start was asked for",
    ),
    "size_bytes": (pl.Int64, "of all batches from log_start on, as they were read raw (read_all)"),
    "asked": (
        pl.String,
        "where a reader asked to begin: earliest, latest, committed, offset, timestamp (position); "
        "epoch: a producer asked to go on from its own (init_producer)",
    ),
    "asked_offset": (
        pl.Int64,
        "the offset or timestamp that it asked for, or the committed offset "
        "that the group's coordinator answered (position), or the producer's epoch (init_producer)",
    ),
    "settings": (
        pl.String,
        "JSON object of a topic's settings, text to text, in Kafka's names "
        "(topic rows), its own and those which its brokers give it: cleanup.policy, "
        "retention.ms, retention.bytes, delete.retention.ms; "
        "segment.ms; log.retention.check.interval.ms and "
        "log.initial.task.delay.ms of its brokers; message.timestamp.type; a client's own: "
        "session.timeout.ms, max.poll.interval.ms (subscribe), group.protocol (subscribe, owned), "
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
"""A partition's identity: the topic id tells a topic from its re-created namesake."""


def arrow_schema() -> pa.Schema:
    """Return the schema as Arrow has it (what the recorder writes and Spark reads)."""
    return pl.DataFrame(schema=SCHEMA).to_arrow().cast(_plain_arrow()).schema


def _plain_arrow() -> pa.Schema:
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


def frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return a history from plain rows (for tests and small tools); what a row leaves out is null.
    schema_version, record_index, process, type and the times have the obvious defaults."""
    filled = []
    for number, row in enumerate(rows):
        if unknown := set(row) - set(SCHEMA):
            raise HistoryError(f"row {number} has no such column: {', '.join(sorted(unknown))}")
        defaults = {
            "schema_version": SCHEMA_VERSION,
            "op_id": number,
            "record_index": 0,
            "process": 0,
            "session": 0,
            "final": False,
            "type": Type.OK.value,
            "t_invoke_ns": number * 10,
            "t_complete_ns": number * 10 + 5,
        }
        filled.append(defaults | dict(row))
    return pl.DataFrame(filled, schema=SCHEMA, orient="row")


def write(path: Path, history: pl.DataFrame) -> None:
    """Write a whole history in one go (the recorder streams; this is for tools and tests)."""
    table = history.select(list(SCHEMA)).cast(SCHEMA).to_arrow().cast(_plain_arrow())
    pq.write_table(table, path, row_group_size=ROW_GROUP_ROWS, **parquet.WRITING)


def history_file(path: Path) -> Path:
    """Return the Parquet file of a run directory, or the file itself. Raise HistoryError if there
    is none."""
    file = path / "history.parquet" if isdir(path) else path
    require_regular(file)
    return file


def rows_in(path: Path) -> int:
    """Return how many rows the history under `path` has. Raise HistoryError if it is none."""
    return parquet.rows_in(history_file(path))


def scan(path: Path) -> pl.LazyFrame:
    """Return the history under `path`, checked: every page of the file, its columns, its rows.

    Raise HistoryError naming what is wrong. Columns that an older schema version lacked are null.
    """
    from linearizability.sound_rows import check_rows

    file = history_file(path)
    found, count = parquet.verified(file)
    _check_columns(file, found)
    # Statistics are not covered by checksums: what they say may not decide which rows are read.
    lazy = pl.scan_parquet(file, use_statistics=False)
    missing = [name for name in SCHEMA if name not in found.names]
    lazy = lazy.with_columns(pl.lit(None, dtype=SCHEMA[name]).alias(name) for name in missing)
    lazy = lazy.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    if parquet.rows_are_new(file):
        check_rows(file, lazy, count)
        parquet.remember_rows(file)
    return lazy


def _check_columns(file: Path, found: pa.Schema) -> None:
    for name in REQUIRED:
        if name not in found.names:
            raise HistoryError(f"{file}: column {name!r} is missing; this is not a history")
    plain = _plain_arrow()
    unknown = [name for name in found.names if name not in SCHEMA]
    is_version_1 = not any(name in found.names for name in SINCE_2)
    missing = [n for n in SCHEMA if n not in found.names and not (is_version_1 and n in SINCE_2)]
    if unknown and missing:
        raise HistoryError(
            f"{file}: column {shown(unknown[0])} is not known, and {missing[0]!r} is missing; "
            f"rename it to {missing[0]!r} if that is what it holds, or remove it"
        )
    for name in found.names:
        if name not in SCHEMA:
            continue
        if found.names.count(name) > 1:
            raise HistoryError(f"{file}: column {name!r} is there twice; write it once")
        given, wanted = found.field(name).type, plain.field(name).type
        if not pa.types.is_null(given) and _kind(given) != _kind(wanted):
            raise HistoryError(f"{file}: column {name!r} is {given}, must be {wanted}")


def _kind(dtype: pa.DataType) -> str:
    """Return the kind of a type: types of one kind are cast; a number that does not fit is refused
    when the rows are read."""
    if pa.types.is_dictionary(dtype):
        return _kind(dtype.value_type)
    if pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or dtype == pa.string_view():
        return "text"
    return "integer" if pa.types.is_integer(dtype) else str(dtype)
