"""Fetch sessions: the broker remembers what was asked for (KIP-227)."""

from __future__ import annotations

import uuid

from conformance.case import case, expect, expect_that
from conformance.cases.list_offsets.test_delete_records import delete_records
from conformance.clients.transactions import READ_COMMITTED, Producer
from conformance.target.settings import require_fetch_session
from conformance.target.variants import STRICT
from conformance.wire import Connection, Topic, Wire, batch, part, request
from reference_impl.wire import ErrorCode, Struct

SESSIONS = (7, 18)
SPEC = "KIP-227, Fetch Session"
FINAL_EPOCH = -1


def fetch(
    connection: Connection,
    version: int,
    session_id: int,
    epoch: int,
    *topics: Struct,
    forgotten: list[Struct] | None = None,
    **changed: int,
) -> Struct:
    """Send Fetch in a session. changed: other values for max_bytes or isolation_level."""
    limits = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "isolation_level": 0}
    body = request(
        "Fetch",
        **(limits | changed),
        session_id=session_id,
        session_epoch=epoch,
        topics=list(topics),
        forgotten_topics_data=forgotten or [],
    )
    return connection.call("Fetch", version, body)


def wanted(topic: Topic, *positions: tuple[int, int]) -> Struct:
    """Return the request's entry: (partition, offset) pairs of one topic."""
    partitions = [
        part(
            "Fetch",
            "FetchPartition",
            partition=index,
            fetch_offset=offset,
            partition_max_bytes=1 << 20,
        )
        for index, offset in positions
    ]
    return part("Fetch", "FetchTopic", topic=topic.name, topic_id=topic.id, partitions=partitions)


def errors_in(answer: Struct) -> dict[int, int]:
    """Return partition -> error code, of all partitions in an answer."""
    return {p.partition_index: p.error_code for t in answer.responses for p in t.partitions}


def partitions_in(answer: Struct) -> dict[int, int]:
    """Return partition -> bytes of records, of all partitions in an answer."""
    return {
        p.partition_index: len(bytes(p.records or b""))
        for t in answer.responses
        for p in t.partitions
    }


def opened(wire: Wire, version: int, partitions: int = 2) -> tuple[Topic, Connection, int]:
    """Create a topic of empty partitions and open a session on all of them."""
    topic = wire.create_topic(partitions, on_one_broker=True)
    connection = wire.connect_to_leader(topic)
    first = fetch(connection, version, 0, 0, wanted(topic, *((p, 0) for p in range(partitions))))
    expect(first.error_code, ErrorCode.NONE, "error of the first fetch")
    expect(sorted(partitions_in(first)), list(range(partitions)), "partitions, first answer")
    return topic, connection, session_of(wire, first)


def session_of(wire: Wire, first: Struct) -> int:
    """Return the id of the session that an answer begins. Raise Unsupported if the broker may have
    had no room for it."""
    require_fetch_session(wire, first.session_id)
    expect_that(first.session_id != 0, "session id", "not 0", first.session_id)
    return int(first.session_id)


@case("FETCH-21", "Fetch", versions=SESSIONS, spec=SPEC)
def test_an_incremental_fetch_returns_only_what_changed(wire: Wire, version: int) -> None:
    """In a session, a fetch that names no partition covers all of the session's partitions, and the
    response has only those with something new; without anything new the response is empty."""
    topic, connection, session = opened(wire, version)
    quiet = fetch(connection, version, session, 1)
    expect(
        (quiet.error_code, quiet.session_id, partitions_in(quiet)),
        (0, session, {}),
        "answer when nothing is new",
    )
    wire.produce(topic, batch(b"a").encode(), partition=1)
    changed = partitions_in(fetch(connection, version, session, 2))
    expect_that(
        list(changed) == [1] and changed[1] > 0,
        "partitions with news",
        "partition 1 with its record",
        changed,
    )


