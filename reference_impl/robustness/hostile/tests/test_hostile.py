"""Hostile clients against the reference: what another client in another process notices."""

from __future__ import annotations

import contextlib
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from reference_impl.robustness.hostile import attacks
from reference_impl.robustness.hostile.witness import Witness
from reference_impl.robustness.process import Address, BrokerProcess, RawClient
from reference_impl.robustness.usage import cpu_s, resident_bytes
from reference_impl.wire import Compression, ErrorCode

SECONDS = 4
FEW_SESSIONS = 5
"""A few sessions show how long a step is. The nightly test measures the memory of all sessions."""


def test_a_pile_of_pipelined_requests_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Other clients are not delayed, neither while the hostile clients are connected nor
    afterwards."""
    with BrokerProcess(tmp_path / "data") as broker:
        attacks.many_topics(broker)
        with Witness(broker, pid=broker.process.pid) as witness:
            attacks.pipeline(broker, SECONDS)
            witness.stop()
        assert witness.failure is None
        assert witness.longest_cpu_s < 1, "one request after another was handed over in one turn"
        time.sleep(1)
        before_s = cpu_s(broker.process.pid)
        time.sleep(1)
        assert cpu_s(broker.process.pid) - before_s < 0.3, (
            "the broker works on for clients that have gone"
        )


@pytest.mark.sliced(2)
@pytest.mark.parametrize(
    "attack",
    [
        attacks.many_names,
        attacks.many_partitions,
        attacks.patterns,
        pytest.param(partial(attacks.sessions, count=FEW_SESSIONS), id="few sessions"),
        pytest.param(attacks.sessions, marks=pytest.mark.nightly),
    ],
)
def test_requests_that_take_long_keep_nobody_waiting(
    tmp_path: Path, attack: Callable[[Address], None]
) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        attacks.many_topics(broker)
        before = resident_bytes(broker.process.pid)
        with Witness(broker, pid=broker.process.pid) as witness:
            attack(broker)
            witness.stop()
        assert witness.failure is None
        assert witness.longest_cpu_s < 0.5, "the rest of a long request was done in one step"
        assert resident_bytes(broker.process.pid) - before < 384 << 20


def test_a_crowd_of_silent_clients_keeps_nobody_out_and_no_file_shut(tmp_path: Path) -> None:
    """The process may open 400 files, and 500 clients connect: those who wait longest have to go,
    the one that works stays, and files can still be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard))
    try:
        broker = BrokerProcess(tmp_path / "data")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with broker, contextlib.ExitStack() as stack, RawClient(broker) as worker:
        for number in range(500):
            stack.enter_context(RawClient(broker))
            if number % 50 == 0:
                worker.create_topic(f"t-{number}")
        assert worker.produce("t-0", "a").error_code == ErrorCode.NONE
        with RawClient(broker) as another:
            another.create_topic("last")
            assert another.produce("last", "a").error_code == ErrorCode.NONE
    assert "this one has been silent longest" in (tmp_path / "broker.err").read_text()


def test_bombs_are_refused_at_once_and_long_batches_let_others_through(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        with RawClient(broker) as client:
            client.create_topic("t")
        for codec in (Compression.ZSTD, Compression.GZIP):
            bomb = attacks.wrong_bomb(codec)
            before_s, before = cpu_s(broker.process.pid), resident_bytes(broker.process.pid)
            assert attacks.produce(broker, "t", bomb)[0] is ErrorCode.UNKNOWN_SERVER_ERROR
            assert cpu_s(broker.process.pid) - before_s < 0.3, (
                "it was expanded behind the first bad record"
            )
            assert resident_bytes(broker.process.pid) - before < 32 << 20
        for batch in (attacks.right_bomb(), attacks.large_record()):
            with Witness(broker, f"canary-{len(batch)}", broker.process.pid) as witness:
                error, _ = attacks.produce(broker, "t", batch)
                witness.stop()
            assert error is ErrorCode.NONE
            assert witness.failure is None
            # How long it takes depends on the load; what the broker does for others does not.
            assert witness.longest_cpu_s < 0.5
