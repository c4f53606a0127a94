"""Administrators' clients and ACLs: what one writes, all read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import kafka.admin as kafka_python
import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from chaos.targets import parse_target
from chaos.values.protocols import Cluster
from conformance.target.controlled import CONTROLLED
from conformance.target.secured import PASSWORDS
from reference_impl.tests.clients.java_tools import Call, run_tools

PATIENCE_S = 180
ACL_COMMAND = "org.apache.kafka.tools.AclCommand"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a broker with an authorizer, on which unauthenticated clients may do everything."""
    running = parse_target("reference").start(tmp_path_factory.mktemp("acls"), 1, CONTROLLED)
    yield running
    running.stop()


@pytest.fixture
def controlled(cluster: Cluster) -> str:
    """Return where the administrators connect."""
    return cluster.bootstrap


def allow_alice(cluster: Cluster, *grants: tuple[ResourceType, str, AclOperation]) -> None:
    """Grant these to alice."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    bindings = [
        AclBinding(
            resource_type,
            name,
            ResourcePatternType.LITERAL,
            "User:alice",
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for resource_type, name, operation in grants
    ]
    for created in admin.create_acls(bindings).values():
        created.result(PATIENCE_S)


def test_a_client_does_what_it_may_and_nothing_else(cluster: Cluster) -> None:
    alice = {
        "bootstrap.servers": cluster.listeners["SASL"],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": PASSWORDS["alice"],
    }
    errors: list[KafkaError | None] = []

    def produce() -> KafkaError | None:
        producer = Producer(alice)
        producer.produce("ledger", b"entry", on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(PATIENCE_S) == 0
        return errors.pop()

    def consume() -> bytes | KafkaError | None:
        consumer = Consumer(alice | {"group.id": "readers", "auto.offset.reset": "earliest"})
        consumer.subscribe(["ledger"])
        message = consumer.poll(PATIENCE_S)
        consumer.close()
        assert message is not None
        return message.error() or message.value()

    topic, group = (ResourceType.TOPIC, "ledger"), (ResourceType.GROUP, "readers")
    error = produce()
    assert error is not None and error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    allow_alice(cluster, (*topic, AclOperation.WRITE), (*topic, AclOperation.CREATE))
    assert produce() is None
    refused = consume()
    assert isinstance(refused, KafkaError)
    assert refused.code() == KafkaError.GROUP_AUTHORIZATION_FAILED
    allow_alice(cluster, (*group, AclOperation.READ))
    refused = consume()
    assert isinstance(refused, KafkaError)
    assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    allow_alice(cluster, (*topic, AclOperation.READ))
    assert consume() == b"entry"


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


@pytest.mark.needs("jdk", "kafka-jars")
def test_kafka_acls_adds_and_removes_what_a_producer_needs(controlled: str, tmp_path: Path) -> None:
    who = ("--allow-principal", "User:bob", "--producer")
    actions = {
        "add": ("--add", *who),
        "list": ("--list",),
        "remove": ("--remove", "--force", *who),
        "left": ("--list",),
    }
    orders = ("--bootstrap-server", controlled, "--topic", "orders")
    said = run_tools(
        [Call(name, ACL_COMMAND, (*orders, *action)) for name, action in actions.items()], tmp_path
    )
    assert [each.status for each in said.values()] == [0, 0, 0, 0]
    assert "name=orders, patternType=LITERAL" in said["list"].text
    for operation in ("WRITE", "DESCRIBE", "CREATE"):
        entry = f"(principal=User:bob, host=*, operation={operation}, permissionType=ALLOW)"
        assert entry in said["list"].text
    assert "User:bob" not in said["left"].text