@case("FETCH-22", "Fetch", versions=SESSIONS, spec=SPEC)
def test_a_wrong_session_epoch_is_refused(wire: Wire, version: int) -> None:
    """An epoch other than the next one, later or earlier, gets INVALID_FETCH_SESSION_EPOCH (71),
    session id 0 and no partitions; the session goes on with the next one."""
    _, connection, session = opened(wire, version)
    expect(fetch(connection, version, session, 1).error_code, ErrorCode.NONE, "error of epoch 1")
    for epoch in (5, 3, 1):
        answer = fetch(connection, version, session, epoch)
        expect(answer.error_code, ErrorCode.INVALID_FETCH_SESSION_EPOCH, f"error of epoch {epoch}")
        expect((answer.session_id, answer.responses), (0, []), "(session id, topics)")
    expect(fetch(connection, version, session, 2).error_code, ErrorCode.NONE, "error of epoch 2")


@case("FETCH-23", "Fetch", versions=SESSIONS, spec=SPEC)
def test_an_unknown_session_is_refused(wire: Wire, version: int) -> None:
    """A session id that the broker does not know gets FETCH_SESSION_ID_NOT_FOUND (70), session id 0
    and no partitions."""
    answer = fetch(wire.connect(), version, 123_456_789, 1)
    expect(
        (answer.error_code, answer.session_id, answer.responses),
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, []),
        "(error, session id, topics)",
    )


@case("FETCH-24", "Fetch", versions=SESSIONS, spec=SPEC, priority="P1")
def test_a_forgotten_partition_is_no_longer_returned(wire: Wire, version: int) -> None:
    """forgotten_topics_data removes a partition from the session: its new records are not returned
    any more."""
    topic, connection, session = opened(wire, version)
    forgotten = part("Fetch", "ForgottenTopic", topic=topic.name, topic_id=topic.id, partitions=[1])
    fetch(connection, version, session, 1, forgotten=[forgotten])
    wire.produce(topic, batch(b"a").encode(), partition=1)
    wire.produce(topic, batch(b"b").encode(), partition=0)
    expect(list(partitions_in(fetch(connection, version, session, 2))), [0], "partitions")


@case("FETCH-24", "Fetch", versions=SESSIONS, spec=SPEC + "; class FetchManager", priority="P1")
def test_a_session_without_partitions_ends(wire: Wire, version: int) -> None:
    """A request that takes the last partition out of its session ends the session: the answer has
    the session id 0, and the session is unknown (70) afterwards."""
    topic, connection, session = opened(wire, version)
    every = part("Fetch", "ForgottenTopic", topic=topic.name, topic_id=topic.id, partitions=[0, 1])
    last = fetch(connection, version, session, 1, forgotten=[every])
    expect((last.error_code, last.session_id), (0, 0), "(error, session id) of the last answer")
    answer = fetch(connection, version, session, 2)
    expect(answer.error_code, ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "error afterwards")


@case("FETCH-24", "Fetch", versions=SESSIONS, spec=SPEC + "; class FetchSession", priority="P1")
def test_what_is_named_and_forgotten_at_once_is_forgotten(wire: Wire, version: int) -> None:
    """A request that names a partition and forgets it leaves it out of the session."""
    topic, connection, session = opened(wire, version)
    both = part("Fetch", "ForgottenTopic", topic=topic.name, topic_id=topic.id, partitions=[1])
    answer = fetch(connection, version, session, 1, wanted(topic, (1, 0)), forgotten=[both])
    expect(answer.error_code, ErrorCode.NONE, "error")
    for index in (0, 1):
        wire.produce(topic, batch(b"a").encode(), partition=index)
    expect(list(partitions_in(fetch(connection, version, session, 2))), [0], "partitions")


@case("FETCH-25", "Fetch", versions=SESSIONS, spec=SPEC + "; class FetchManager", priority="P1")
def test_a_full_fetch_ends_the_session_that_it_names(wire: Wire, version: int) -> None:
    """Epoch 0 with a session id is a full fetch that begins another session: the one that it names
    is unknown (70) afterwards."""
    topic, connection, old = opened(wire, version)
    new = session_of(wire, fetch(connection, version, old, 0, wanted(topic, (0, 0))))
    expect_that(new != old, "session id", "another one", new)
    expect(fetch(connection, version, new, 1).error_code, ErrorCode.NONE, "error of the new one")
    answer = fetch(connection, version, old, 1)
    expect(answer.error_code, ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "error of the old one")


