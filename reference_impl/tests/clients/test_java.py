"""Apache's own Java clients against the broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_impl.wire.tests.java_oracle import launch

SOURCE = Path(__file__).parent / "java" / "Smoke.java"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.mark.needs("java", "kafka-jars")
def test_java_clients_produce_and_consume_with_each_codec(bootstrap: str, nodes: int) -> None:
    printed = launch(SOURCE, "4.3.1", bootstrap)
    said = [line for line in printed.splitlines() if line.split()[0] in ("admin", *CODECS)]
    assert said == [
        f"admin 3 partitions, 33 keys, nodes: {nodes}",
        *(f"{codec} true" for codec in CODECS),
    ], printed
