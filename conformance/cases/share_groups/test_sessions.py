"""Share sessions and acknowledgements that cannot be (KIP-932)."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from conformance.case import case, expect
from conformance.cases.share_groups.test_records import topic_with
from conformance.clients.share_members import Ack, Acquired, ShareMember, ack, acknowledged
from conformance.wire import Wire
from reference_impl.wire import ErrorCode, Struct

SESSIONS = "KIP-932, Share sessions; class SharePartitionManager"
BATCHES = "class KafkaApis, validateAcknowledgementBatches; KIP-1222"


def with_records(wire: Wire, version: int) -> ShareMember:
    """Return a member that has acquired the offsets 0 to 3."""
    topic = topic_with(wire, (b"a", b"b", b"c", b"d"))
    member = ShareMember.ready(wire, topic, version=version)
    expect(member.acquire(), [Acquired(0, 3, 1)], "records acquired")
    return member


def errors_of(answer: Struct) -> list[int]:
    """Return the error of the answer and those of its partitions."""
    rows = [row for topic in answer.responses for row in topic.partitions]
    return [answer.error_code, *(row.error_code for row in rows)]


IMPOSSIBLE: dict[str, list[tuple[int, int, tuple[int, ...]]]] = {
    "last-before-first": [(2, 1, (1,))],
    "two-types-of-three": [(0, 2, (1, 1))],
    "no-type": [(0, 0, ())],
    "renew-without-the-flag": [(0, 0, (4,))],
    "type-five": [(0, 0, (5,))],
    "type-minus-one": [(0, 0, (-1,))],
    "not-in-order": [(2, 3, (1,)), (0, 1, (1,))],
    "beyond-what-is-acquired": [(0, 9, (1,))],
}


@pytest.mark.parametrize("rows", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
@case("SHARE-11", "ShareAcknowledge", spec=BATCHES, priority="P1")
def test_impossible_acknowledgements_are_refused(
    wire: Wire, version: int, rows: list[tuple[int, int, tuple[int, ...]]]
) -> None:
    """A partition gets INVALID_REQUEST (42) if a batch of acknowledgements ends before it begins,
    is not after the previous batch, has neither one type nor one for each record, has an unknown
    type, renews although the request's flag is not set, or exceeds what was acquired; the records
    stay acquired."""
    member = with_records(wire, version)
    answer = member.try_to_acknowledge(*(acknowledged(a, b, *kinds) for a, b, kinds in rows))
    expect(errors_of(answer), [ErrorCode.NONE, ErrorCode.INVALID_REQUEST], "errors")
    member.acknowledge(acknowledged(0, 3, Ack.RELEASE))
    expect(member.acquire(), [Acquired(0, 3, 2)], "records delivered again")


@case("SHARE-11", "ShareAcknowledge", spec=BATCHES, priority="P1")
def test_overlapping_acknowledgements_are_refused_as_a_whole(wire: Wire, version: int) -> None:
    """Two batches of acknowledgements with an offset in common get INVALID_REQUEST (42) or
    INVALID_RECORD_STATE (121), and neither of them counts."""
    # Kafka 4.3.1 compares only where batches begin, and then finds the offset acknowledged.
    member = with_records(wire, version)
    rows = acknowledged(0, 1, Ack.ACCEPT), acknowledged(1, 2, Ack.ACCEPT)
    either = {ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE}
    expect(errors_of(member.try_to_acknowledge(*rows))[1], either, "error of the partition")
    member.acknowledge(acknowledged(0, 3, Ack.RELEASE))
    expect(member.acquire(), [Acquired(0, 3, 2)], "records delivered again")


@case("SHARE-12", "ShareAcknowledge", spec=SESSIONS, priority="P1")
def test_acknowledgements_need_the_epoch_of_their_session(wire: Wire, version: int) -> None:
    """ShareAcknowledge with epoch 0 or another than the next gets INVALID_SHARE_SESSION_EPOCH
    (123), and that of a member without a session SHARE_SESSION_NOT_FOUND (122); with the next epoch
    it is heard."""
    member = with_records(wire, version)
    row = acknowledged(0, 3, Ack.ACCEPT)
    errors = [
        member.try_to_acknowledge(row, **changed).error_code
        for changed in _wrong(member, epoch_zero=True)
    ]
    expect(errors, [*[ErrorCode.INVALID_SHARE_SESSION_EPOCH] * 3, _NOT_FOUND], "errors")
    member.acknowledge(row)


@case("SHARE-12", "ShareFetch", spec=SESSIONS, priority="P1")
def test_a_share_fetch_needs_the_epoch_of_its_session(wire: Wire, version: int) -> None:
    """ShareFetch with another epoch than the next gets INVALID_SHARE_SESSION_EPOCH (123), and that
    of a member without a session SHARE_SESSION_NOT_FOUND (122); neither ends the session."""
    member = with_records(wire, version)
    errors = [
        member.try_to_fetch(**changed).error_code for changed in _wrong(member, epoch_zero=False)
    ]
    expect(errors, [*[ErrorCode.INVALID_SHARE_SESSION_EPOCH] * 2, _NOT_FOUND], "errors")
    member.acknowledge(acknowledged(0, 3, Ack.ACCEPT))


_NOT_FOUND = ErrorCode.SHARE_SESSION_NOT_FOUND


def _wrong(member: ShareMember, *, epoch_zero: bool) -> list[dict[str, Any]]:
    """Return fields of requests outside the member's session: epochs, and another member."""
    epochs = [*([0] if epoch_zero else []), member.session_epoch + 1, member.session_epoch + 7]
    changed: list[dict[str, Any]] = [{"share_session_epoch": epoch} for epoch in epochs]
    return [*changed, {"share_session_epoch": 1, "member_id": str(uuid.uuid4())}]


@case("SHARE-13", "ShareFetch", spec=SESSIONS, priority="P1")
def test_a_new_session_has_nothing_to_acknowledge(wire: Wire, version: int) -> None:
    """ShareFetch with epoch 0 and acknowledgements gets INVALID_REQUEST (42)."""
    member = with_records(wire, version)
    row = ack("ShareFetch", 0, 0, Ack.ACCEPT)
    answer = member.try_to_fetch(share_session_epoch=0, acks=[row])
    expect(answer.error_code, ErrorCode.INVALID_REQUEST, "error")


@pytest.mark.parametrize("politely", [True, False], ids=["last-epoch", "connection-dropped"])
@case("SHARE-15", "ShareFetch", spec=SESSIONS, priority="P1")
def test_a_session_that_ends_releases_its_records(wire: Wire, version: int, politely: bool) -> None:
    """Where a session ends, by the epoch -1 or with its connection, its records are delivered to
    others at once, with delivery count 2, and the session is gone (SHARE_SESSION_NOT_FOUND,
    122)."""
    member = with_records(wire, version)
    if politely:
        member.close_session()
    else:
        member.reconnect()
    other = member.partner()
    expect(other.acquire(), [Acquired(0, 3, 2)], "records of another member")
    answer = member.try_to_fetch(share_session_epoch=3)
    expect(answer.error_code, _NOT_FOUND, "error of the old session")
