"""The file of a foreign cluster decides which faults are offered, and is read strictly."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from chaos.targets import parse_target
from chaos.targets.foreign.target import ANSWER_TIMEOUT_S, ForeignTarget
from chaos.targets.tests.test_foreign import (
    ALWAYS,
    COMPOSE,
    HOST,
    OAUTH,
    PLAIN,
    SASL,
    SERVICE,
    SSL,
    described,
)
from chaos.values.able_targets import SizedTarget
from chaos.values.faults import (
    ClockJump,
    CutClients,
    CutLink,
    DiskFull,
    DiskStall,
    Fault,
    Isolate,
    Kill,
    Pause,
    PowerLoss,
    Shutdown,
    SlowLinks,
    Split,
)
from chaos.values.protocols import TargetError
from chaos.world import joined
from conformance.tests.servers import serving, silent


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        ("", set()),
        ('start = "s"', set()),
        ('start = "s"\nkill = "k"', {Kill}),
        ('start = "s"\nstop = "k"', {Shutdown}),
        ('pid_file = "p"', {Pause}),
        ('start = "s"\npid_file = "p"', {Kill, Shutdown, Pause}),
        ('pause = "p"\nresume = "r"', {Pause}),
        ('cut = "c {peer}"\nheal_links = "h"', {CutLink, Split}),
        ('cut_clients = "c"\nheal_links = "h"', {CutClients}),
        (
            'cut = "c {peer}"\ncut_clients = "c"\nheal_links = "h"',
            {CutLink, Split, CutClients, Isolate},
        ),
        ('slow_links = "s {ms}"\nheal_links = "h"', {SlowLinks}),
        ('fill_disk = "f"\nfree_disk = "e"', {DiskFull}),
        ('stall_disk = "f"\nrelease_disk = "e"', {DiskStall}),
        ('start = "s"\nlose_power = "l"', {PowerLoss}),
        ('set_clock = "c {ms}"\nreset_clock = "r"', {ClockJump}),
    ],
)
def test_the_faults_offered_follow_from_what_is_given(
    given: str, offered: set[type[Fault]], tmp_path: Path
) -> None:
    file = described(tmp_path, f'[[node]]\naddress = "127.0.0.1:9092"\n{given}\n')
    assert parse_target(str(file)).faults == ALWAYS | offered


def test_only_what_every_node_can_suffer_is_offered(tmp_path: Path) -> None:
    nodes = '[[node]]\naddress = "a:1"\nstart = "s"\npid_file = "p"\n[[node]]\naddress = "b:1"\n'
    target = parse_target(str(described(tmp_path, nodes)))
    assert target.faults == ALWAYS
    assert isinstance(target, SizedTarget)
    assert target.nodes == 2


def test_a_service_of_compose_can_be_killed_shut_down_and_paused(tmp_path: Path) -> None:
    (tmp_path / "compose.yml").write_text("services: {}\n")
    text = '[compose]\nfile = "compose.yml"\n[[node]]\naddress = "a:1"\nservice = "kafka-1"\n'
    target = parse_target(str(described(tmp_path, text)))
    assert target.faults == ALWAYS | {Kill, Shutdown, Pause}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("node = 1", r"node must be \[\[…\]\] tables: write it so"),
        ("x = [", "is not TOML"),
        ("", r"it has no bootstrap and no \[\[node\]\]: write bootstrap = 'host:port', or"),
        ('bootstrap = "nowhere"', r"bootstrap = 'nowhere' is not host:port\[,host:port\]"),
        ("node = [1]", r"node must be \[\[…\]\] tables: write it so"),
        ("[[node]]", "node 1: address is missing: write address ="),
        ('[[node]]\naddress = "nowhere"', "node 1: address = 'nowhere' is not one host:port"),
        ('[[node]]\naddress = "a:1,b:1"', "node 1: address = 'a:1,b:1' is not one host:port"),
        ("[[node]]\naddress = 5", "node 1: address must be text in quotes"),
        ('[[node]]\naddress = "a:1"\nports = "x"', "node 1: there is no key 'ports': use address"),
        ('[[node]]\naddress = "a:1"\nkill = "k"', "node 1: start is missing"),
        ('[[node]]\naddress = "a:1"\npause = "k"', "node 1: pause and resume go together"),
        ('[[node]]\naddress = "a:1"\nstart = "\'"', "node 1: start = .* cannot be split"),
        ('[[node]]\naddress = "a:1"\nstart = "a; b"', "node 1: start = .*; needs a shell: write"),
        ('[[node]]\naddress = "a:1"\nstart = "a > b"', "node 1: start = .*> needs a shell: write"),
        ('[[node]]\naddress = "a:1"\nservice = "s"', r"node 1: service needs a \[compose\] table"),
        (COMPOSE + 'file = "gone.yml"\n' + SERVICE, "compose: file = 'gone.yml' is not there"),
        (COMPOSE + SERVICE, "compose: file is missing: name the Compose file"),
        (COMPOSE + '[[node]]\naddress = "a:1"', r"\[compose\] is of no use: write service ="),
        (SERVICE + 'host = "h"', "node 1: service and host exclude each other: give one"),
        (HOST + 'kill = "k"', "node 1: host replaces kill: give either host or kill"),
        (HOST + 'pid_file = "p"', "node 1: host replaces pid_file: give either host or"),
        ('[ssh]\nfirewall = "yes"\n' + HOST, "ssh: firewall must be true or false: write it so"),
        ('[ssh]\ncommand = "\'"\n' + HOST, "ssh: command = .* cannot be split into words"),
        ('[[node]]\naddress = "a:1"\nid = "1"', "node 1: id must be a number"),
        ('[[node]]\naddress = "a:1"\ncut = "c {peer}"', "node 1: cut needs heal_links, or"),
        ('[[node]]\naddress = "a:1"\ncut = "c"\nheal_links = "h"', "node 1: cut has no {peer} in"),
        ('[[node]]\naddress = "a:1"\nfree_disk = "f"', "node 1: free_disk ends nothing: give"),
        ('[[node]]\naddress = "a:1"\nlose_power = "l"', "node 1: start is missing"),
        *(
            (f'bootstrap = "a:1"\n[client]\n{client}', f"client: {said}")
            for client, said in (
                ('protocol = "SSL"', "there is no key 'protocol': use security.protocol"),
                ("security.protocol = 1", "security.protocol must be text in quotes"),
                ('security.protocol = "TLS"', "security.protocol = 'TLS': say one of PLAIN"),
                ('sasl.username = "a"', "sasl.username is of no use with security.protocol ="),
                (SSL + 'sasl.username = "a"', "sasl.username is of no use with .* = 'SSL'"),
                (SSL + 'ssl.ca.location = "gone.pem"', "ssl.ca.location = .* is not there"),
                (SASL, "sasl.mechanism is missing: say one of PLAIN, SCRAM-SHA-256"),
                (SASL + 'sasl.mechanism = "GSSAPI"', "sasl.mechanism = 'GSSAPI': say one"),
                (PLAIN, "sasl.username is missing: name the user"),
                (PLAIN + 'sasl.username = "a"', "the password is missing: give"),
                (
                    OAUTH,
                    "sasl.oauthbearer.token.command is missing: name a command that prints a token",
                ),
                (OAUTH + 'sasl.password = "p"', "OAUTHBEARER takes no password"),
                (
                    PLAIN
                    + 'sasl.username = "a"\nsasl.password.env = "A"\nsasl.password.file = "b"',
                    "sasl.password.env and sasl.password.file say the same: give one",
                ),
                (
                    OAUTH + 'sasl.oauthbearer.token.command = "\'"',
                    "sasl.oauthbearer.token.command is not a command",
                ),
            )
        ),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence_with_file_key_and_remedy(
    text: str, said: str, tmp_path: Path
) -> None:
    file = described(tmp_path, text)
    with pytest.raises(TargetError, match=said) as refused:
        parse_target(str(file))
    assert str(refused.value).startswith(str(file))
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"gone.toml: no such file or directory; name a TOML"):
        parse_target(str(tmp_path / "gone.toml"))


def test_there_is_no_bug_to_plant_and_nothing_to_configure(tmp_path: Path) -> None:
    file = str(described(tmp_path, '[[node]]\naddress = "127.0.0.1:9092"'))
    with pytest.raises(TargetError, match="has no planted bugs"):
        parse_target(file, "a-bug")
    with pytest.raises(TargetError, match=r"configured by its owner; leave out num.partitions"):
        parse_target(file).start(tmp_path, config={"num.partitions": "3"})


@pytest.mark.parametrize(
    "client",
    [
        "",
        '[client]\nsecurity.protocol = "SASL_PLAINTEXT"\nsasl.mechanism = "PLAIN"\n'
        'sasl.username = "alice"\nsasl.password = "secret"\n',
    ],
    ids=["PLAINTEXT", "SASL_PLAINTEXT"],
)
def test_a_listener_with_tls_that_is_described_without_is_told_at_once(
    client: str, tmp_path: Path
) -> None:
    """A node that only does not answer yet is given half a minute."""

    def refuse(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"\x15\x03\x03\x00\x02\x02\x50")  # as Apache Kafka: a fatal alert

    with serving(refuse) as where:
        file = tmp_path / "cluster.toml"
        file.write_text(f'{client}[[node]]\naddress = "{where}"\n')
        began = time.monotonic()
        with pytest.raises(TargetError, match=r"these bytes are TLS, not Kafka's protocol; see"):
            parse_target(str(file)).start(tmp_path / "run")
        assert time.monotonic() - began < ANSWER_TIMEOUT_S / 2


def test_of_the_addresses_to_ask_first_one_may_be_down(tmp_path: Path) -> None:
    with serving(silent) as up, serving(silent) as other:
        file = tmp_path / "cluster.toml"
        file.write_text(f'bootstrap = "127.0.0.1:1,{up},{other}"\n')
        target = parse_target(str(file))
        assert isinstance(target, ForeignTarget)
        found = [joined(each) for each in target._reachable_first()]
    assert found == [up, other, "127.0.0.1:1"]
