"""Real clients by listeners with SASL and TLS: they sign in, produce, and a group reads it back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from chaos.targets import parse_target
from chaos.values.protocols import Cluster
from conformance.target import certificates
from conformance.target.secured import PASSWORDS, SECURED
from reference_impl.wire.tests.java_oracle import launch

PATIENCE_S = 180
COUNT = 20
VALUES = {f"value {number}".encode() for number in range(COUNT)}
JAVA_SOURCE = Path(__file__).parent / "java" / "Secured.java"
SCRAM_USER, SCRAM_PASSWORD = "ann", "p=e,n c\u00edl"


@dataclass(frozen=True)
class Way:
    """A way to authenticate."""

    listener: str
    protocol: str
    mechanism: str | None = None
    user: str = ""
    password: str = ""


WAYS = (
    Way("SASL", "SASL_PLAINTEXT", "SCRAM-SHA-256", SCRAM_USER, SCRAM_PASSWORD),
    Way("SASL", "SASL_PLAINTEXT", "SCRAM-SHA-512", SCRAM_USER, SCRAM_PASSWORD),
    Way("SASL_TLS", "SASL_SSL", "PLAIN", "alice", PASSWORDS["alice"]),
    Way("TLS", "SSL"),
    Way("BRIEF", "SASL_PLAINTEXT", "PLAIN", "bob", PASSWORDS["bob"]),
)
"""The last one ends sessions after a moment, so that clients authenticate again meanwhile."""
NAMES = [f"{way.protocol} {way.mechanism or ''} {way.listener}" for way in WAYS]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = parse_target("reference").start(tmp_path_factory.mktemp("secured"), 1, SECURED)
    add_scram_user(cluster)
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide the certificate that clients trust."""
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    path.write_text(certificates.for_loopback().chain)
    return path


def add_scram_user(cluster: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    rows = [
        UserScramCredentialUpsertion(
            SCRAM_USER, ScramCredentialInfo(mechanism, 4096), SCRAM_PASSWORD.encode(), b"salt"
        )
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
    ]
    for row in rows:  # librdkafka, as Kafka, takes a user once in a request
        for future in admin.alter_user_scram_credentials([row]).values():
            future.result(PATIENCE_S)
    described: Any = admin.describe_user_scram_credentials([SCRAM_USER])
    infos = described[SCRAM_USER].result(PATIENCE_S).scram_credential_infos
    assert [info.iterations for info in infos] == [4096, 4096]


@pytest.mark.parametrize("way", WAYS, ids=NAMES)
def test_confluent_kafka(secured: Cluster, authority: Path, way: Way) -> None:
    topic = f"confluent-{WAYS.index(way)}"
    settings: dict[str, Any] = {
        "bootstrap.servers": secured.listeners[way.listener],
        "security.protocol": way.protocol,
        "ssl.ca.location": str(authority),
    }
    if way.mechanism:
        settings |= {
            "sasl.mechanism": way.mechanism,
            "sasl.username": way.user,
            "sasl.password": way.password,
        }
    producer = confluent_kafka.Producer(settings | {"enable.idempotence": True})
    for value in VALUES:
        producer.produce(topic, value)
    assert producer.flush(PATIENCE_S) == 0
    consumer = confluent_kafka.Consumer(
        settings | {"group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < COUNT and time.monotonic() < deadline:
        for message in consumer.consume(COUNT, 0.5):
            assert message.error() is None
            found.append(message.value() or b"")
    consumer.close()
    assert (len(found), set(found)) == (COUNT, VALUES)


@pytest.mark.parametrize("way", WAYS, ids=NAMES)
def test_kafka_python(secured: Cluster, authority: Path, way: Way) -> None:
    topic = f"kafka-python-{WAYS.index(way)}"
    settings: dict[str, Any] = {
        "bootstrap_servers": secured.listeners[way.listener],
        "security_protocol": way.protocol,
        "ssl_cafile": str(authority),
        "sasl_mechanism": way.mechanism,
        "sasl_plain_username": way.user or None,
        "sasl_plain_password": way.password or None,
    }
    producer = kafka.KafkaProducer(acks="all", **settings)
    for future in [producer.send(topic, value) for value in VALUES]:
        assert future.get(PATIENCE_S).offset >= 0
    producer.close()
    consumer = kafka.KafkaConsumer(
        topic,
        group_id=topic,
        auto_offset_reset="earliest",
        # If it joins before it has the topic's metadata, it gets no partition, and by default looks
        # again after five minutes.
        metadata_max_age_ms=1_000,
        **settings,
    )
    found: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < COUNT and time.monotonic() < deadline:
        for records in consumer.poll(500).values():
            found += [record.value for record in records]
    consumer.close()
    assert (len(found), set(found)) == (COUNT, VALUES)


def test_a_client_with_a_wrong_password_is_told_so(secured: Cluster) -> None:
    told: list[Any] = []
    settings: dict[str, Any] = {
        "bootstrap.servers": secured.listeners["SASL"],
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "wrong",
        "error_cb": told.append,
    }
    client = AdminClient(settings)
    deadline = time.monotonic() + PATIENCE_S
    while not told and time.monotonic() < deadline:
        client.poll(0.2)
    assert told
    assert told[0].code() == confluent_kafka.KafkaError._AUTHENTICATION
    assert "Invalid username or password" in str(told[0])


@pytest.mark.needs("java", "kafka-jars")
def test_java_clients_sign_in_and_administrate(secured: Cluster, authority: Path) -> None:
    listeners = (secured.listeners[name] for name in ("SASL", "SASL_TLS", "BRIEF"))
    printed = launch(JAVA_SOURCE, "4.3.1", secured.bootstrap, *listeners, str(authority))
    said = [line for line in printed.splitlines() if line.startswith("- ")]
    assert said == [
        "- user java: SCRAM_SHA_512 8192",
        "- quota of java: {consumer_byte_rate=2.0E9, producer_byte_rate=1.0E9}",
        "- SCRAM-SHA-512: 20 records",
        "- PLAIN over TLS: 20 records",
        "- sessions that end: 20 records",
        "- wrong password: SaslAuthenticationException",
    ], printed
