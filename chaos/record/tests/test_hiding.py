"""Test that no file of a run contains a secret, and that settings which are not secret are kept."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from chaos.record import hiding, run_directory
from chaos.record.run_directory import Scenario
from chaos.run.runner import run
from chaos.targets.clusters.cluster import LocalCluster

JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required"
    ' username="admin" password="adm1n-pw" user_alice="al1ce-pw";'
)
KEY = "-----BEGIN PRIVATE KEY-----\nbm90IHJlYWxseSBhIGtleQ==\n-----END PRIVATE KEY-----\n"
SETTINGS = {
    "listener.name.sasl.plain.sasl.jaas.config": JAAS,
    "ssl.keystore.key": KEY,
    "my.plugin.api-key": "k3y-of-mine",
    "ssl.key.password": "x",
    "num.partitions": "3",
}


@pytest.mark.parametrize(
    "key",
    [
        "ssl.key.password",
        "ssl.keystore.password",
        "ssl.truststore.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "ssl.truststore.certificates",
        "sasl.jaas.config",
        "listener.name.sasl.scram-sha-256.sasl.jaas.config",
        "listener.name.ssl.ssl.key.password",
        "sasl.oauthbearer.client.credentials.client.secret",
        "password.encoder.secret",
        "delegation.token.secret.key",
        "my.plugin.token",
        "s3.access.key",
        "s3_secret",
        "apiKey",
        "vault.passphrase",
        "PASSWORD",
        "basic.auth.credentials",
    ],
)
def test_a_secret_is_known_by_its_name(key: str) -> None:
    assert hiding.is_secret(key)


@pytest.mark.parametrize(
    "key",
    [
        "num.partitions",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "key.serializer",
        "delegation.token.expiry.time.ms",
        "sasl.oauthbearer.token.endpoint.url",
        "log.dirs",
        "sasl.enabled.mechanisms",
        "ssl.truststore.location",
        "keystone",
        "broker.rack",
    ],
)
def test_what_is_no_secret_is_told(key: str) -> None:
    assert not hiding.is_secret(key)


def test_no_secret_is_in_what_a_run_tells(tmp_path: Path) -> None:
    typed = [f"--config={key}={value}" for key, value in SETTINGS.items()]
    argv = [
        "chaos",
        "run",
        *(word for pair in SETTINGS.items() for word in ("--config", "=".join(pair))),
    ]
    for scenario in (
        Scenario("reference", "appends", "none", 1, 1, 1, SETTINGS),
        Scenario("reference", "appends", "none", 1, 1, 1, SETTINGS, typed=tuple(typed)),
    ):
        facts = run_directory.first_facts(tmp_path, scenario, (), argv)
        facts["problems"] = ["node 1 ended: al1ce-pw is no password, nor is adm1n-pw"]
        facts = hiding.scrubbed(facts, hiding.secrets_of(SETTINGS))
        text = json.dumps(facts)
        for secret in (JAAS, "adm1n-pw", "al1ce-pw", "bm90", "k3y-of-mine", "password=x"):
            assert json.dumps(secret)[1:-1] not in text, secret
        assert facts["config"]["num.partitions"] == "3"
        assert facts["config"]["ssl.key.password"] == hiding.HIDDEN
        words = shlex.split(facts["reproduce"])
        assert any(word.endswith("num.partitions=3") for word in words)
        assert any(word.endswith("my.plugin.api-key=[hidden]") for word in words)


def test_a_file_of_settings_is_named_instead_of_what_it_says() -> None:
    typed = ("--config-file", "my settings", "--config", "ssl.key.password=x")
    scenario = Scenario("reference", "appends", "none", 1, 1, 1, SETTINGS, typed=typed)
    words = shlex.split(scenario.command())
    assert words[-4:] == ["--config-file", "my settings", "--config", "ssl.key.password=[hidden]"]


def test_no_secret_is_left_in_the_files_that_are_kept(tmp_path: Path) -> None:
    from reference_impl.host.settings.properties import write_private

    properties, log = tmp_path / "1" / "server.properties", tmp_path / "1" / "node.log"
    write_private(properties, SETTINGS)
    assert properties.stat().st_mode & 0o777 == 0o600
    log.write_text(f"alice sent al1ce-pw\nnum.partitions = 3, {KEY!r}\nusername admin\n")
    hiding.scrub_files(tmp_path, SETTINGS)
    text = properties.read_text() + log.read_text()
    for secret in ("adm1n-pw", "al1ce-pw", "bm90", "k3y-of-mine", "ssl.key.password=x"):
        assert secret not in text, secret
    assert "num.partitions=3" in text and "alice sent [hidden]" in text and "admin" in text


def test_without_secrets_no_file_is_touched(tmp_path: Path) -> None:
    (tmp_path / "node.log").write_text("password")
    before = (tmp_path / "node.log").stat().st_mtime_ns
    hiding.scrub_files(tmp_path, {"num.partitions": "3"})
    assert (tmp_path / "node.log").stat().st_mtime_ns == before


def test_no_secret_is_in_a_run_directory_or_in_the_arguments_of_a_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def listed(self: LocalCluster, into: Path) -> None:
        (member,) = self.members()
        assert member.child is not None
        seen.append(Path(f"/proc/{member.child.pid}/cmdline").read_text())
        collect(self, into)

    collect = LocalCluster.collect
    monkeypatch.setattr(LocalCluster, "collect", listed)
    secret = "n0t-to-be-t0ld"
    config = {"ssl.key.password": secret, "num.partitions": "2"}
    made = run(
        Scenario("reference", "appends", "none", 1, 1.0, 1, config),
        tmp_path,
        progress=False,
        argv=["--config", f"ssl.key.password={secret}"],
    )
    assert len(seen) == 1 and "--config-file" in seen[0] and secret not in seen[0]
    kept = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"run.json", "server.properties", "node.log", "history.parquet"} <= set(kept)
    assert [name for name, content in kept.items() if secret.encode() in content] == []
    assert b"ssl.key.password=[hidden]" in kept["server.properties"]
    assert "ssl.key.password=[hidden]" in made.reproduce
