"""Test clusters that a file describes: the faults that they offer, the files that are refused, and
the state in which they are left."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chaos.means import guard, leftovers
from chaos.means.ports import free_ports
from chaos.targets import parse_target
from chaos.targets.clusters import probe
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.foreign.commands import words_of
from chaos.targets.foreign.foreign_file import ForeignNode
from chaos.targets.foreign.foreign_node import ForeignProcess
from chaos.values.fault_kinds import ADMIN_FAULTS
from chaos.values.faults import (
    ClockJump,
    CutClients,
    DiskFull,
    Fault,
    Heal,
    Kill,
    Pause,
    PowerLoss,
    Shutdown,
    SlowLinks,
)
from chaos.values.protocols import Cluster, TargetError
from chaos.world import joined

WAIT_S = 180.0
COMPOSE = "[compose]\n"
SERVICE = '[[node]]\naddress = "a:1"\nservice = "s"\n'
HOST = '[[node]]\naddress = "a:1"\nhost = "h"\n'
SSL = 'security.protocol = "SSL"\n'
SASL = 'security.protocol = "SASL_PLAINTEXT"\n'
PLAIN = f'{SASL}sasl.mechanism = "PLAIN"\n'
OAUTH = f'{SASL}sasl.mechanism = "OAUTHBEARER"\n'
ALWAYS: frozenset[type[Fault]] = ADMIN_FAULTS | {Heal}


def described(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "cluster.toml"
    file.write_text(text)
    return file


# --- the reference broker, started by plain commands, is the foreigner ----------------------------


def command(tmp_path: Path, port: int) -> str:
    """Return a shell that writes its pid and becomes the broker, as a service manager's unit
    would."""
    serve = (
        f"{sys.executable} -m reference_impl.host --nodes 1 --data {tmp_path / 'data'}"
        f" --config listeners=PLAINTEXT://127.0.0.1:{port}"
        f" --config advertised.listeners=PLAINTEXT://127.0.0.1:{port}"
    )
    return f"echo $$ > {tmp_path / 'broker.pid'}; exec {serve}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    port = free_ports(1)[0]
    script = tmp_path / "start.sh"
    script.write_text(command(tmp_path, port))
    return described(
        tmp_path,
        f'[[node]]\naddress = "127.0.0.1:{port}"\nstart = "sh {script}"\n'
        f'pid_file = "broker.pid"\nlog = "broker.log"\n',
    )


@pytest.fixture
def cluster(file: Path, tmp_path: Path) -> Iterator[LocalCluster]:
    (tmp_path / "broker.log").write_text("its own log")
    cluster = parse_target(str(file)).start(tmp_path / "run")
    assert isinstance(cluster, LocalCluster)
    yield cluster
    cluster.stop()


def pid_of(tmp_path: Path) -> int:
    return int((tmp_path / "broker.pid").read_text())


def test_it_is_killed_paused_and_healed(cluster: LocalCluster, tmp_path: Path) -> None:
    for fault in (Kill(1), Shutdown(1)):
        before = pid_of(tmp_path)
        assert cluster.perform(fault).nodes == (1,)
        assert not cluster.alive()
        cluster.perform(Heal())
        cluster.wait_ready(WAIT_S)
        assert pid_of(tmp_path) != before
    cluster.perform(Pause(1))
    assert not cluster.alive()
    cluster.perform(Heal())
    assert cluster.alive()


def test_its_own_log_is_kept_and_what_we_started_is_ended(cluster: Cluster, tmp_path: Path) -> None:
    cluster.collect(tmp_path / "kept")
    assert (tmp_path / "kept" / "1" / "broker.log").read_text() == "its own log"
    cluster.stop()
    cluster.stop()
    assert not cluster.alive()


@contextmanager
def running_before(file: Path) -> Iterator[tuple[subprocess.Popen[bytes], tuple[str, int]]]:
    """Start the broker as its owner would before an attack. Yield its process and address, and end
    it afterwards."""
    owner = subprocess.Popen(["sh", str(file.parent / "start.sh")], stdout=subprocess.DEVNULL)
    try:
        address = ("127.0.0.1", int(file.read_text().split(":")[1].split('"')[0]))
        wait_until(lambda: probe.answers(address, 1.0), "it answers")
        yield owner, address
    finally:
        for pid in {owner.pid, pid_of(file.parent)}:
            if owner.poll() is None or pid != owner.pid:
                os.kill(pid, signal.SIGKILL)
        owner.wait(WAIT_S)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {WAIT_S:.0f} s: {what}"
        time.sleep(0.05)


def test_one_that_ran_before_runs_afterwards(file: Path, tmp_path: Path) -> None:
    with running_before(file) as (owner, address):
        cluster = parse_target(str(file)).start(tmp_path / "run")
        assert pid_of(tmp_path) == owner.pid
        cluster.perform(Kill(1))
        owner.wait(WAIT_S)
        cluster.stop()
        wait_until(lambda: probe.answers(address, 1.0), "it runs again")


HARNESS = """
import signal, sys
from pathlib import Path
from chaos.values import faults
from chaos.targets import parse_target
cluster = parse_target(sys.argv[1]).start(Path(sys.argv[2]))
cluster.perform(getattr(faults, sys.argv[3])(1))
print("struck", flush=True)
signal.pause()
"""


@pytest.mark.parametrize("fault", ["Pause", "Kill"])
def test_the_next_command_puts_right_what_a_killed_one_had_done_to_it(
    fault: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_before(file) as (_, address):
        harness = subprocess.Popen(
            [sys.executable, "-c", HARNESS, str(file), str(tmp_path / "run"), fault],
            stdout=subprocess.PIPE,
        )
        assert harness.stdout is not None
        assert harness.stdout.readline() == b"struck\n"
        leftovers.remove()
        assert not probe.answers(address, 0.5)  # its owner lives
        harness.kill()
        harness.communicate(timeout=WAIT_S)
        leftovers.remove()
        wait_until(lambda: probe.answers(address, 1.0), "it answers again")
        assert f"paused or ended: {joined(address)}" in capsys.readouterr().err
        leftovers.remove()
        assert joined(address) not in capsys.readouterr().err


# --- faults by the owner's commands ---------------------------------------------------------------

COMMANDS = """
cut = "sh -c 'echo cut $0 {how} >> told' {peer}:{peer_port}"
cut_clients = "sh -c 'echo cut clients >> told'"
slow_links = "sh -c 'echo slow {ms} {jitter_ms} {where} >> told'"
heal_links = "sh -c 'echo heal >> told; test ! -e stuck'"
fill_disk = "sh -c 'echo fill >> told'"
free_disk = "sh -c 'echo free >> told'"
set_clock = "sh -c 'echo clock {ms} >> told'"
reset_clock = "sh -c 'echo reset >> told'"
lose_power = "sh -c 'echo power >> told; kill -9 $(cat broker.pid)'"
"""


@pytest.fixture
def commanded(file: Path, tmp_path: Path) -> Iterator[LocalCluster]:
    file.write_text(file.read_text() + COMMANDS)
    cluster = parse_target(str(file)).start(tmp_path / "run")
    assert isinstance(cluster, LocalCluster)
    yield cluster
    cluster.stop()


def told(tmp_path: Path) -> list[str]:
    """Return the lines that the commands have written since the last call."""
    file = tmp_path / "told"
    lines = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return lines


def test_the_owners_commands_bring_faults_on_and_end_them(
    commanded: LocalCluster, tmp_path: Path
) -> None:
    """Each command that ends a fault runs once, however often the fault came on."""
    assert commanded.perform(SlowLinks(1, 80, 5, "nodes")).nodes == (1,)
    commanded.perform(CutClients("all"))
    commanded.perform(DiskFull(1))
    commanded.perform(ClockJump(1, -7000))
    assert told(tmp_path) == ["slow 80 5 nodes", "cut clients", "fill", "clock -7000"]
    assert commanded.perform(Heal()).nodes == (1,)
    assert told(tmp_path) == ["heal", "free", "reset"]
    assert commanded.perform(Heal()).nodes == ()
    assert told(tmp_path) == []
    assert not [*Path(tempfile.gettempdir()).glob(f"touchstone-owed-{os.getpid()}-*")]


def test_a_node_without_power_is_started_by_the_heal(
    commanded: LocalCluster, tmp_path: Path
) -> None:
    assert commanded.perform(PowerLoss("all")).nodes == (1,)
    assert not commanded.alive()
    commanded.perform(Heal())
    commanded.wait_ready(WAIT_S)


def test_what_could_not_be_ended_is_told_and_ended_by_the_next_heal(
    commanded: LocalCluster, tmp_path: Path
) -> None:
    commanded.perform(CutClients(1))
    (tmp_path / "stuck").touch()
    with pytest.raises(TargetError, match=r"heal .*ended with status 1"):
        commanded.perform(Heal())
    (tmp_path / "stuck").unlink()
    assert commanded.perform(Heal()).nodes == (1,)


@pytest.mark.parametrize(
    "text", [r"find x -exec rm {} \;", "find x -exec rm {} ';'", 'sh -c "a && b"', "curl u?a&b"]
)
def test_a_quoted_operator_of_a_shell_is_an_argument(text: str) -> None:
    assert words_of(text) == tuple(shlex.split(text))


def test_a_command_that_fails_says_which_and_why(tmp_path: Path) -> None:
    text = 'reset = "sh -c \'echo no right to; exit 3\'"\n[[node]]\naddress = "127.0.0.1:9"\n'
    target = parse_target(str(described(tmp_path, text)))
    with pytest.raises(TargetError, match=r"toml: reset: the command .* status 3: no right to"):
        target.start(tmp_path / "run")


def test_one_that_nobody_started_and_nobody_can_start_is_named(tmp_path: Path) -> None:
    port = free_ports(1)[0]
    target = parse_target(str(described(tmp_path, f'[[node]]\naddress = "127.0.0.1:{port}"\n')))
    with pytest.raises(TargetError, match=f"nothing listens at 127.0.0.1:{port}, and node 1 has"):
        target.start(tmp_path / "run")


@pytest.mark.parametrize("text", ["", "-1", "soon"])
def test_a_pid_file_that_names_no_process_names_nobody(text: str, tmp_path: Path) -> None:
    """The file may be empty, since it is read before it is written, and kill(2) takes -1 for all
    processes."""
    (tmp_path / "broker.pid").write_text(text)
    node = ForeignNode(("127.0.0.1", 9), pid_file=tmp_path / "broker.pid")
    assert ForeignProcess(node, tmp_path, tmp_path / "log").pid == 0


def test_a_number_that_is_anothers_by_now_is_not_struck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pid file outlives its process, and numbers are given out again."""
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            (tmp_path / "broker.pid").write_text(str(other.pid))
            node = ForeignNode(("127.0.0.1", 9), pid_file=tmp_path / "broker.pid")
            process = ForeignProcess(node, tmp_path, tmp_path / "log")
            assert process.pid == other.pid
            monkeypatch.setattr(guard, "start_time", lambda pid: "later")
            assert process.pid == 0 and not process.running
            process.kill()
            assert other.poll() is None
        finally:
            other.kill()


