"""Test foreign clusters behind TLS and SASL: every client is admitted, and no secret is
revealed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.clients.confluent.client import ConfluentFactory
from chaos.clients.java.client import JavaFactory
from chaos.clients.reference.client import ReferenceFactory
from chaos.clients.wire.admin import Admin
from chaos.clients.wire.raw import RawFactory
from chaos.means.ports import free_ports
from chaos.means.real_world import REAL_WORLD
from chaos.record.run_directory import Scenario
from chaos.run.runner import run
from chaos.targets import parse_target
from chaos.targets.clusters import probe
from chaos.values.faults import Heal, Kill
from chaos.values.protocols import (
    ClientFactory,
    ClientSettings,
    Cluster,
    Outcome,
    ReadAll,
    Send,
    TargetError,
    TopicSpec,
)
from conformance.cases.security.secured_wire import errors_by_user, upsertion
from conformance.target import certificates
from conformance.target.examination import advertised_versions
from conformance.wire import Wire, eventually

NONCE = b"abcdefgh"
PASSWORD = 'se"cret\\of alice'
WAIT_S = 180.0
FILE = 'sasl.password.file = "password"'
LISTENERS = "ADMIN:PLAINTEXT,IN:SASL_SSL"


class Owner:
    """The owner of a broker with a listener for administration and one for clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.admin, self.port = free_ports(2)
        certificate = certificates.for_loopback()
        (folder / "ca.pem").write_text(certificate.chain)
        (folder / "key.pem").write_text(certificate.key + certificate.chain)
        (folder / "password").write_text(PASSWORD + "\n")
        at = f"ADMIN://127.0.0.1:{self.admin},IN://127.0.0.1:{self.port}"
        (folder / "server.properties").write_text(
            f"listeners={at}\nadvertised.listeners={at}\n"
            f"listener.security.protocol.map={LISTENERS}\n"
            "inter.broker.listener.name=ADMIN\n"
            f"ssl.keystore.type=PEM\nssl.keystore.location={folder / 'key.pem'}\n"
            "listener.name.in.sasl.enabled.mechanisms=SCRAM-SHA-512\n"
            "listener.name.in.scram-sha-512.sasl.jaas.config="
            "org.apache.kafka.common.security.scram.ScramLoginModule required;\n"
        )
        (folder / "start.sh").write_text(
            f"echo $$ > broker.pid; exec {sys.executable} -m reference_impl.host --nodes 1"
            f" --data {folder / 'data'} --config-file server.properties\n"
        )

    def describe(self, client: str = FILE, name: str = "touchstone.toml") -> Path:
        """Write the file that describes the cluster."""
        file = self.folder / name
        file.write_text(
            "[client]\n"
            'security.protocol = "SASL_SSL"\nssl.ca.location = "ca.pem"\n'
            'sasl.mechanism = "SCRAM-SHA-512"\nsasl.username = "alice"\n'
            f"{client}\n"
            "[[node]]\n"
            f'address = "127.0.0.1:{self.port}"\nstart = "sh start.sh"\npid_file = "broker.pid"\n'
        )
        return file

    def add_alice(self) -> None:
        bootstrap = f"127.0.0.1:{self.admin}"
        wire = Wire(bootstrap, advertised_versions(bootstrap))
        try:
            row = upsertion("alice", "SCRAM-SHA-512", PASSWORD)
            answer = wire.call("AlterUserScramCredentials", upsertions=[row])
            assert set(errors_by_user(answer).values()) == {0}
        finally:
            wire.close()


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owner]:
    """Provide a running broker that lets alice in, and a file that describes it."""
    folder = tmp_path_factory.mktemp("owner")
    made = Owner(folder)
    plain = folder / "admin.toml"
    plain.write_text(
        f'[[node]]\naddress = "127.0.0.1:{made.admin}"\nstart = "sh start.sh"\n'
        'pid_file = "broker.pid"\n'
    )
    running = parse_target(str(plain)).start(folder / "keeper")
    made.add_alice()
    made.describe()
    eventually(
        lambda: probe.listens(f"127.0.0.1:{made.port}", 1.0), bool, "the listener of clients"
    )
    yield made
    running.stop()


@pytest.fixture
def cluster(owner: Owner, tmp_path: Path) -> Iterator[Cluster]:
    started = parse_target(str(owner.folder / "touchstone.toml")).start(tmp_path)
    yield started
    started.stop()


