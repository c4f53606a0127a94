"""Three nodes that talk to each other by TLS, or by TLS and SASL, also when one of them is killed.

They share one certificate. The client of the tests is the reference client with the same access.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from conformance.target import certificates
from reference_impl.access import Access, AccessError, Bootstrap, Endpoint, connect
from reference_impl.access.scram import salted
from reference_impl.core.security.listener_settings import PLAIN_MODULE, SCRAM_MODULE
from reference_impl.host.clients import Consumer, Producer
from reference_impl.host.settings import properties
from reference_impl.host.tests.test_several_nodes import COMMAND, children_of, running, wait_until
from reference_impl.robustness.process import PATIENCE_S
from reference_impl.wire import (
    ApiKey,
    ErrorCode,
    FrameReader,
    Struct,
    decode_response,
    encode_request,
    request_definition,
)

TOPIC, COUNT = "secured", 10
CONTROLLERS = "listener.name.controller"
QUICK = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}
AUTHORIZED = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}


@dataclass(frozen=True)
class Nodes:
    """The running nodes, with the access of a client."""

    by_address: Mapping[str, int]
    """Address -> process."""
    access: Access
    directory: Path

    @property
    def bootstrap(self) -> Bootstrap:
        return Bootstrap(",".join(self.by_address), self.access)

    def ask(
        self, api: ApiKey, version: int, address: str | None = None, **fields: object
    ) -> Struct:
        """Send one request to the node at this address, by default the first that runs. Raise
        OSError if it gives no access or no answer."""
        host, _, port = (address or next(iter(self.by_address))).rpartition(":")
        with connect(Endpoint(host, int(port), self.access), PATIENCE_S) as connection:
            body = request_definition(api).new(**fields)
            connection.sendall(encode_request(api, version, 1, "test", body))
            reader = FrameReader()
            while data := connection.recv(1 << 16):
                if frames := reader.feed(data):
                    return decode_response(frames[0], api, version)[1]
        raise ConnectionResetError("the node has closed the connection")

    def leader(self) -> tuple[str, list[int]]:
        """Return the address of the leader of the topic, and the replicas that are in sync."""
        of = request_definition(ApiKey.METADATA)
        rows = [of.struct("MetadataRequestTopic", name=TOPIC)]
        told = self.ask(ApiKey.METADATA, 9, topics=rows, allow_auto_topic_creation=False)
        partition = told.topics[0].partitions[0]
        where = {broker.node_id: f"{broker.host}:{broker.port}" for broker in told.brokers}
        return where[partition.leader_id], partition.isr_nodes

    def kill_leader(self) -> Nodes:
        """Kill the leader, and return the others."""
        address, _ = self.leader()
        os.kill(self.by_address[address], signal.SIGKILL)
        rest = {each: pid for each, pid in self.by_address.items() if each != address}
        return replace(self, by_address=rest)

    def logs(self) -> str:
        return "".join(file.read_text() for file in sorted(self.directory.glob("*.log")))


@contextmanager
def three_nodes(directory: Path, access: Access, settings: Mapping[str, str]) -> Iterator[Nodes]:
    """Run three nodes with these settings, until their cluster is whole."""
    options = [word for pair in settings.items() for word in ("--config", "=".join(pair))]
    with running(directory, "--nodes", "3", "--port", "0", *options) as (parent, addresses):
        processes = dict(zip(addresses, children_of(parent.pid), strict=True))
        nodes = Nodes(processes, access, directory)
        wait_until(
            lambda: len(nodes.ask(ApiKey.METADATA, 9, topics=[]).brokers) == 3,
            "the nodes do not become one cluster",
        )
        yield nodes
        parent.terminate()
        assert parent.wait(PATIENCE_S) == 0


async def write(nodes: Nodes, name: str) -> None:
    """Write COUNT records in one transaction."""
    settings = {"acks": "all", "transactional.id": name}
    async with Producer(nodes.bootstrap, settings) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        sent = [producer.send(TOPIC, f"{name} {number}".encode()) for number in range(COUNT)]
        await asyncio.gather(*sent)
        await producer.commit_transaction()


async def read(nodes: Nodes, count: int) -> list[str]:
    """Return the values of the first `count` committed records, read by a member of a group."""
    settings = {
        "group.id": "readers",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    }
    found: list[str] = []
    async with Consumer(nodes.bootstrap, settings) as consumer:
        await consumer.subscribe([TOPIC])
        async with asyncio.timeout(PATIENCE_S):
            while len(found) < count:
                records = await consumer.poll(500)
                found += [bytes(record.value or b"").decode() for record in records]
    return found


def expect_fail_over(nodes: Nodes) -> None:
    """Write on, with all nodes and without the leader, and read everything back."""
    asyncio.run(write(nodes, "before"))
    wait_until(lambda: len(nodes.leader()[1]) == 3, "the followers do not keep up")
    rest = nodes.kill_leader()
    asyncio.run(write(rest, "after"))
    values = [f"{name} {number}" for name in ("before", "after") for number in range(COUNT)]
    assert asyncio.run(read(rest, len(values))) == values


def tls_settings(directory: Path) -> tuple[dict[str, str], Path]:
    """Write a certificate that trusts itself, and return the settings of TLS with it, and the file
    with certificate and key."""
    certificate = certificates.for_loopback()
    directory.mkdir(exist_ok=True)
    file = directory / "node.pem"
    file.write_text(certificate.key + certificate.chain)
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(file),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(file),
    }, file


def with_certificates(directory: Path) -> tuple[dict[str, str], Access]:
    """Return the settings of nodes that know each other by certificates, and a client's access."""
    tls, file = tls_settings(directory)
    settings = {
        **(QUICK | AUTHORIZED | tls),
        "security.inter.broker.protocol": "SSL",
        "listener.security.protocol.map": "SSL:SSL,CONTROLLER:SSL",
        "ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/node-$1/",
        "super.users": "User:node-localhost",
    }
    return settings, Access("SSL", ca=file, certificate=file)


