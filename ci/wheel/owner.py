"""Own an Apache Kafka cluster with SASL_SSL that a user with nothing but the wheel may attack.

The cluster runs in this process's children, with Java. The user's commands (`python owner.py kill
1`) only ask this process, as an owner's commands ask the machines of a cluster.
"""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaos.targets.apache import ApacheKafka
from chaos.targets.clusters.cluster import LocalCluster
from chaos.values.protocols import TargetError
from conformance.cases.security.secured_wire import errors_by_user, upsertion
from conformance.target import certificates
from conformance.target.examination import advertised_versions
from conformance.wire import Wire

USER, PASSWORD, MECHANISM = "alice", "what alice knows", "SCRAM-SHA-512"
STOP_S = 60.0
SECURED = {
    "listeners": "IN://127.0.0.1:0",
    "listener.security.protocol.map": "IN:SASL_SSL",
    "listener.name.in.sasl.enabled.mechanisms": MECHANISM,
    "listener.name.in.scram-sha-512.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
    "listener.name.in.ssl.keystore.type": "PEM",
    "listener.name.in.ssl.keystore.key": certificates.for_loopback().key,
    "listener.name.in.ssl.keystore.certificate.chain": certificates.for_loopback().chain,
    "transactional.id.expiration.ms": "60000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "5000",
}
"""The settings of the cluster. Kafka has no request that removes a transactional id, so they expire
soon here."""
ASKING = """\
import socket, sys
with socket.create_connection(("127.0.0.1", {port}), 120) as owner:
    owner.sendall(" ".join(sys.argv[1:]).encode() + b"\\n")
    answer = owner.makefile().readline().strip()
sys.exit(0 if answer == "done" else answer or "the owner did not answer")
"""


class Owner:
    """The owner of a running cluster, who does what the user's commands ask for."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self.wire = Wire(cluster.bootstrap, advertised_versions(cluster.bootstrap))

    def perform(self, what: str, number: int) -> None:
        """Start, stop or kill (`what`) the node with this number; stopping one that does not run
        does nothing. Raise TargetError if a node does not start."""
        [member] = [each for each in self.cluster.members() if each.number == number]
        if what == "start":
            member.start()
        elif member.child is not None:
            member.child.kill() if what == "kill" else member.child.end(STOP_S)

    def admit_user(self) -> None:
        row = upsertion(USER, MECHANISM, PASSWORD)
        answer = self.wire.call("AlterUserScramCredentials", upsertions=[row])
        if any(errors_by_user(answer).values()):
            raise TargetError(f"the cluster does not take the user {USER}: {answer}")

    def describe(self, folder: Path, port: int) -> None:
        """Write what the user gets: touchstone.toml, the CA certificates, a password, a program
        that asks the owner."""
        (folder / "ca.pem").write_text(certificates.for_loopback().chain)
        (folder / "password").write_text(PASSWORD)
        (folder / "owner.py").write_text(ASKING.format(port=port))
        lines = [
            "[client]",
            'security.protocol = "SASL_SSL"',
            'ssl.ca.location = "ca.pem"',
            f'sasl.mechanism = "{MECHANISM}"',
            f'sasl.username = "{USER}"',
            'sasl.password.file = "password"',
        ]
        where = self.cluster.listeners["IN"].split(",")
        for member, address in zip(self.cluster.members(), where, strict=True):
            lines += ["[[node]]", f'address = "{address}"']
            lines += [
                f'{what} = "python owner.py {what} {member.number}"'
                for what in ("start", "stop", "kill")
            ]
        (folder / "touchstone.toml").write_text("\n".join([*lines, ""]))

    def has(self) -> set[str]:
        """Return the topics, groups, transactional ids and users that the cluster has."""
        self.wire.forget_connections()
        call = self.wire.call
        found = {
            f"topic {t.name}" for t in call("Metadata", topics=None).topics if not t.is_internal
        }
        users = call("DescribeUserScramCredentials", users=None).results
        found |= {f"user {user.user}" for user in users}
        for broker in self.wire.everywhere():
            groups = broker.call("ListGroups", self.wire.version("ListGroups")).groups
            listed = broker.call("ListTransactions", self.wire.version("ListTransactions"))
            ids = [each.transactional_id for each in listed.transaction_states]
            found |= {f"group {group.group_id}" for group in groups}
            found |= {f"transactional id {each}" for each in ids}
        return found


class _Handler(socketserver.StreamRequestHandler):
    """Serves one command of the user."""

    def handle(self) -> None:
        what, number = self.rfile.readline().decode().split()
        owner: Owner = self.server.owner  # type: ignore[attr-defined]
        try:
            owner.perform(what, int(number))
        except TargetError as error:
            self.wfile.write(f"{error}\n".encode())
        else:
            self.wfile.write(b"done\n")


@contextmanager
def owned(directory: Path, folder: Path, nodes: int) -> Iterator[Owner]:
    """Run a cluster during the `with` block, describe it in the user's folder, and yield its owner,
    who also serves the user's commands. directory: the place for the cluster's own files."""
    cluster = ApacheKafka().start(directory, nodes, SECURED)
    assert isinstance(cluster, LocalCluster)
    try:
        owner = Owner(cluster)
        owner.admit_user()
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Handler) as server:
            server.owner = owner  # type: ignore[attr-defined]
            threading.Thread(target=server.serve_forever, daemon=True).start()
            owner.describe(folder, server.server_address[1])
            try:
                yield owner
            finally:
                server.shutdown()
                owner.wire.close()
    finally:
        cluster.stop()