@case("FETCH-25", "Fetch", versions=SESSIONS, spec=SPEC, priority="P1")
def test_the_final_epoch_ends_the_session(wire: Wire, version: int) -> None:
    """Epoch -1 with a session id is a full fetch that ends the session: it is unknown (70)
    afterwards."""
    topic, connection, session = opened(wire, version)
    final = fetch(connection, version, session, FINAL_EPOCH, wanted(topic, (0, 0)))
    expect((final.error_code, final.session_id), (0, 0), "(error, session id) of the last fetch")
    expect(list(partitions_in(final)), [0], "partitions of the last fetch")
    answer = fetch(connection, version, session, 1)
    expect(answer.error_code, ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "error afterwards")


@case("FETCH-15", "Fetch", versions=(13, 18), spec="KIP-516, Fetch", priority="P1")
def test_the_id_of_a_deleted_topic_stays_dead(wire: Wire, version: int) -> None:
    """After a topic was deleted and created again, the old id gets UNKNOWN_TOPIC_ID (100), the new
    one is served."""
    old = wire.create_topic()
    wire.delete_topic(old)
    new = wire.create_topic(name=old.name)
    expect_that(new.id != old.id, "id of the new topic", "another one", new.id)
    stale = wire.bootstrap.call("Fetch", version, wire.fetch_request(old, 0))
    expect(stale.responses[0].partitions[0].error_code, ErrorCode.UNKNOWN_TOPIC_ID, "old id")
    expect(wire.fetch(new, 0, version).error_code, ErrorCode.NONE, "new id")


@case(
    "FETCH-26",
    "Fetch",
    versions=SESSIONS,
    spec="KIP-227; max.incremental.fetch.session.cache.slots",
    priority="P1",
    config=STRICT,
)
def test_without_room_for_a_session_the_fetch_is_still_served(wire: Wire, version: int) -> None:
    """Where the cache of sessions is full, a fetch that asks for a session gets its records and
    session id 0; the sessions that have room go on."""
    # STRICT gives room for two. Apache Kafka 4.3.1 shares the slots among eight parts of its cache,
    # so that two are none at all.
    topic = wire.create_topic()
    wire.produce(topic, batch(b"a").encode())
    given = []
    for _ in range(6):
        connection = wire.connect_to_leader(topic)
        answer = fetch(connection, version, 0, 0, wanted(topic, (0, 0)))
        expect_that(partitions_in(answer).get(0, 0) > 0, "records", "the batch", answer)
        given.append((connection, answer.session_id))
    held = [pair for pair in given if pair[1] != 0]
    expect_that(len(held) <= 2, "sessions given", "at most 2", len(held))
    for connection, session in held:
        expect(fetch(connection, version, session, 1).error_code, 0, "error of a session given")
    final = fetch(wire.connect_to_leader(topic), version, 0, FINAL_EPOCH, wanted(topic, (0, 0)))
    expect_that(partitions_in(final).get(0, 0) > 0, "records without a session", "the batch", final)
    for connection, session in held:  # so that the next case finds room
        fetch(connection, version, session, FINAL_EPOCH)


@case("FETCH-27", "Fetch", spec="KIP-516; class FetchManager, newContext", priority="P1")
def test_a_session_by_names_is_not_one_by_ids(wire: Wire) -> None:
    """A session begun with topic names (v12) and continued with topic ids (v13), or the other way
    round, gets FETCH_SESSION_TOPIC_ID_ERROR (106), or INVALID_FETCH_SESSION_EPOCH (71) if its epoch
    is wrong, too."""
    names, ids = wire.version("Fetch", 12, 12), wire.version("Fetch", 13)
    for first, second in ((names, ids), (ids, names)):
        _, connection, session = opened(wire, first)
        answer = fetch(connection, second, session, 1)
        expect(
            answer.error_code, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, f"v{first}, then {second}"
        )
        expect(len(answer.responses), 0, "topics in the answer")
        late = fetch(connection, second, session, 7).error_code
        expect(late, ErrorCode.INVALID_FETCH_SESSION_EPOCH, "error with another epoch, too")