@pytest.mark.parametrize(
    "factory",
    [
        ConfluentFactory,
        ReferenceFactory,
        pytest.param(JavaFactory, marks=pytest.mark.needs("java", "kafka-jars")),
    ],
)
def test_every_client_gets_in(factory: type[ConfluentFactory], cluster: Cluster) -> None:
    topic = f"t-{factory.__name__}"
    admin = Admin(REAL_WORLD, cluster.bootstrap)
    REAL_WORLD.run(admin.create_topics([TopicSpec(topic, 1)], 1, WAIT_S))
    admin.close()
    made: ClientFactory = factory(REAL_WORLD, NONCE)
    sender = made(cluster.bootstrap, 0, ClientSettings(acks=-1))
    sent = REAL_WORLD.run(sender.perform(Send(topic, 0, (1, 2, 3))))
    REAL_WORLD.run(sender.close())
    assert sent.outcome is Outcome.OK, (sent.error, sent.detail)
    for reader in (made, RawFactory(REAL_WORLD, NONCE)):
        client = reader(cluster.bootstrap, 1, ClientSettings())
        whole = REAL_WORLD.run(
            client.perform(ReadAll(((topic, 0),), raw=isinstance(reader, RawFactory)))
        )
        REAL_WORLD.run(client.close())
        assert [record.value for record in whole.records if record.value] == [1, 2, 3]


def test_it_is_killed_and_comes_back(cluster: Cluster) -> None:
    assert cluster.perform(Kill(1)).nodes == (1,)
    assert not cluster.alive()
    cluster.perform(Heal())
    deadline = time.monotonic() + WAIT_S
    while not cluster.alive() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert cluster.alive()


def test_a_run_tells_no_secret(owner: Owner, tmp_path: Path) -> None:
    """The owner's command prints the password, and the broker's log has it."""
    (owner.folder / "shown.log").write_text(f"alice logs in with {PASSWORD}\n")
    file = owner.describe('sasl.password.command = "cat password"', "shown.toml")
    file.write_text(file.read_text() + 'log = "shown.log"\n')
    scenario = Scenario(str(file), "appends", "kill-leader", 1, 4.0, seed=1)
    result = run(scenario, tmp_path, progress=False)
    assert result.counts["records_acknowledged"] > 0
    assert not result.problems
    kept = [path for path in result.directory.rglob("*") if path.is_file()]
    assert [path.name for path in kept if path.name == "shown.log"]
    told = PASSWORD.encode(), json.dumps(PASSWORD)[1:-1].encode()
    assert not [path for path in kept for text in told if text in path.read_bytes()]


def test_a_guest_touches_nothing_of_others_and_leaves_nothing(owner: Owner, tmp_path: Path) -> None:
    """The owner has topics of the names that the workload and the storm would take."""
    theirs = {"appends", *(f"storm-{number}" for number in range(1, 200))}
    admin = Admin(REAL_WORLD, f"127.0.0.1:{owner.admin}")
    REAL_WORLD.run(admin.create_topics([TopicSpec(name, 1) for name in sorted(theirs)], 1, WAIT_S))
    ids = REAL_WORLD.run(admin.topic_ids())
    for seed in (1, 2):
        scenario = Scenario(str(owner.describe()), "appends", "admin-storm", 1, 3.0, seed)
        result = run(scenario, tmp_path, progress=False)
        assert result.counts["records_acknowledged"] > 0
        assert not result.problems
    assert REAL_WORLD.run(admin.topic_ids()) == ids
    admin.close()


@pytest.mark.parametrize(
    ("client", "said"),
    [
        ('sasl.password = "wrong"', "user 'alice' is refused by SCRAM-SHA-512"),
        ('sasl.password.env = "TOUCHSTONE_NO_SUCH"', r"sasl.password.env = .* is not set"),
        ('sasl.password.command = "false"', "the command 'false' ended with status 1"),
        ('sasl.password.command = "no-such"', "the command 'no-such' cannot be run"),
    ],
)
def test_a_password_that_is_wrong_or_not_to_be_had_is_one_sentence_at_once(
    client: str, said: str, owner: Owner, tmp_path: Path
) -> None:
    file = owner.describe(client, "wrong.toml")
    began = time.monotonic()
    with pytest.raises(TargetError, match=said) as refused:
        parse_target(str(file)).start(tmp_path)
    assert str(refused.value).startswith(str(file))
    assert "\n" not in str(refused.value)
    assert time.monotonic() - began < WAIT_S / 2


def test_a_certificate_that_nobody_vouches_for_is_told(owner: Owner, tmp_path: Path) -> None:
    file = owner.describe(name="untrusted.toml")
    file.write_text(file.read_text().replace('ssl.ca.location = "ca.pem"\n', ""))
    with pytest.raises(TargetError, match=r"not trusted .*; give the certificates that signed it"):
        parse_target(str(file)).start(tmp_path)


def test_bootstrap_and_client_alone_make_a_cluster(owner: Owner, tmp_path: Path) -> None:
    """The brokers and their ids are asked for."""
    file = owner.describe(name="bare.toml")
    before, _, _ = file.read_text().partition("[[node]]")
    file.write_text(f'bootstrap = "127.0.0.1:{owner.port}"\n{before}')
    target = parse_target(str(file))
    cluster = target.start(tmp_path)
    assert (target.nodes, cluster.alive()) == (1, True)  # type: ignore[attr-defined]
    assert Kill not in target.faults
    cluster.stop()
    assert probe.listens(f"127.0.0.1:{owner.port}", 1.0)
