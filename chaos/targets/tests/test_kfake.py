"""Test kfake: a child process that can be killed, and that some requests kill."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.targets import parse_target
from chaos.values.faults import CutLink, Heal, Kill, Pause
from chaos.values.protocols import Cluster, TargetError
from conformance.wire import eventually
from reference_impl.wire.frames import encode_request
from reference_impl.wire.messages import request_definition

pytestmark = pytest.mark.needs("kfake")
WAIT_S = 180.0


@pytest.fixture
def kfake(tmp_path: Path) -> Iterator[Cluster]:
    cluster = parse_target("kfake").start(tmp_path)
    yield cluster
    cluster.stop()


def test_it_starts_and_stops_and_stops_again(kfake: Cluster, tmp_path: Path) -> None:
    assert kfake.alive()
    eventually(
        lambda: kept_log(kfake, tmp_path / "kept"),
        lambda log: log.startswith("ready "),
        "the node's log, kept",
        WAIT_S,
    )
    kfake.stop()
    kfake.stop()
    assert not kfake.alive()


def kept_log(kfake: Cluster, into: Path) -> str:
    """Return what the node has printed so far. It may answer before it has printed anything."""
    kfake.collect(into)
    return (into / "1" / "node.log").read_text()


def test_a_request_that_kills_it_is_noticed_and_it_is_restarted(kfake: Cluster) -> None:
    """Catalogue WIRE-08: an unknown api key is a nil dereference."""
    host, port = kfake.bootstrap.split(":")
    body = request_definition(18).new()
    request = bytearray(encode_request(18, 0, 1, "c", body))
    request[4:6] = (999).to_bytes(2, "big")
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as connection:
        connection.sendall(request)
        assert connection.recv(1) == b""
    deadline = time.monotonic() + WAIT_S
    while kfake.alive():  # its connections close a moment before its process is gone
        assert time.monotonic() < deadline, "it lives"
        time.sleep(0.01)
    kfake.restart()
    assert kfake.alive()


def test_killed_and_paused_nodes_come_back_by_heal(kfake: Cluster) -> None:
    assert kfake.perform(Kill("random")).nodes == (1,)
    again = kfake.perform(Kill(1))
    assert again.nodes == () and again.note.startswith("no such node runs")
    assert kfake.perform(Heal()).nodes == (1,)
    kfake.restart()
    assert kfake.perform(Pause("controller")).nodes == (1,)
    assert not kfake.alive()
    assert kfake.perform(Heal()).nodes == (1,)
    assert kfake.alive()


def test_a_fault_it_cannot_is_refused_in_a_sentence(kfake: Cluster) -> None:
    with pytest.raises(TargetError, match="target 'kfake' cannot CutLink; it can: Heal, Kill, P"):
        kfake.perform(CutLink(1, 2))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_told_to_stop(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "chaos.targets", "kfake"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ.copy())
    assert process.stdout is not None
    word, address = process.stdout.readline().split()
    assert word == "ready"
    process.send_signal(number)
    assert process.wait(WAIT_S) == 0
    host, port = address.split(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=WAIT_S)


def test_the_command_refuses_an_unknown_target_with_status_2() -> None:
    command = [sys.executable, "-m", "chaos.targets", "kfak"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("chaos: unknown target 'kfak' (did you mean 'kfake'?)")
    assert "Traceback" not in done.stderr