@case("FETCH-28", "Fetch", versions=SESSIONS, spec=SPEC, priority="P1")
def test_another_log_start_is_news(wire: Wire, version: int) -> None:
    """In a session a partition without new records is answered, once, when its log start offset
    has moved."""
    topic, connection, session = opened(wire, version)
    wire.produce(topic, batch(b"a", b"b").encode())
    fetch(connection, version, session, 1, wanted(topic, (0, 2)))
    quiet = fetch(connection, version, session, 2)
    expect(partitions_in(quiet), {}, "answer when nothing is new")
    deleted = delete_records(wire, topic, 1, wire.version("DeleteRecords"))
    expect(deleted.error_code, ErrorCode.NONE, "DeleteRecords error")
    moved = fetch(connection, version, session, 3)
    expect(
        [
            (p.partition_index, p.log_start_offset, len(bytes(p.records or b"")))
            for t in moved.responses
            for p in t.partitions
        ],
        [(0, 1, 0)],
        "(partition, log start, bytes)",
    )
    expect(partitions_in(fetch(connection, version, session, 4)), {}, "answer afterwards")


@case("FETCH-29", "Fetch", versions=(7, 12), spec=SPEC, priority="P1")
def test_an_error_is_repeated_until_it_is_over(wire: Wire, version: int) -> None:
    """A partition of a session that does not exist yet gets UNKNOWN_TOPIC_OR_PARTITION (3) in every
    response; once the topic exists, its records are returned without being requested again."""
    name = wire.new_name()
    missing = Topic(name, uuid.UUID(int=0), 1)
    connection = wire.connect(address=wire.home())
    first = fetch(connection, version, 0, 0, wanted(missing, (0, 0)))
    session = session_of(wire, first)
    for epoch, answer in ((0, first), (1, fetch(connection, version, session, 1))):
        errors = [p.error_code for t in answer.responses for p in t.partitions]
        expect(errors, [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION], f"errors of fetch {epoch}")
    wire.produce(wire.create_topic(name=name, on_one_broker=True), batch(b"a").encode())
    found = fetch(connection, version, session, 2)
    errors = [p.error_code for t in found.responses for p in t.partitions]
    expect((errors, partitions_in(found).get(0, 0) > 0), ([0], True), "(errors, are there records)")


@case(
    "FETCH-41",
    "Fetch",
    versions=SESSIONS,
    spec="KIP-227, Fetch Session; class FetchSession, IncrementalFetchContext",
    priority="P1",
)
def test_no_partition_of_a_session_starves(wire: Wire, version: int) -> None:
    """If max_bytes is enough for one partition only, a session answers each of its partitions in
    turn, although the client's requests name none."""
    topic = wire.create_topic(partitions=3, on_one_broker=True)
    for index in range(3):
        wire.produce(topic, batch(b"%d" % index * 2000).encode(), partition=index)
    connection = wire.connect_to_leader(topic)
    asked = wanted(topic, (0, 0), (1, 0), (2, 0))
    answer = fetch(connection, version, 0, 0, asked, max_bytes=1000)
    session, turns = session_of(wire, answer), []
    for epoch in range(1, 5):
        turns += [index for index, size in partitions_in(answer).items() if size]
        answer = fetch(connection, version, session, epoch, max_bytes=1000)
    expect(sorted(set(turns)), [0, 1, 2], "partitions with records, in four fetches")


@case(
    "FETCH-29",
    "Fetch",
    versions=SESSIONS,
    spec=SPEC + "; FetchSession.java, CachedPartition",
    priority="P1",
)
def test_the_end_of_an_error_is_news(wire: Wire, version: int) -> None:
    """In a session the first response without an error after OFFSET_OUT_OF_RANGE (1) contains
    the partition, although it has neither records nor a new high watermark; the next response
    does not."""
    topic, connection, session = opened(wire, version)
    beyond = fetch(connection, version, session, 1, wanted(topic, (0, 99)))
    expect(errors_in(beyond), {0: int(ErrorCode.OFFSET_OUT_OF_RANGE)}, "errors beyond the end")
    back = fetch(connection, version, session, 2, wanted(topic, (0, 0)))
    expect(errors_in(back), {0: 0}, "errors after the return")
    quiet = fetch(connection, version, session, 3)
    expect((quiet.error_code, errors_in(quiet)), (0, {}), "(error, partitions) afterwards")


