"""Hostile clients against the reference: what another client in another process notices."""

from __future__ import annotations

import contextlib
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from conformance.target import certificates
from reference_impl.host.tcp.ports import free_ports
from reference_impl.robustness.hostile import attacks
from reference_impl.robustness.hostile.witness import Place, Witness
from reference_impl.robustness.process import Address, BrokerProcess, RawClient
from reference_impl.robustness.usage import cpu_s, resident_bytes
from reference_impl.wire import Compression, ErrorCode

SECONDS = 4
FEW_SESSIONS = 5
"""A few sessions show how long a step is. The nightly test measures the memory of all sessions."""

FEW_SEGMENTS = 300


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


@pytest.mark.sliced(3)
@pytest.mark.parametrize(
    "attack",
    [
        attacks.many_names,
        attacks.many_partitions,
        attacks.patterns,
        pytest.param(partial(attacks.segments, count=FEW_SEGMENTS), id="few segments"),
        pytest.param(attacks.segments, marks=pytest.mark.nightly),
        pytest.param(attacks.ending_sessions, marks=pytest.mark.nightly),
        pytest.param(partial(attacks.sessions, count=FEW_SESSIONS), id="few sessions"),
        pytest.param(attacks.sessions, marks=pytest.mark.nightly),
    ],
)
def test_requests_that_take_long_keep_nobody_waiting(
    tmp_path: Path, attack: Callable[[Address], None]
) -> None:
    short = (
        word for each in attacks.SHORT_SESSIONS.items() for word in ("--config", "=".join(each))
    )
    with BrokerProcess(tmp_path / "data", *short) as broker:
        attacks.many_topics(broker)
        before = resident_bytes(broker.process.pid)
        with Witness(broker, pid=broker.process.pid) as witness:
            attack(broker)
            witness.stop()
        assert witness.failure is None
        assert witness.longest_cpu_s < 0.5, "the rest of a long request was done in one step"
        assert resident_bytes(broker.process.pid) - before < 384 << 20


@contextlib.contextmanager
def with_tls(data: Path) -> Iterator[tuple[BrokerProcess, Place]]:
    """Run a broker with a plain listener and one with TLS. Yield it and the latter's place."""
    port = free_ports(1)[0]
    certificate = certificates.for_loopback()
    config = (
        f"listeners=PLAIN://127.0.0.1:0,TLS://127.0.0.1:{port}",
        "listener.security.protocol.map=PLAIN:PLAINTEXT,TLS:SSL",
        "inter.broker.listener.name=PLAIN",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.key={certificate.key}",
        f"ssl.keystore.certificate.chain={certificate.chain}",
    )
    with BrokerProcess(data, *(word for each in config for word in ("--config", each))) as broker:
        yield broker, Place("127.0.0.1", port)


def test_handshakes_that_begin_together_keep_nobody_waiting(tmp_path: Path) -> None:
    with (
        with_tls(tmp_path / "data") as (broker, tls),
        Witness(broker, pid=broker.process.pid) as witness,
    ):
        attacks.hellos(tls)
        witness.stop()
        assert witness.failure is None
        assert witness.longest_cpu_s < 0.25, "all signatures were made in one round"


@contextlib.contextmanager
def files_at_most(count: int) -> Iterator[None]:
    """Let processes that are started here open no more files than this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("over_tls", [False, True])
def test_a_crowd_of_silent_clients_keeps_nobody_out_and_no_file_shut(
    tmp_path: Path, over_tls: bool
) -> None:
    """The process may open 400 files, and 500 clients connect: those who wait longest have to go,
    the one that works stays, and files can still be opened."""
    with contextlib.ExitStack() as stack:
        with files_at_most(400):
            broker, tls = stack.enter_context(with_tls(tmp_path / "data"))
        crowded: Address = tls if over_tls else broker
        worker = stack.enter_context(RawClient(broker))
        for number in range(500):
            stack.enter_context(RawClient(crowded))
            if number % 50 == 0:
                worker.create_topic(f"t-{number}")
        assert worker.produce("t-0", "a").error_code == ErrorCode.NONE
        with RawClient(broker) as another:
            another.create_topic("last")
            assert another.produce("last", "a").error_code == ErrorCode.NONE
    told = "this one has been silent longest" in (tmp_path / "broker.err").read_text()
    assert told or over_tls, "who has not begun its handshake is no connection yet"


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
