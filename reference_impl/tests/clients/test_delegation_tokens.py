"""Apache's own tool makes a delegation token; Apache's clients come in by it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.targets import parse_target
from chaos.values.protocols import Cluster
from conformance.target.controlled import CONTROLLED
from conformance.target.secured import PASSWORDS
from reference_impl.tests.clients.java_tools import Call, Said, run_tools
from reference_impl.wire.tests.java_oracle import launch

pytestmark = pytest.mark.needs("jdk", "kafka-jars")
MODULES = "org.apache.kafka.common.security"
TOOL = "org.apache.kafka.tools.DelegationTokenCommand"
DUMP = Path(__file__).resolve().parents[2] / "core" / "tests" / "java" / "DumpOracle.java"
SUPER = {"super.users": "User:ANONYMOUS;User:alice"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    running = parse_target("reference").start(tmp_path / "broker", 1, CONTROLLED | SUPER)
    yield running
    running.stop()


def properties(path: Path, mechanism: str, login: str) -> tuple[str, ...]:
    """Write a client's settings; return the arguments of a tool that reads them."""
    path.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={login}\n"
    )
    return ("--command-config", str(path))


def managed(said: dict[str, Said]) -> tuple[str, str]:
    """Return id and HMAC of the token that the tool shows first after creating it."""
    found = re.search(r"^(\S{20,})\s+(\S{80,})\s", said["create"].text, flags=re.MULTILINE)
    assert found, said["create"].text
    return found[1], found[2]


@pytest.mark.nightly
def test_java(cluster: Cluster, tmp_path: Path) -> None:
    server = ("--bootstrap-server", cluster.listeners["SASL"])
    plain = f'{MODULES}.plain.PlainLoginModule required username="alice"'
    alice = properties(tmp_path / "alice", "PLAIN", f'{plain} password="{PASSWORDS["alice"]}";')
    create = ("--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob")
    said = run_tools([Call("create", TOOL, (*server, *alice, *create))], tmp_path)
    token_id, hmac = managed(said)
    module = f'{MODULES}.scram.ScramLoginModule required username="{token_id}"'
    login = f'{module} password="{hmac}" tokenauth="true";'
    worker = properties(tmp_path / "worker", "SCRAM-SHA-512", login)
    by_token, tools = worker[1], "org.apache.kafka.tools."
    said = run_tools(
        [
            Call(
                "renew",
                TOOL,
                (*server, *alice, "--renew", "--renew-time-period", "1000000", "--hmac", hmac),
            ),
            Call(
                "describe", TOOL, (*server, *alice, "--describe", "--owner-principal", "User:alice")
            ),
            Call(
                "type",
                f"{tools}ConsoleProducer",
                (*server, "--topic", "by-token", "--command-config", by_token),
                ("a", "b"),
            ),
            Call(
                "show",
                f"{tools}consumer.ConsoleConsumer",
                (
                    *server,
                    "--topic",
                    "by-token",
                    "--from-beginning",
                    "--max-messages",
                    "2",
                    "--timeout-ms",
                    "20000",
                    "--command-config",
                    by_token,
                ),
            ),
            Call("forbidden", TOOL, (*server, *worker, "--describe")),
            Call(
                "expire",
                TOOL,
                (*server, *alice, "--expire", "--expiry-time-period", "-1", "--hmac", hmac),
            ),
            Call("gone", TOOL, (*server, *alice, "--describe")),
        ],
        tmp_path,
    )
    text = {name: each.text for name, each in said.items()}
    assert "Completed renew operation" in text["renew"], text["renew"]
    assert token_id in text["describe"]
    assert "User:bob" in text["describe"]
    assert [line for line in said["show"].lines() if line in ("a", "b")] == ["a", "b"], text
    assert "delegation token authenticated channels" in text["forbidden"], text["forbidden"]
    assert "Completed expire operation" in text["expire"], text["expire"]
    assert token_id not in text["gone"]
    cluster.stop()
    dumped = launch(DUMP, "4.3.1", str(next((tmp_path / "broker").rglob("meta.properties")).parent))
    assert "isvalid: false" not in dumped
    assert dumped.count('"type":"DELEGATION_TOKEN_RECORD"') == 2, "made and renewed"
    assert '"type":"REMOVE_DELEGATION_TOKEN_RECORD"' in dumped
    assert hmac not in dumped