def test_a_process_that_has_ended_has_no_number(tmp_path: Path) -> None:
    """The start command goes to the background and writes no pid file."""
    node = ForeignNode(("127.0.0.1", 9), start=("true",))
    process = ForeignProcess(node, tmp_path, tmp_path / "log")
    process.start(1, ours=True)
    wait_until(lambda: process.exit_status == 0, "the command has ended")
    assert process.pid == 0


# --- Apache Kafka as the foreigner ----------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.needs("java", "kafka-jars")
def test_apache_kafka_started_by_a_plain_command_is_killed_and_comes_back(tmp_path: Path) -> None:
    """Its command line is borrowed from our own target, which formats the directory."""
    ours = parse_target("apache:4.3.1").start(tmp_path / "ours")
    assert isinstance(ours, LocalCluster)
    (member,) = ours.members()
    ours.stop()
    script = tmp_path / "start.sh"
    words = " ".join(f"'{word}'" for word in member.command)
    script.write_text(f"echo $$ > {tmp_path / 'broker.pid'}; exec {words}\n")
    text = f'[[node]]\naddress = "{joined(member.direct)}"\nstart = "sh {script}"\n'
    target = parse_target(str(described(tmp_path, f'{text}pid_file = "broker.pid"\n')))
    foreign = target.start(tmp_path / "run")
    assert isinstance(foreign, LocalCluster)
    try:
        foreign.perform(Kill("all"))
        assert not foreign.alive()
        foreign.perform(Heal())
        foreign.wait_ready()
        assert foreign.alive()
    finally:
        foreign.stop()
    assert not probe.answers(member.direct, 1.0)
