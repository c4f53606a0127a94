"""Make the rows of operations, column by column: one maker for each operation.

A maker returns the number of rows and the columns, each a list of one value per row or one value
that all rows share. linearizability.history says what the columns mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chaos.values.operations import (
    AddOffsets,
    AskEnds,
    CommitAsFormer,
    CommitInTransaction,
    CommitPosition,
    CreateTopic,
    DeletePositions,
    DeleteRecords,
    FetchPositions,
    Grow,
    Idle,
    JoinAsStranger,
    LeaveOpen,
    LiveAsMember,
    Membership,
    RawSend,
    ReadLatest,
    Recreate,
    RejoinAsFormer,
    Seek,
    SeekToTime,
    SendOffsets,
    SendOldMarker,
    Supersede,
    TryRead,
)
from chaos.values.protocols import (
    Abort,
    Assign,
    Begin,
    Commit,
    CommitOffsets,
    Completion,
    Crash,
    Leave,
    Operation,
    Outcome,
    Poll,
    ReadAll,
    Record,
    Send,
    Subscribe,
)
from linearizability.history import NO_GENERATION, F

Columns = dict[str, Any]
"""Column -> a list with one value per row, or one value that all rows share."""


def _send(operation: Send, completion: Completion | None) -> tuple[int, Columns]:
    records = _settled(operation, completion)
    columns: Columns = {
        "f": F.SEND.value,
        "topic": operation.topic,
        "partition": operation.partition,
        "value": list(operation.values),
        "key": list(operation.keys) or None,
        "tombstone": _tombstones(operation),
        "offset": [record.offset for record in records],
        "timestamp_ms": list(operation.timestamps) or None,
        "detail": completion.detail if completion else None,
    }
    if completion is not None and any(record.t_complete_ns for record in records):
        columns["t_complete_ns"] = [record.t_complete_ns for record in records]
    return len(records), columns | _outcomes(records) | _extras(records)


def _tombstones(operation: Send) -> list[bool] | None:
    if not operation.keys:
        return None
    return list(operation.tombstones or [False] * len(operation.values))


def _settled(operation: Send, completion: Completion | None) -> Sequence[Record]:
    """Return one record per value of a send, in order. A value that the client did not report gets
    the outcome of the whole send."""
    if completion is not None and len(completion.records) == len(operation.values):
        return completion.records
    said = {record.value: record for record in completion.records} if completion else {}
    return [
        said.get(value) or _unsaid(operation.topic, operation.partition, value, completion)
        for value in operation.values
    ]


def _unsaid(topic: str, partition: int, value: int | None, completion: Completion | None) -> Record:
    if completion is None:
        return Record(topic, partition, value, None, Outcome.INFO)
    return Record(topic, partition, value, None, completion.outcome, completion.error)


def _poll(operation: Poll, completion: Completion | None) -> tuple[int, Columns]:
    records = completion.records if completion else ()
    if not records:
        return 1, {"f": F.POLL.value} | _how_it_ended(completion)
    return len(records), {"f": F.POLL.value} | _delivered(records) | _extras(records)


def _read_all(operation: ReadAll, completion: Completion | None) -> tuple[int, Columns]:
    isolation = {"isolation": operation.isolation.value}
    records = completion.records if completion else ()
    if not records:
        count, columns = _per_partition(F.READ_ALL, operation.partitions, completion)
        return count, columns | isolation
    columns = _delivered(records) | _extras(records)
    columns["f"] = [record.extra.get("f", F.POLL.value) for record in records]
    return len(records), columns | isolation


def _assign(operation: Assign, completion: Completion | None) -> tuple[int, Columns]:
    """Make one ASSIGN row per partition and, if the assignment succeeded, one POSITION row per
    partition with the offset where its reading begins (null: at the log start)."""
    count, columns = _per_partition(F.ASSIGN, operation.partitions, completion)
    if completion is None or completion.outcome is not Outcome.OK:
        return count, columns
    none, start = [None] * count, None if operation.from_log_start else 0
    begun: Columns = {
        "f": [F.ASSIGN.value] * count + [F.POSITION.value] * count,
        "topic": columns["topic"] * 2,
        "partition": columns["partition"] * 2,
        "offset": [*none, *[start] * count],
        "asked": [*none, *["earliest" if operation.from_log_start else "offset"] * count],
        "asked_offset": [*none, *[start] * count],
    }
    return 2 * count, columns | begun


def _seek(operation: Seek, completion: Completion | None) -> tuple[int, Columns]:
    asked: Columns = {"asked": "offset", "asked_offset": operation.offset}
    return _position(operation, completion, {**asked, "offset": operation.offset})


def _seek_to_time(operation: SeekToTime, completion: Completion | None) -> tuple[int, Columns]:
    """Make the row of a look-up: the offset is its answer, or null if nothing was found."""
    records = completion.records if completion else ()
    asked: Columns = {"asked": "timestamp", "asked_offset": operation.timestamp_ms}
    found = records[0].offset if records else None
    return _position(operation, completion, {**asked, "offset": found})


def _position(
    operation: Seek | SeekToTime, completion: Completion | None, columns: Columns
) -> tuple[int, Columns]:
    place = [(operation.topic, operation.partition)]
    count, shared = _per_partition(F.POSITION, place, completion)
    return count, shared | columns


def _commit_offsets(operation: CommitOffsets, completion: Completion | None) -> tuple[int, Columns]:
    records = completion.records if completion else ()
    if not records:  # there was nothing to commit, or no answer came
        return 1, {"f": F.COMMIT_OFFSETS.value} | _how_it_ended(completion)
    return len(records), {"f": F.COMMIT_OFFSETS.value} | _delivered(records)


def _create_topic(
    operation: CreateTopic | Recreate | Grow, completion: Completion | None
) -> tuple[int, Columns]:
    topic = operation.topic
    made = topic.made if isinstance(operation, CreateTopic) else topic.partitions
    partitions = [(topic.name, partition) for partition in range(made)]
    return _per_partition(F.TOPIC, partitions, completion)


def _read_latest(operation: ReadLatest, completion: Completion | None) -> tuple[int, Columns]:
    place = [(operation.topic, operation.partition)]
    count, columns = _per_partition(F.READ_LATEST, place, completion)
    if completion is None or not completion.records:
        return count, columns
    return count, columns | _delivered(completion.records) | _extras(completion.records)


def _fetch_positions(
    operation: FetchPositions, completion: Completion | None
) -> tuple[int, Columns]:
    topics = (operation.topic, *operation.beside)
    asked = [(topic, partition) for topic in topics for partition in operation.partitions]
    count, columns = _per_partition(F.FETCH_OFFSETS, asked, completion)
    columns["group"] = operation.group
    if completion is not None and completion.records:
        told = {(record.topic, record.partition): record for record in completion.records}
        found = [told.get(place) for place in asked]
        columns["offset"] = [each and each.offset for each in found]
        columns["detail"] = [each and each.extra.get("detail") for each in found]
        columns["type"] = [(each or completion).outcome.value for each in found]
        columns["error"] = [(each or completion).error for each in found]
    return count, columns


def _commit_position(
    operation: CommitPosition, completion: Completion | None
) -> tuple[int, Columns]:
    first = (operation.topic, operation.partition, operation.offset)
    positions = [first, *operation.beside]
    places = [(topic, partition) for topic, partition, _ in positions]
    offsets = [offset for _, _, offset in positions]
    count, columns = _positions(operation.group, places, offsets, completion)
    return count, columns | (_membership(operation.member) or {"generation": NO_GENERATION})


def _delete_positions(
    operation: DeletePositions, completion: Completion | None
) -> tuple[int, Columns]:
    """Make the rows of a deletion: each is a commit of "no position" by the group."""
    none = [None] * len(operation.places)
    return _positions(operation.group, operation.places, none, completion)


def _positions(
    group: str,
    places: Sequence[tuple[str, int]],
    offsets: Sequence[int | None],
    completion: Completion | None,
) -> tuple[int, Columns]:
    count, columns = _per_partition(F.COMMIT_OFFSETS, places, completion)
    columns |= {"group": group, "offset": list(offsets)}
    if completion is not None and completion.records:
        columns |= _outcomes(completion.records) | _extras(completion.records)
    return count, columns


def _send_offsets(operation: SendOffsets, completion: Completion | None) -> tuple[int, Columns]:
    places = [(operation.topic, partition) for partition, _ in operation.offsets]
    count, columns = _per_partition(F.SEND_OFFSETS, places, completion)
    columns |= {"group": operation.group, "offset": [offset for _, offset in operation.offsets]}
    return count, columns | _membership(operation.member)


def _commit_in_transaction(
    operation: CommitInTransaction, completion: Completion | None
) -> tuple[int, Columns]:
    """Make the row of the transaction's end: a commit, or an abort if the group refused; the
    completion brings further rows for the offsets."""
    told = completion.more_rows if completion is not None else ()
    offsets = [row for row in told if row["f"] == F.SEND_OFFSETS.value]
    f = F.ABORT if any(row["type"] != Outcome.OK.value for row in offsets) else F.COMMIT
    return 1, {"f": f.value} | _how_it_ended(completion)


def _membership(member: Membership | None) -> Columns:
    if member is None:
        return {}
    return {"member_id": member.member_id, "generation": member.generation}


def _per_partition(
    f: F, partitions: Sequence[tuple[str, int]], completion: Completion | None
) -> tuple[int, Columns]:
    columns: Columns = {
        "f": f.value,
        "topic": [topic for topic, _ in partitions],
        "partition": [partition for _, partition in partitions],
    }
    return len(partitions), columns | _how_it_ended(completion)


def _one_row(f: F, *fields: str) -> Callable[[Operation, Completion | None], tuple[int, Columns]]:
    """Return a function that makes one row and takes these fields of the operation as columns of
    the same names."""

    def make(operation: Operation, completion: Completion | None) -> tuple[int, Columns]:
        told = {field: getattr(operation, field) for field in fields}
        return 1, {"f": f.value} | told | _how_it_ended(completion)

    return make


def _how_it_ended(completion: Completion | None) -> Columns:
    if completion is None:
        return {"type": "info"}
    return {
        "type": completion.outcome.value,
        "error": completion.error,
        "detail": completion.detail,
    }


def _delivered(records: Sequence[Record]) -> Columns:
    return {
        "topic": [record.topic for record in records],
        "partition": [record.partition for record in records],
        "value": [record.value for record in records],
        "offset": [record.offset for record in records],
    } | _outcomes(records)


def _outcomes(records: Sequence[Record]) -> Columns:
    if all(record.outcome is Outcome.OK for record in records):
        return {"type": "ok"}
    return {
        "type": [record.outcome.value for record in records],
        "error": [record.error for record in records],
    }


def _extras(records: Sequence[Record]) -> Columns:
    """Return the extra columns of these records, for every extra column that any of them has."""
    names = dict.fromkeys(name for record in records for name in record.extra)
    return {name: _shared([record.extra.get(name) for record in records]) for name in names}


def _shared(values: list[Any]) -> Any:
    """Return the single value if all rows have the same value, so that it is written once; else
    return the list."""
    return values[0] if values.count(values[0]) == len(values) else values


Maker = Callable[[Any, Completion | None], tuple[int, Columns]]
MAKERS: dict[type[Operation], Maker] = {
    Send: _send,
    RawSend: _send,
    LeaveOpen: _send,
    Supersede: lambda _, __: (0, {}),  # its completion brings its row
    CommitAsFormer: _one_row(F.COMMIT),
    RejoinAsFormer: lambda _, __: (0, {}),  # its completion brings its row
    JoinAsStranger: lambda _, __: (0, {}),  # its completion brings its rows
    SendOldMarker: lambda _, __: (0, {}),  # the log shows whether it was written
    LiveAsMember: lambda _, __: (0, {}),  # its completion brings its rows
    SendOffsets: _send_offsets,
    AddOffsets: lambda _, __: (0, {}),  # its completion brings its rows
    CommitInTransaction: _commit_in_transaction,
    Poll: _poll,
    ReadAll: _read_all,
    Assign: _assign,
    Idle: lambda _, __: (0, {}),
    Seek: _seek,
    SeekToTime: _seek_to_time,
    Begin: _one_row(F.BEGIN),
    Commit: _one_row(F.COMMIT),
    Abort: _one_row(F.ABORT),
    Subscribe: _one_row(F.SUBSCRIBE),
    CommitOffsets: _commit_offsets,
    Leave: _one_row(F.LEAVE),
    Crash: _one_row(F.CRASH),
    CreateTopic: _create_topic,
    Recreate: _create_topic,
    Grow: _create_topic,
    DeleteRecords: _one_row(F.DELETE_RECORDS, "topic", "partition", "offset"),
    ReadLatest: _read_latest,
    AskEnds: _one_row(F.POLL, "topic", "partition"),
    TryRead: _one_row(F.TRY_READ, "topic", "partition"),
    CommitPosition: _commit_position,
    DeletePositions: _delete_positions,
    FetchPositions: _fetch_positions,
}
