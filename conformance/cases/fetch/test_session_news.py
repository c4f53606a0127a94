"""Fetch sessions: what of a partition without new records is answered (KIP-227)."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.fetch.test_sessions import SESSIONS, fetch, opened, wanted
from conformance.clients.transactions import READ_COMMITTED, Producer
from conformance.target.restarts import leader_epochs
from conformance.target.settings import require_fetch_session
from conformance.wire import Wire, batch
from reference_impl.wire import ErrorCode, Struct

SPEC = "KIP-227; FetchSession.java, CachedPartition"


def rows_of(answer: Struct) -> list[Struct]:
    """Return the rows of all partitions in an answer that has no error."""
    expect(answer.error_code, ErrorCode.NONE, "Fetch error")
    return [row for topic in answer.responses for row in topic.partitions]


@case("FETCH-44", "Fetch", versions=SESSIONS, spec=SPEC, priority="P1")
def test_another_high_watermark_is_news(wire: Wire, version: int) -> None:
    """In a session of read_committed a partition is answered, once and without records, when its
    high watermark has moved by the records of an open transaction."""
    topic, producer = wire.create_topic(), Producer.ready(wire)
    leader = wire.connect_to_leader(topic)
    first = fetch(leader, version, 0, 0, wanted(topic, (0, 0)), isolation_level=READ_COMMITTED)
    require_fetch_session(wire, first.session_id)
    producer.add_and_send(topic, b"open")
    moved = fetch(leader, version, first.session_id, 1, isolation_level=READ_COMMITTED)
    expect(
        [(r.high_watermark, r.last_stable_offset, bytes(r.records or b"")) for r in rows_of(moved)],
        [(1, 0, b"")],
        "(high watermark, last stable offset, records)",
    )
    again = fetch(leader, version, first.session_id, 2, isolation_level=READ_COMMITTED)
    expect(rows_of(again), [], "partitions when nothing is new")


@case("FETCH-44", "Fetch", versions=(12, 18), spec=SPEC + "; KIP-595", priority="P1")
def test_to_diverge_is_news(wire: Wire, version: int) -> None:
    """In a session a reader whose last fetched epoch diverges from the leader's log gets
    diverging_epoch, although nothing was appended."""
    topic, connection, session = opened(wire, version, 1)
    wire.produce(topic, batch(b"a").encode())
    at_end = fetch(connection, version, session, 1, wanted(topic, (0, 1)))
    (epoch,) = leader_epochs(wire, topic)
    expect(len(rows_of(at_end)), 1, "partitions, as the high watermark is new")
    ahead = wanted(topic, (0, 10))
    ahead.partitions[0].last_fetched_epoch = epoch
    rows = rows_of(fetch(connection, version, session, 2, ahead))
    told = [(row.diverging_epoch.epoch, row.diverging_epoch.end_offset) for row in rows]
    expect(told, [(epoch, 1)], "(diverging epoch, its end)")
