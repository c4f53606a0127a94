"""franz-go (Go), KafkaJS (JavaScript) and Spark's connector against the broker, a program each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CACHE = HERE.parents[2] / ".cache"
PATIENCE_S = 180


def said_by(*command: str, **environment: str) -> list[str]:
    """Run a program, require that it succeeds, and return the lines that it prints."""
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.needs("franz-go")
def test_franz_go(bootstrap: str) -> None:
    """Admin, each codec, groups of both protocols, and a transform exactly once; 50 is what each
    group has committed."""
    assert said_by(str(CACHE / "bin" / "franzgo-smoke"), bootstrap) == [
        "admin 3 partitions, retention 3600000",
        "codec none 50",
        "codec gzip 50",
        "codec snappy 50",
        "codec lz4 50",
        "codec zstd 50",
        "group Stable uniform 1 50",
        "exactly once true 50",
    ]


@pytest.mark.needs("kafkajs")
def test_kafkajs(bootstrap: str) -> None:
    """The same, with the codecs that need no compiler, and the one protocol of groups it knows."""
    script = HERE / "javascript" / "smoke.js"
    modules = str(CACHE / "node" / "node_modules")
    assert said_by("node", str(script), bootstrap, NODE_PATH=modules) == [
        "admin 3 partitions, retention 3600000",
        "codec none true 50",
        "codec gzip true 50",
        "codec snappy true 50",
        "exactly once true 50",
    ]


@pytest.mark.nightly  # most of a minute, for a client that is Java's inside
@pytest.mark.needs("spark", "spark-kafka")
def test_spark(bootstrap: str) -> None:
    """Batch queries with each codec, and a streaming query that goes on where it ended."""
    script, jars = HERE / "spark_smoke.py", CACHE / "spark-kafka"
    assert said_by(sys.executable, str(script), bootstrap, str(jars)) == [
        "codec none True",
        "codec gzip True",
        "codec snappy True",
        "codec lz4 True",
        "codec zstd True",
        "stream True",
    ]
