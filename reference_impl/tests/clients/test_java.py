"""Apache's own Java clients against the broker."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "java" / "Smoke.java"
ROOT = Path(__file__).resolve().parents[3]
JARS = ROOT / ".cache" / "kafka" / "4.3.1"
PATIENCE_S = 240
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.mark.needs("java", "kafka-jars")
def test_java_clients_produce_and_consume_with_each_codec(bootstrap: str) -> None:
    done = subprocess.run(
        ["java", "-Xmx256m", "-cp", f"{JARS}/*", str(SOURCE), bootstrap],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    said = [line for line in done.stdout.splitlines() if line.split()[0] in ("admin", *CODECS)]
    assert said == [
        "admin 3 partitions, 33 keys, 1 node",
        *(f"{codec} true" for codec in CODECS),
    ], done.stdout + done.stderr