def with_passwords(directory: Path) -> tuple[dict[str, str], Access]:
    """Return the settings of nodes that log in to brokers by SCRAM and to controllers by PLAIN, and
    the access of a client that logs in by PLAIN."""
    tls, file = tls_settings(directory)
    login = 'username="node" password="secret"'
    users = 'user_node="secret" user_admin="root" user_guest="guest"'
    internal = "listener.name.internal"
    settings = {
        **(QUICK | AUTHORIZED | tls),
        "inter.broker.listener.name": "INTERNAL",
        "listener.security.protocol.map": "INTERNAL:SASL_SSL,CONTROLLER:SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        f"{internal}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
        "sasl.mechanism.controller.protocol": "PLAIN",
        f"{internal}.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required {login};",
        f"{internal}.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {users};",
        f"{CONTROLLERS}.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {login} {users};",
        f"{CONTROLLERS}.plain.connections.max.reauth.ms": "3000",
        "super.users": "User:node;User:admin",
    }
    return settings, Access("SASL_SSL", "PLAIN", "admin", "root", ca=file)


@pytest.mark.nightly  # the other one, with SASL on top of TLS, is in `make test`
def test_nodes_with_certificates_go_on_without_a_leader_that_is_killed(tmp_path: Path) -> None:
    settings, access = with_certificates(tmp_path / "keys")
    with three_nodes(tmp_path / "data", access, settings) as nodes:
        stranger = replace(nodes, access=Access("SSL", ca=access.ca))
        with pytest.raises((AccessError, OSError)):
            stranger.ask(ApiKey.METADATA, 9, topics=[])
        expect_fail_over(nodes)
        assert "peer did not return a certificate" in nodes.logs()
        assert "no access" not in nodes.logs()


def test_brokers_log_in_by_scram_as_soon_as_they_may(tmp_path: Path) -> None:
    """Brokers have no credential at first: the cluster is whole by its controllers, to which they
    log in by PLAIN."""
    settings, access = with_passwords(tmp_path / "keys")
    with three_nodes(tmp_path / "data", access, settings) as nodes:
        create_topic(nodes)
        wait_until(
            lambda: "user 'node' is refused by SCRAM-SHA-256" in nodes.logs(),
            "no log tells that brokers cannot log in to each other",
        )
        add_credential(nodes, "node", "secret")
        guest = f'{PLAIN_MODULE} required username="guest" password="guest";'
        expect_refusal(nodes, {f"{CONTROLLERS}.plain.sasl.jaas.config": guest})
        expect_fail_over(nodes)


def expect_refusal(nodes: Nodes, settings: Mapping[str, str]) -> None:
    """Start a fourth node as a user that may not act as a node of the cluster, and wait until its
    log tells that it is refused."""
    number, directory = 4, nodes.directory / "4"
    file = nodes.directory / f"{number}.properties"
    given = properties.read(nodes.directory / "1.properties")
    given |= {
        **settings,
        "node.id": str(number),
        "process.roles": "broker",
        "listeners": "INTERNAL://127.0.0.1:0",
        "log.dirs": str(directory),
    }
    properties.write_private(file, given)
    owner = nodes.ask(ApiKey.METADATA, 9, topics=[]).cluster_id
    command = [*COMMAND, "--config-file", str(file), "--cluster-id", owner]
    log = nodes.directory / f"{number}.log"
    with log.open("wb") as stderr, subprocess.Popen(command, stderr=stderr) as process:
        try:
            wait_until(
                lambda: "refuses the requests of node 4: CLUSTER_AUTHORIZATION" in log.read_text(),
                "the node of a guest is not refused",
            )
        finally:
            process.kill()


def create_topic(nodes: Nodes) -> None:
    """Create the topic, on whichever node, so that followers begin to fetch."""
    of = request_definition(ApiKey.CREATE_TOPICS)
    row = of.struct("CreatableTopic", name=TOPIC, num_partitions=1, replication_factor=3)
    expect_success(
        lambda: nodes.ask(ApiKey.CREATE_TOPICS, 7, topics=[row], timeout_ms=10_000).topics
    )


def add_credential(nodes: Nodes, user: str, password: str) -> None:
    of = request_definition(ApiKey.ALTER_USER_SCRAM_CREDENTIALS)
    row = of.struct(
        "ScramCredentialUpsertion",
        name=user,
        mechanism=1,
        iterations=4096,
        salt=b"salt",
        salted_password=salted("SCRAM-SHA-256", password, b"salt", 4096),
    )
    expect_success(
        lambda: (
            nodes.ask(
                ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, deletions=[], upsertions=[row]
            ).results
        )
    )


def expect_success(rows: Callable[[], list[Struct]]) -> None:
    assert [row.error_code for row in rows()] == [ErrorCode.NONE]
