"""Record both ends of every connection of a run, to find out whether a wrong result comes from a
broker, or from a client that reports something else than the broker sent.

A history alone rarely distinguishes a broker's error from a client's: either may lose or duplicate
a record. The simulator has the bytes between them. They are decoded here a second time, without any
code of the clients, and compared with the history. If a client claims something that no answer
says, the client is wrong. If there is no such claim, the broker is.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from reference_impl.wire import (
    ApiKey,
    ControlRecordType,
    CorruptRecord,
    ErrorCode,
    RecordBatch,
    Struct,
    batches,
    control_type,
    decode_request,
    decode_response,
)

Place = tuple[str, int]
"""Topic and partition."""
WATCHED = frozenset(
    {
        ApiKey.METADATA,
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.END_TXN,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
    }
)
TOMBSTONE_HEADER = "touchstone"


class Frame(NamedTuple):
    """One message on a connection: a request as its client sent it, or an answer as its client
    received it."""

    at_us: int
    line: int
    is_request: bool
    data: bytes


@dataclass(frozen=True)
class Written:
    """One record of a Produce request, and its answer."""

    value: int
    identity: tuple[int, int, int]
    """The producer id, the epoch and the sequence number of the record."""
    transactional_id: str | None
    sent_us: int
    code: int | None
    """The error code of the answer, None if no answer came."""
    offset: int
    """The offset in the answer, -1 if it has none."""
    answered_us: int
    is_absent: bool = False
    """Whether a later answer shows that the partition does not have the record."""


@dataclass
class Given:
    """The records of one partition in one Fetch answer."""

    asked: int
    """The offset from which the client asked to read. Records between it and the last offset that
    are not in `deliverable` were withheld by this answer."""
    last: int
    deliverable: dict[int, int | None] = field(default_factory=dict)
    """Offset -> value, for the records that may be delivered under the request's isolation
    level."""


@dataclass
class Heard:
    """The contents of all requests and answers between clients and brokers."""

    written: dict[Place, list[Written]] = field(default_factory=lambda: defaultdict(list))
    given: dict[tuple[Place, int], list[Given]] = field(default_factory=lambda: defaultdict(list))
    """(partition, isolation level) -> the records given in each Fetch answer."""
    ends: list[tuple[int, str, bool, int]] = field(default_factory=list)
    """(time in microseconds, transactional id, whether to commit, error code) of each EndTxn."""
    committed: set[tuple[str, Place, int]] = field(default_factory=set)
    """(group, partition, offset) of each commit that a coordinator has accepted."""
    asked_to_commit: list[tuple[int, str, Place, int]] = field(default_factory=list)
    asked_to_read: dict[tuple[int, Place], int] = field(default_factory=dict)
    """(connection, partition) -> the offset from which the client asked to read last. It is kept
    because an incremental Fetch request leaves out unchanged partitions."""
    fetched: set[tuple[Place, int]] = field(default_factory=set)
    """(partition, offset) of each committed offset that a coordinator has returned."""


class Witness:
    """Records all requests and answers between clients and nodes of a run, in order."""

    def __init__(self) -> None:
        self._frames: list[Frame] = []

    def sent(self, at_us: int, line: int, data: bytes) -> None:
        """Record the bytes of a request, with the time and the connection."""
        self._frames.append(Frame(at_us, line, True, data))

    def came(self, at_us: int, line: int, data: bytes) -> None:
        """Record the bytes of an answer that has reached its client."""
        self._frames.append(Frame(at_us, line, False, data))

    def heard(self) -> Heard:
        """Return the contents of all requests and answers between the brokers and all clients."""
        heard, names = Heard(), dict[UUID, str]()
        for request, answer in self._conversations():
            ask = _LISTENERS.get(request.api_key)
            if ask is not None:
                ask(heard, names, request, answer)
        return heard

    def _conversations(self) -> Iterator[tuple[_Request, _Answer]]:
        """Yield each request of a watched API with its answer, whose body is None if none has come.
        Those of Metadata come first, because they give the names of topic ids."""
        asked: dict[tuple[int, int], _Request] = {}
        pairs: list[tuple[_Request, _Answer]] = []
        for frame in self._frames:
            correlation = int.from_bytes(frame.data[4:8], "big")
            if frame.is_request:
                correlation = int.from_bytes(frame.data[8:12], "big")
                if int.from_bytes(frame.data[4:6], "big") in WATCHED:
                    asked[frame.line, correlation] = _Request.of(frame)
            elif (found := asked.pop((frame.line, correlation), None)) is not None:
                answer = decode_response(bytearray(frame.data[4:]), found.api_key, found.version)
                pairs.append((found, _Answer(frame.at_us, answer[1])))
        pairs += [(left, _Answer(0, None)) for left in asked.values()]
        yield from sorted(pairs, key=lambda pair: pair[0].api_key != ApiKey.METADATA)


@dataclass(frozen=True)
class _Request:
    at_us: int
    line: int
    api_key: ApiKey
    version: int
    body: Struct

    @classmethod
    def of(cls, frame: Frame) -> _Request:
        header, body = decode_request(bytearray(frame.data[4:]))
        key = ApiKey(header.api_key)
        return cls(frame.at_us, frame.line, key, header.api_version, body)


class _Answer(NamedTuple):
    at_us: int
    body: Struct | None


def _metadata(heard: Heard, names: dict[UUID, str], request: _Request, answer: _Answer) -> None:
    for topic in answer.body.topics if answer.body is not None else ():
        if topic.name:
            names[topic.topic_id] = topic.name


def _name(names: dict[UUID, str], row: Struct, field_name: str) -> str:
    return str(getattr(row, field_name) or names.get(row.topic_id, row.topic_id))


def _produce(heard: Heard, names: dict[UUID, str], request: _Request, answer: _Answer) -> None:
    told: dict[Place, Struct] = {}
    for topic in answer.body.responses if answer.body is not None else ():
        for row in topic.partition_responses:
            told[_name(names, topic, "name"), row.index] = row
    for topic in request.body.topic_data:
        for row in topic.partition_data:
            place = (_name(names, topic, "name"), row.index)
            found = told.get(place)
            if row.records:
                heard.written[place] += _written(request, row.records, found, answer.at_us)


def _written(
    request: _Request, data: bytes, row: Struct | None, answered_us: int
) -> Iterator[Written]:
    batch, _ = RecordBatch.decode(data, 0)
    for index, record in enumerate(batch.records):
        value = value_in(record)
        if value is None:
            continue
        base = row.base_offset if row is not None else -1
        yield Written(
            value,
            (batch.producer_id, batch.producer_epoch, batch.base_sequence + index),
            request.body.transactional_id,
            request.at_us,
            row.error_code if row is not None else None,
            base + index if base >= 0 else -1,
            answered_us,
        )


def value_in(record: Any) -> int | None:
    """Return the number that a workload's payload begins with, or None if there is no payload, or
    it is too short."""
    payload = record.value
    if payload is None:
        found = [data for name, data in record.headers if name == TOMBSTONE_HEADER]
        payload = found[0] if found else None
    if payload is None or len(payload) < struct.calcsize(">q"):
        return None
    return int(struct.unpack_from(">q", payload)[0])


def _fetch(heard: Heard, names: dict[UUID, str], request: _Request, answer: _Answer) -> None:
    isolation = request.body.isolation_level
    for topic in request.body.topics:
        for row in topic.partitions:
            place = (_name(names, topic, "topic"), row.partition)
            heard.asked_to_read[request.line, place] = row.fetch_offset
    for topic in answer.body.responses if answer.body is not None else ():
        for row in topic.partitions:
            if row.error_code == ErrorCode.NONE and row.records:
                place = (_name(names, topic, "topic"), row.partition_index)
                asked = heard.asked_to_read.get((request.line, place), 0)
                heard.given[place, isolation].append(_given(row, bool(isolation), asked))


def _given(row: Struct, is_committed: bool, asked: int) -> Given:
    """Return the records that may be delivered, by the definition of KIP-98: with is_committed,
    without those of aborted transactions. Records after a damaged batch are left out."""
    aborted = row.aborted_transactions if is_committed else None
    starts = sorted((each.first_offset, each.producer_id) for each in aborted or ())
    found = Given(asked, -1)
    open_aborts: set[int] = set()
    for header, start, _ in batches(row.records, allow_partial=True):
        try:
            batch, _ = RecordBatch.decode(row.records, start)
        except CorruptRecord:
            break
        while starts and starts[0][0] <= header.last_offset:
            open_aborts.add(starts.pop(0)[1])
        if header.is_control:
            if any(control_type(one) is ControlRecordType.ABORT for one in batch.records):
                open_aborts.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in open_aborts):
            for offset, record in batch.offsets():
                found.deliverable[offset] = value_in(record)
        found.last = header.last_offset
    return found


def _end_txn(heard: Heard, names: dict[UUID, str], request: _Request, answer: _Answer) -> None:
    body = request.body
    code = answer.body.error_code if answer.body is not None else -1
    heard.ends.append((request.at_us, body.transactional_id, body.committed, code))


def _offset_commit(
    heard: Heard, names: dict[UUID, str], request: _Request, answer: _Answer
) -> None:
    accepted = {
        (topic.name, row.partition_index)
        for topic in (answer.body.topics if answer.body is not None else ())
        for row in topic.partitions
        if row.error_code == ErrorCode.NONE
    }
    group = request.body.group_id
    for topic in request.body.topics:
        for row in topic.partitions:
            place = (topic.name, row.partition_index)
            heard.asked_to_commit.append((request.at_us, group, place, row.committed_offset))
            if place in accepted:
                heard.committed.add((group, place, row.committed_offset))


def _offset_fetch(heard: Heard, names: dict[UUID, str], request: _Request, answer: _Answer) -> None:
    if answer.body is None:
        return
    for group in answer.body.groups or [answer.body]:
        for topic in group.topics:
            for row in topic.partitions:
                heard.fetched.add(((topic.name, row.partition_index), row.committed_offset))


_LISTENERS = {
    ApiKey.METADATA: _metadata,
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.END_TXN: _end_txn,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
}
