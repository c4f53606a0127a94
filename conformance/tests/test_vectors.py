"""Our codec reads and writes every golden vector, and the reader refuses broken files."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.vectors import reader
from conformance.vectors.reader import FORMAT, Vector, vectors
from reference_impl.wire import (
    API_NAMES,
    api_keys,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    request_definition,
)

FILE = Path(__file__).parents[2] / "docs" / "vectors" / "kafka-4.3.1.txt"
FOUND = list(vectors(FILE))
BY_API = {api: [v for v in FOUND if v.api == api] for api in dict.fromkeys(v.api for v in FOUND)}


@pytest.mark.parametrize("api", BY_API)
def test_each_vector_is_read_and_written_byte_for_byte(api: str) -> None:
    for vector in BY_API[api]:
        header, body = decode_request(vector.request)
        assert (header.api_key, header.api_version) == (vector.api_key, vector.version)
        again = encode_request(
            header.api_key, header.api_version, header.correlation_id, header.client_id, body
        )
        assert again[4:] == vector.request, vector.version
        number, answer = decode_response(vector.response, vector.api_key, vector.version)
        written = encode_response(vector.api_key, vector.version, number, answer)
        assert written[4:] == vector.response, vector.version


WITHOUT_VECTOR = {
    "Envelope": "it is sent between nodes, and holds another request",
    "GetTelemetrySubscriptions": "Kafka advertises it only with a plugin that takes metrics",
    "PushTelemetry": "Kafka advertises it only with a plugin that takes metrics",
}
"""API -> the reason why it has no vector."""


def test_every_stable_version_of_every_api_has_a_vector_or_a_reason() -> None:
    recorded = {(vector.api_key, vector.version) for vector in FOUND}
    lacking = {
        API_NAMES[key]
        for key in api_keys()
        for version in request_definition(key).stable_versions
        if (key, version) not in recorded
    }
    assert lacking == WITHOUT_VECTOR.keys()


def test_the_reader_is_short_and_needs_only_python() -> None:
    lines = Path(reader.__file__).read_text().splitlines()
    assert len(lines) <= 100
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    assert not any("reference_impl" in line or "conformance" in line for line in imports)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["something else"], "the first line"),
        ([FORMAT, "Metadata\t1\t00"], "line 2: 3 fields"),
        ([FORMAT, "# a comment", "Metadata\t1\txx\tyy"], "line 3"),
        ([FORMAT, "Metadata\t1\t0003000200000007\t00000007"], "not of version 1"),
        ([FORMAT, "Metadata\t2\t0003000200000007\t00000008"], "correlation id"),
    ],
)
def test_what_is_no_vector_is_refused(lines: list[str], why: str, tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=why):
        list(vectors(file))


def test_a_vector_names_its_key_and_correlation_id(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text(f"{FORMAT}\nMetadata\t2\t0003000200000007ffff00000000\t00000007\n")
    found = Vector("Metadata", 2, bytes.fromhex("0003000200000007ffff00000000"), b"\0\0\0\7")
    assert list(vectors(file)) == [found]
    assert (found.api_key, found.correlation_id) == (3, 7)