@case("FETCH-21", "Fetch", versions=(9, 18), spec=SPEC + "; FetchSession.java, updateRequestParams")
def test_all_that_a_request_says_anew_of_a_partition_counts(wire: Wire, version: int) -> None:
    """If a request names a partition of its session again, the new leader epoch and size limit
    apply: a leader epoch of the future gets UNKNOWN_LEADER_EPOCH (75)."""
    topic, connection, session = opened(wire, version, 1)
    for value in (b"a" * 900, b"b" * 900):
        expect(wire.produce(topic, batch(value).encode()).error_code, 0, "produce error")
    small = wanted(topic, (0, 0))
    small.partitions[0].partition_max_bytes = 1
    one = partitions_in(fetch(connection, version, session, 1, small))[0]
    expect_that(900 < one < 1800, "bytes with a limit of 1", "one batch", one)
    future = wanted(topic, (0, 0))
    future.partitions[0].current_leader_epoch = 1000
    refused = fetch(connection, version, session, 2, future)
    expect(errors_in(refused), {0: int(ErrorCode.UNKNOWN_LEADER_EPOCH)}, "errors")
    both = partitions_in(fetch(connection, version, session, 3, wanted(topic, (0, 0))))[0]
    expect_that(both > 1800, "bytes with the first limits", "both batches", both)


@case("FETCH-39", "Fetch", versions=SESSIONS, spec="KIP-107; KIP-227", priority="P2")
def test_a_reader_whose_next_record_was_deleted_is_told(wire: Wire, version: int) -> None:
    """If DeleteRecords moves the log start above the offset of a partition in a session, the next
    fetch that names no partition gets OFFSET_OUT_OF_RANGE (1) for it; from the new log start on it
    is served."""
    topic, connection, session = opened(wire, version)
    wire.produce(topic, batch(b"a", b"b", b"c").encode())
    deleted = delete_records(wire, topic, 2, wire.version("DeleteRecords"))
    expect((deleted.error_code, deleted.low_watermark), (0, 2), "DeleteRecords")
    answer = fetch(connection, version, session, 1)
    expect(errors_in(answer), {0: int(ErrorCode.OFFSET_OUT_OF_RANGE)}, "errors")
    answer = fetch(connection, version, session, 2, wanted(topic, (0, 2)))
    expect(errors_in(answer), {0: 0}, "errors from the log start on")
    expect_that(partitions_in(answer)[0] > 0, "bytes", "some", partitions_in(answer))


@case("FETCH-42", "Fetch", versions=SESSIONS, spec="KIP-227; KIP-98", priority="P1")
def test_a_session_reads_by_the_isolation_level_of_each_request(wire: Wire, version: int) -> None:
    """The isolation level belongs to the request, not to the session: in a session that has read
    everything with read_committed, a request with read_uncommitted gets the records of an open
    transaction, although nothing was appended in between."""
    topic, producer = wire.create_topic(), Producer.ready(wire)
    producer.add_and_send(topic, b"open")
    leader = wire.connect_to_leader(topic)
    first = fetch(leader, version, 0, 0, wanted(topic, (0, 0)), isolation_level=READ_COMMITTED)
    require_fetch_session(wire, first.session_id)
    id = first.session_id
    again = fetch(leader, version, id, 1, isolation_level=READ_COMMITTED)
    expect(records_in(again), [], "records in read_committed")
    plain = fetch(leader, version, id, 2)
    expect([bool(data) for data in records_in(plain)], [True], "records in read_uncommitted")


def records_in(answer: Struct) -> list[bytes]:
    """Return the records of each partition that has some."""
    rows = [row for topic in answer.responses for row in topic.partitions]
    return [bytes(row.records) for row in rows if row.records]
