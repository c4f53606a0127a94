"""The cases that need plugins, on an Apache Kafka that has them: one takes in clients' metrics
(KIP-714), one refuses topics (KIP-108)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chaos.targets.apache import ApacheKafka

pytestmark = [pytest.mark.needs("jdk", "kafka-jars"), pytest.mark.nightly]
ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((Path(__file__).parent / "java").glob("*.java"))
SETTINGS = {"metric.reporters": "MetricsReceiver", "create.topic.policy.class.name": "TopicPolicy"}
CASES = ("conformance/cases/quotas/test_telemetry.py", "conformance/cases/admin/test_policies.py")
PATIENCE_S = 300


class WithPlugins(ApacheKafka):
    """Apache Kafka with our plugins on its class path."""

    def __init__(self, classes: Path) -> None:
        super().__init__()
        self.classes = classes

    def jars(self) -> list[Path]:
        return [*super().jars(), self.classes]


def test_apache_kafka_passes(tmp_path: Path) -> None:
    classes = tmp_path / "classes"
    target = WithPlugins(classes)
    compiler = ["javac", "-cp", ":".join(map(str, target.jars())), "-d", str(classes)]
    subprocess.run([*compiler, *map(str, SOURCES)], check=True, timeout=PATIENCE_S)
    cluster = target.start(tmp_path / "broker", 1, SETTINGS)
    try:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                *CASES,
                "-q",
                "-p",
                "no:cacheprovider",
                "--bootstrap",
                cluster.bootstrap,
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    finally:
        cluster.stop()
    assert ", 0 failed, 0 unsupported" in done.stdout, done.stdout + done.stderr
