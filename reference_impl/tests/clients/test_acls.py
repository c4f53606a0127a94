"""Administrators' clients and ACLs: what one writes, all read."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import kafka.admin as kafka_python
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from reference_impl.core.broker_configs import STANDARD_AUTHORIZER
from reference_impl.host.tests.process import BrokerProcess

ROOT = Path(__file__).resolve().parents[3]
JARS = ROOT / ".cache" / "kafka" / "4.3.1"
PATIENCE_S = 240


@pytest.fixture(scope="module")
def controlled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker with an authorizer, on which whoever does not sign in may do everything."""
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
    options = [part for pair in settings.items() for part in ("--config", "=".join(pair))]
    with BrokerProcess(tmp_path_factory.mktemp("acls") / "data", *options) as broker:
        yield broker.bootstrap
        assert broker.stop() == 0


def test_what_kafka_python_creates_confluent_describes_and_deletes(controlled: str) -> None:
    admin = kafka_python.KafkaAdminClient(bootstrap_servers=controlled)
    created = admin.create_acls(
        [
            kafka_python.ACL(
                principal="User:alice",
                host="*",
                operation=kafka_python.ACLOperation.READ,
                permission_type=kafka_python.ACLPermissionType.ALLOW,
                resource_pattern=kafka_python.ResourcePattern(
                    kafka_python.ResourceType.TOPIC,
                    "ord",
                    kafka_python.ACLResourcePatternType.PREFIXED,
                ),
            )
        ]
    )
    admin.close()
    assert (len(created["succeeded"]), created["failed"]) == (1, [])

    other = AdminClient({"bootstrap.servers": controlled})
    meant = AclBindingFilter(
        ResourceType.TOPIC,
        "orders",
        ResourcePatternType.MATCH,
        None,  # type: ignore[arg-type]  # every principal
        None,  # type: ignore[arg-type]  # every host
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    (found,) = other.describe_acls(meant).result(PATIENCE_S)
    assert (found.name, found.principal, found.host) == ("ord", "User:alice", "*")
    assert found.operation is AclOperation.READ
    (gone,) = other.delete_acls([meant])[meant].result(PATIENCE_S)
    assert gone == found
    assert other.describe_acls(meant).result(PATIENCE_S) == []


@pytest.mark.needs("java", "kafka-jars")
def test_kafka_acls_adds_and_removes_what_a_producer_needs(controlled: str) -> None:
    def run(*arguments: str) -> str:
        command = ["java", "-Xmx128m", "-cp", f"{JARS}/*", "org.apache.kafka.tools.AclCommand"]
        done = subprocess.run(
            [*command, "--bootstrap-server", controlled, "--topic", "orders", *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    who = ("--allow-principal", "User:bob", "--producer")
    run("--add", *who)
    listed = run("--list")
    assert "name=orders, patternType=LITERAL" in listed
    for operation in ("WRITE", "DESCRIBE", "CREATE"):
        entry = f"(principal=User:bob, host=*, operation={operation}, permissionType=ALLOW)"
        assert entry in listed
    run("--remove", "--force", *who)
    assert "User:bob" not in run("--list")
