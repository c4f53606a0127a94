"""Targets whose answers would let a case go on for ever: the case fails, and the run goes on."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Iterator

import pytest

from conformance import patience
from conformance.case import Deviation
from conformance.cases.transactions import test_ids
from conformance.clients.transactions import Producer
from conformance.connection import Connection, NoAnswer
from conformance.session import limit
from conformance.target.examination import advertised_versions
from conformance.tests.fake import Answer, FakeKafka, errors_of, response
from conformance.tests.suite import PASSES, Suite
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

pytest_plugins = ["pytester"]

ENDLESS = '''
@case("GRPC-23", "Heartbeat", spec="KIP-62, endless")
def test_a_case_without_an_end(wire):
    """A Heartbeat gets another error than NONE sometime."""
    while heartbeat(wire) == 0:
        pass
'''
ROTATES_AT = 600
"""The epoch after which a lawful broker gives another producer id, long before it must."""


def test_a_case_that_does_not_end_fails(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "CASE_S_MAX", 2.0)
    result = suite.run(ENDLESS + PASSES, {"Heartbeat": errors_of(itertools.repeat(0))})
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["expected:  time of this case: at most 2 s"])


def test_a_case_that_catches_every_deviation_ends_too(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit, "CASE_S_MAX", 2.0)
    monkeypatch.setattr(limit, "AGAIN_S", 2.0)
    deaf = ENDLESS.replace(
        "    while heartbeat(wire) == 0:\n        pass\n",
        "    from contextlib import suppress\n    from conformance.case import Deviation\n"
        "    with suppress(Deviation):\n        while True:\n            heartbeat(wire)\n"
        "    while True:\n        heartbeat(wire)\n",
    )
    result = suite.run(deaf + PASSES, {"Heartbeat": errors_of(itertools.repeat(0))})
    result.assert_outcomes(passed=1, failed=1)


@pytest.fixture
def producers() -> Iterator[list[FakeKafka]]:
    made: list[FakeKafka] = []
    yield made
    for kafka in made:
        kafka.stop()


def producer_at(kafka: FakeKafka) -> Producer:
    wire = Wire(kafka.bootstrap, advertised_versions(kafka.bootstrap))
    producer = Producer(wire, "t", wire.bootstrap)
    producer.producer_id, producer.epoch = 7, 0
    return producer


def initialised(answers: Iterator[tuple[int, int, int]]) -> Answer:
    """InitProducerId answers these (error, producer id, epoch) one after the other."""

    def answer(_version: int, _request: object) -> object:
        code, producer_id, epoch = next(answers)
        return response(
            "InitProducerId", error_code=code, producer_id=producer_id, producer_epoch=epoch
        )

    return answer  # type: ignore[return-value]


@pytest.mark.parametrize(
    "answer",
    [(0, 7, 0), (ErrorCode.CONCURRENT_TRANSACTIONS, -1, -1)],
    ids=["always epoch 0", "always busy"],
)
def test_epochs_that_stand_still_fail_the_case(
    producers: list[FakeKafka], monkeypatch: pytest.MonkeyPatch, answer: tuple[int, int, int]
) -> None:
    monkeypatch.setattr(test_ids, "STANDSTILL_S", 0.2)
    producers.append(FakeKafka({"InitProducerId": initialised(itertools.repeat(answer))}))
    with pytest.raises(Deviation, match="after the last new one"):
        test_ids.raise_epoch(producer_at(producers[0]), 5, 32_764)


def test_a_broker_may_give_another_producer_id_early(producers: list[FakeKafka]) -> None:
    first = [(0, 7, epoch) for epoch in range(1, ROTATES_AT)]
    second = ((0, 8, epoch) for epoch in itertools.count())
    producers.append(FakeKafka({"InitProducerId": initialised(itertools.chain(first, second))}))
    producer = producer_at(producers[0])
    given = test_ids.raise_epoch(producer, 5, 32_764)
    assert producer.producer_id == 8
    assert next(a.producer_epoch for a in given if a.producer_id == 8) == 0
    assert producer.epoch == given[-1].producer_epoch


@pytest.fixture
def full() -> Iterator[tuple[str, int]]:
    """Provide an address where nobody accepts, and whose queue is full: to connect takes for
    ever."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=0)
    waiting = [socket.socket() for _ in range(4)]
    for client in waiting:
        client.setblocking(False)
        client.connect_ex(listening.getsockname())
    yield listening.getsockname()
    for opened in (*waiting, listening):
        opened.close()


def test_an_address_that_accepts_nobody_is_waited_for_once(
    full: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "IMPATIENT_TIMEOUT_S", 0.1)
    began = time.monotonic()
    for timeout_s in (0.5, 30.0, 30.0):
        with pytest.raises(NoAnswer, match="accepts no connection within"):
            Connection(*full, timeout_s)
    assert time.monotonic() - began < 10
    patience.PATIENCE.forget()
