"""The mutants cover each field, the judge accuses what no target may do, the model finds planted
bugs, and a correct broker is accused of nothing."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.connection import api_key, part, request
from conformance.fuzz import machine
from conformance.fuzz.batches import batches
from conformance.fuzz.findings import Finding, Findings
from conformance.fuzz.judge import patience_s, read_request, why_wrong
from conformance.fuzz.mutants import CORRELATION_ID, Mutant, filled, mutants
from conformance.fuzz.run import fuzz, play_again, send_again
from conformance.fuzz.volley import ANSWER_S, Outcome, Volley
from conformance.target.examination import Examined
from conformance.tests.servers import serving, silent
from conformance.wire import Connection, Wire, batch
from reference_impl.wire import (
    Malformed,
    RecordBatch,
    encode_request,
    encode_response,
    response_definition,
)

ADVERTISED = {"Metadata": (0, 13), "ApiVersions": (0, 4), "Fetch": (4, 18), "Produce": (0, 13)}
TOPIC = part("Metadata", "MetadataRequestTopic", name="a-topic")


def of_metadata(version: int = 12) -> list[Mutant]:
    return list(mutants("Metadata", version, request("Metadata", topics=[TOPIC])))


def answer(version: int = 12, **fields: object) -> Outcome:
    key = api_key("Metadata")
    piece = response_definition(key).struct
    topic = piece("MetadataResponseTopic", name="a-topic", error_code=3)
    broker = piece("MetadataResponseBroker", node_id=1, host="localhost", port=9092)
    usual = {"brokers": [broker], "controller_id": 1, "cluster_id": "c", "topics": [topic]}
    body = response_definition(key).new(**(usual | fields))
    return Outcome("answered", encode_response(key, version, CORRELATION_ID, body)[4:])


def test_each_field_is_broken_in_each_way_that_suits_it() -> None:
    found = of_metadata()
    assert len({m.data for m in found}) > 0.9 * len(found)
    changes: dict[str, set[str]] = {}
    for mutant in found:
        changes.setdefault(mutant.path, set()).add(mutant.change)
    assert {"null", "negative", "huge", "one too many", "dropped"} <= changes["topics"]
    assert {"null", "huge", "not UTF-8", "the frame ends inside it"} <= changes["topics[0].name"]
    assert {"a duplicated tag", "unordered tags"} <= changes["topics[0].tagged_fields"]
    assert {"negative version", "null client id"} <= changes["the header"]
    assert read_request(found[0].data, ADVERTISED)[3] == request("Metadata", topics=[TOPIC])


def test_a_filled_request_has_every_field() -> None:
    empty = request("CreateTopics")
    full = filled("CreateTopics", empty, "a-name")
    paths = {m.path for m in mutants("CreateTopics", 7, full)}
    assert {"topics[0].assignments[0].broker_ids[0]", "topics[0].configs[0].value"} <= paths
    assert empty.topics == []


def test_batches_are_wrong_in_the_field_that_they_name() -> None:
    found = dict(batches())
    assert len(set(found.values())) > 240
    RecordBatch.decode(found["unchanged"])
    for name in ("CRC 0", "number of records 2", "length of the key -2", "cut after 60 bytes"):
        with pytest.raises(Malformed):
            batch, _ = RecordBatch.decode(found[name])
            assert len(batch.records) == 3


def unreadable() -> bytes:
    """Return a Metadata request that claims 2^31 - 1 topics."""
    return next(m.data for m in of_metadata() if (m.path, m.change) == ("topics", "huge"))


def without_topic() -> Outcome:
    return answer(topics=[])


@pytest.mark.parametrize(
    ("frame", "outcome", "why"),
    [
        (unreadable(), answer(), "though the request cannot be read"),
        (unreadable(), Outcome("silent"), "the connection stays open"),
        (of_metadata()[0].data, Outcome("silent"), "neither answered nor closed"),
        (of_metadata()[0].data, Outcome("refused"), "accepts no connection"),
        (of_metadata()[0].data, Outcome("no frame"), "impossible size"),
        (of_metadata()[0].data, Outcome("answered", b"\0\0\0\7\0"), "cannot be read"),
        (
            of_metadata()[0].data,
            Outcome("answered", b"\0\0\0\x63" + answer().answer[4:]),
            "correlation id 99",
        ),
        (of_metadata()[0].data, without_topic(), "contradicts its request"),
        (of_metadata()[0].data, answer(), None),
        (unreadable(), Outcome("closed"), None),
        (of_metadata()[0].data, Outcome("closed"), None),
    ],
)
def test_the_judge_accuses_what_no_target_may_do(
    frame: bytes, outcome: Outcome, why: str | None
) -> None:
    said = why_wrong(frame, outcome, ADVERTISED)
    assert said is None if why is None else why in str(said)


@pytest.mark.parametrize("high_watermark", [1, 0])
def test_the_judge_accuses_records_above_the_high_watermark(high_watermark: int) -> None:
    piece = response_definition(key := api_key("Fetch")).struct
    row = piece(
        "PartitionData",
        high_watermark=high_watermark,
        last_stable_offset=-1,
        records=batch(b"a").encode(),
    )
    topic = piece("FetchableTopicResponse", topic="a-topic", partitions=[row])
    body = response_definition(key).new(responses=[topic])
    wanted = part("Fetch", "FetchPartition", partition_max_bytes=1000)
    named = part("Fetch", "FetchTopic", topic="a-topic", partitions=[wanted])
    asked = request("Fetch", replica_id=-1, session_epoch=-1, topics=[named])
    frame = encode_request(key, 12, CORRELATION_ID, "c", asked)[4:]
    answered = Outcome("answered", encode_response(key, 12, CORRELATION_ID, body)[4:])
    said = why_wrong(frame, answered, ADVERTISED)
    assert (said is None) == (high_watermark == 1), said
    assert said is None or "end of the records" in said


def test_a_fetch_that_asks_to_wait_is_not_waited_for() -> None:
    waits = next(mutants("Fetch", 12, request("Fetch", max_wait_ms=2**31 - 1))).data
    asks = next(mutants("Fetch", 12, request("Fetch"))).data
    assert patience_s(waits, ADVERTISED) < ANSWER_S == patience_s(asks, ADVERTISED)
    assert why_wrong(waits, Outcome("silent"), ADVERTISED) is None


def test_a_close_is_blamed_on_the_frame_that_caused_it() -> None:
    def serve(connection: object) -> None:
        """Answer "late", then close; answer anything else but "bad"."""
        while True:
            size = connection.recv(4)  # type: ignore[attr-defined]
            if not size:
                return
            frame = connection.recv(struct.unpack(">i", size)[0])  # type: ignore[attr-defined]
            if frame == b"bad":
                return
            connection.sendall(size + frame)  # type: ignore[attr-defined]
            if frame == b"late":
                return

    with serving(serve) as bootstrap, Volley(connecting_to(bootstrap)) as volley:
        frames = [b"good", b"late", b"good", b"bad", b"good"] * 20
        kinds = [outcome.kind for outcome in volley.outcomes(frames, lambda _: 5.0)]
        assert kinds == ["answered", "answered", "answered", "closed", "answered"] * 20


def test_a_silent_target_costs_no_more_than_its_time() -> None:
    with serving(silent) as bootstrap, Volley(connecting_to(bootstrap)) as volley:
        assert volley.alone(b"anything", 0.2).kind == "silent"


def connecting_to(bootstrap: str) -> Callable[[float], Connection]:
    host, _, port = bootstrap.rpartition(":")
    return lambda timeout_s: Connection(host, int(port), timeout_s)


def test_similar_findings_are_one_group() -> None:
    found = Findings()
    for at in range(3):
        found.add(Finding(f"Fetch v{at}, topics[{at}]: huge", f"read {at} bytes", f"send {at}"))
    assert len(found) == 1
    assert "and 2 like it" in found.text() and "send 0" in found.text()
    assert found.as_rows()[0]["count"] == 3


@pytest.mark.parametrize(
    "bug",
    [
        "answer-retries-with-newest",
        pytest.param("keep-epochs", marks=pytest.mark.nightly),
        "accept-old-generations",
        pytest.param("hide-aborted-transactions", marks=pytest.mark.nightly),
    ],
)
def test_the_model_finds_planted_bugs(bug: str, tmp_path: Path) -> None:
    examined = Examined.start("reference", None, bug, tmp_path)
    try:
        _, failed = machine.run(lambda: Wire(examined.bootstrap, examined.advertised), 1, 60, 2.0)
        assert failed is not None
        said: list[str] = []
        assert not play_again(examined, failed[0], said.append)
        assert said[0].startswith("WRONG: ")
    finally:
        examined.stop()


def test_the_reference_is_accused_of_nothing(tmp_path: Path) -> None:
    examined = Examined.start("reference", None, None, tmp_path)
    try:
        outcome = fuzz(examined, 1, 12, "--target reference", print)
        assert outcome.findings.text() == ""
        frame = next(m.data for m in of_metadata()).hex()
        said: list[str] = []
        assert send_again(examined, [frame, unreadable().hex()], said.append)
        assert "outcome: answered" in said[0] and "outcome: closed" in said[1]
        assert play_again(examined, "append 2; send 0 1; send_again 0 0", said.append)
    finally:
        examined.stop()
