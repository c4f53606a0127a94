"""Invariants of Produce, Fetch, ListOffsets and related APIs: consistent offsets and records."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from conformance.case import Deviation, expect, expect_that
from conformance.invariants.shared import NONE, endpoint, once_each, rows
from reference_impl.wire import ErrorCode, Malformed, Struct, check_crc
from reference_impl.wire.batches.batch_header import LOG_OVERHEAD, BatchHeader, batches

READ_COMMITTED = 1
MAGIC_AT, MAGIC = 16, 2
SESSION_FINAL_EPOCH = -1
OTHER_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def produced(version: int, asked: Struct, answer: Struct) -> None:
    """Require of each partition without an error: a base offset of at least 0, no record errors,
    and a log append time and a log start offset of at least -1. Require of each record error a
    batch index of at least 0."""
    for found in rows(answer, "responses partition_responses"):
        if found.error_code == NONE:
            expect_that(found.base_offset >= 0, "base offset", ">= 0", found.base_offset)
            expect_that(not found.record_errors, "record errors", "none", found.record_errors)
            told = found.log_append_time_ms
            expect_that(told >= -1, "log append time", ">= -1", told)
            expect_that(
                found.log_start_offset >= -1, "log start offset", ">= -1", found.log_start_offset
            )
        for wrong in found.record_errors:
            expect_that(wrong.batch_index >= 0, "batch index", ">= 0", wrong.batch_index)


def new_leaders(version: int, asked: Struct, answer: Struct) -> None:
    """Require that a leader is named with its epoch and, in versions with addresses, with its
    address, and that only leaders have addresses (KIP-951)."""
    path, since = (
        ("responses partitions", 16)
        if hasattr(answer, "session_id")
        else ("responses partition_responses", 10)
    )
    endpoints = {node.node_id for node in answer.node_endpoints}
    for node in answer.node_endpoints:
        endpoint(node.node_id, node.host, node.port)
    once_each((node.node_id for node in answer.node_endpoints), "node endpoints")
    named = set()
    for found in rows(answer, path):
        leader = (found.current_leader.leader_id, found.current_leader.leader_epoch)
        if found.error_code in OTHER_LEADER:
            named.add(leader[0])
        elif leader != (-1, -1):
            known = min(leader) >= 0 and (version < since or leader[0] in endpoints)
            expect_that(known, "current leader", "-1 and -1, or a leader with its address", leader)
            named.add(leader[0])
    expect_that(endpoints <= named, "node endpoints", "those of leaders in the rows", endpoints)


def fetched_partitions(version: int, asked: Struct, answer: Struct) -> None:
    """Require offsets in their ranges, no records beside an error, and default values in fields
    that are not meant for consumers. `moments` compares the offsets with each other."""
    expect_that(
        answer.error_code == NONE or not answer.responses,
        "partitions beside an error",
        "none",
        len(answer.responses),
    )
    for wanted, found in fetched(version, asked, answer):
        if found.error_code != NONE:
            size = len(bytes(found.records or b""))
            expect_that(size == 0, "bytes beside an error", 0, size)
            continue
        _ranges_of_offsets(found)
        if wanted is not None and (version < 12 or wanted.last_fetched_epoch == -1):
            told = (found.diverging_epoch.epoch, found.diverging_epoch.end_offset)
            expect_that(told == (-1, -1), "diverging epoch", (-1, -1), told)
        snapshot = (found.snapshot_id.epoch, found.snapshot_id.end_offset)
        expect_that(snapshot == (-1, -1), "snapshot id", (-1, -1), snapshot)
        _aborted(asked, found)


def _ranges_of_offsets(found: Struct) -> None:
    expect_that(found.high_watermark >= 0, "high watermark", ">= 0", found.high_watermark)
    stable, start = found.last_stable_offset, found.log_start_offset
    expect_that(stable >= -1, "last stable offset", ">= -1", stable)
    expect_that(start >= -1, "log start offset", ">= -1", start)


def _aborted(asked: Struct, found: Struct) -> None:
    for aborted in found.aborted_transactions or ():
        expect_that(
            asked.isolation_level == READ_COMMITTED,
            "aborted transactions",
            "none for read_uncommitted",
            found.aborted_transactions,
        )
        told = (aborted.producer_id, aborted.first_offset)
        expect_that(min(told) >= 0, "aborted transaction", "a producer id and an offset", told)


def fetched_records(version: int, asked: Struct, answer: Struct) -> None:
    """Require whole batches with the correct CRC, in order, from the requested offset on, and none
    beside a preferred read replica. `moments` compares them with the last one that the reader may
    see."""
    for wanted, found in fetched(version, asked, answer):
        headers = headers_of(found)
        if version >= 11 and found.preferred_read_replica != -1:
            expect_that(
                not headers and found.preferred_read_replica >= 0,
                "preferred read replica beside records",
                -1,
                found.preferred_read_replica,
            )
        if not headers:
            continue
        reached = -1 if wanted is None else wanted.fetch_offset - 1
        expect_that(
            headers[0].last_offset > reached,
            "last offset of the first batch",
            f"> {reached}",
            headers[0].last_offset,
        )
        for before, after in pairwise(headers):
            expect_that(
                after.base_offset > before.last_offset,
                "base offset of the next batch",
                f"> {before.last_offset}",
                after.base_offset,
            )


def headers_of(fetched: Struct) -> list[BatchHeader]:
    """Return the headers of the whole batches of a partition. Return none if its first batch has a
    format before Kafka 0.11. Raise Deviation if a batch is malformed or has a wrong CRC."""
    data = bytes(fetched.records or b"")
    if len(data) <= MAGIC_AT or data[MAGIC_AT] != MAGIC:
        return []
    found = []
    try:
        for header, start, end in batches(data, allow_partial=True):
            check_crc(data, start, end)
            found.append(header)
    except Malformed as error:
        raise Deviation("records", "whole batches with their CRC", error) from None
    return found


def fetched_bytes(version: int, asked: Struct, answer: Struct) -> None:
    """Require no more bytes than requested, except for a first batch that is larger (KIP-74)."""
    partitions = fetched(version, asked, answer)
    sizes = [len(bytes(found.records or b"")) for _, found in partitions]
    first = max((_first_size(found) for _, found in partitions), default=0)
    most = max(asked.max_bytes, first)
    expect_that(sum(sizes) <= most, "bytes of all records", f"<= {most}", sum(sizes))
    beyond = [
        (size, _first_size(found))
        for (wanted, found), size in zip(partitions, sizes, strict=True)
        if wanted is not None and size > max(wanted.partition_max_bytes, 0)
    ]
    whole = len(beyond) <= 1 and all(size <= one for size, one in beyond)
    expect_that(whole, "bytes of a partition beyond its limit", "none, or a single batch", beyond)


def _first_size(found: Struct) -> int:
    """Return the size of a partition's first batch in bytes, as its header tells it, or 0 if there
    is no whole header."""
    data = bytes(found.records or b"")
    if len(data) < LOG_OVERHEAD:
        return 0
    return LOG_OVERHEAD + int.from_bytes(data[8:LOG_OVERHEAD], "big")


def fetch_session(version: int, asked: Struct, answer: Struct) -> None:
    """Require session id 0 for a fetch outside a session, any id from 0 up for one that asks for a
    session, and within a session the same id, or 0 if the request removes partitions from it
    (KIP-227). Throttled answers are left out."""
    if version < 7 or answer.error_code != NONE or answer.throttle_time_ms > 0:
        return
    if asked.session_epoch == SESSION_FINAL_EPOCH:
        expect_that(answer.session_id == 0, "session id", 0, answer.session_id)
    elif asked.session_epoch > 0:
        expected = {asked.session_id}
        if asked.forgotten_topics_data:
            expected.add(0)  # one that loses its last partition ends
        expect(answer.session_id, expected, "session id")
    else:
        expect_that(answer.session_id >= 0, "session id", ">= 0", answer.session_id)


def fetched(version: int, asked: Struct, answer: Struct) -> list[tuple[Struct | None, Struct]]:
    """Return (request row, response row) of each partition; the request row is None if the session
    remembers it."""
    wanted: dict[Any, Struct] = {
        (topic.topic_id if version >= 13 else topic.topic, p.partition): p
        for topic in asked.topics
        for p in topic.partitions
    }
    return [
        (wanted.get((topic.topic_id if version >= 13 else topic.topic, p.partition_index)), p)
        for topic in answer.responses
        for p in topic.partitions
    ]


def listed_offsets(version: int, asked: Struct, answer: Struct) -> None:
    """Require, from version 1 on, values of at least -1, that an offset found by a timestamp
    belongs to a record that is not older, and no timestamp where no record was found."""
    if version < 1:
        return
    wanted = {(t.name, p.partition_index): p.timestamp for t in asked.topics for p in t.partitions}
    for topic in answer.topics:
        for found in topic.partitions:
            if found.error_code != NONE:
                continue
            told = (found.timestamp, found.offset, found.leader_epoch)
            expect_that(min(told) >= -1, "(timestamp, offset, epoch)", ">= -1", told)
            since = wanted[topic.name, found.partition_index]
            if since >= 0 and found.offset >= 0:
                expect_that(found.timestamp >= since, "timestamp", f">= {since}", found.timestamp)
            elif found.offset == -1:
                expect_that(found.timestamp == -1, "timestamp of no record", -1, found.timestamp)


def ends_of_epochs(version: int, asked: Struct, answer: Struct) -> None:
    """Require an epoch not greater than the requested one, with its end offset, or neither."""
    wanted = {(t.topic, p.partition): p.leader_epoch for t in asked.topics for p in t.partitions}
    for topic in answer.topics:
        for found in topic.partitions:
            if found.error_code == NONE:
                epoch, told = wanted[topic.topic, found.partition], found.leader_epoch
                # Apache Kafka 4.3.1 repeats an epoch below -1.
                in_range = -1 <= told <= max(epoch, -1)
                valid = (in_range or told == epoch) and found.end_offset >= -1
                expect_that(
                    valid,
                    "(epoch, end)",
                    f"an epoch of at most {epoch}, and its end offset",
                    (told, found.end_offset),
                )
                both = version < 1 or (told == -1) == (found.end_offset == -1)
                expect_that(both, "(epoch, end)", "both or neither", (told, found.end_offset))


def low_watermarks(version: int, asked: Struct, answer: Struct) -> None:
    """Require a log start at or above the offset up to which records were deleted."""
    wanted = {(t.name, p.partition_index): p.offset for t in asked.topics for p in t.partitions}
    for topic in answer.topics:
        for found in topic.partitions:
            if found.error_code == NONE:
                least = max(wanted[topic.name, found.partition_index], 0)
                told = found.low_watermark
                expect_that(told >= least, "low watermark", f">= {least}", told)
