"""The literal tables: error codes, api keys, field tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_impl.wire import messages, schemas
from reference_impl.wire.apis import API_NAMES, ApiKey, api_key, not_served, valid_versions
from reference_impl.wire.codec.fields import snake_case
from reference_impl.wire.errors import DEFINITE, ERRORS, MESSAGES, RETRIABLE, ErrorCode, error_name
from reference_impl.wire.frames import request_header_version, response_header_version
from reference_impl.wire.schemas.derive import derive, main, render
from reference_impl.wire.tests import java_oracle


def java_rows(kafka_version: str) -> dict[str, list[list[str]]]:
    """Return the rows that `Tables.java` prints, grouped by their first word."""
    [answer] = java_oracle.run("Tables.java", kafka_version, [""])
    rows: dict[str, list[list[str]]] = {}
    for row in answer.strip(";").split(";"):
        kind, *words = row.split(" ")
        rows.setdefault(kind, []).append(words)
    return rows


def assert_headers_are_those_of_kafka(rows: list[list[str]], kafka_version: str) -> None:
    versions: dict[int, list[int]] = {}
    for key, version, request, response in (map(int, row) for row in rows):
        versions.setdefault(key, []).append(version)
        assert request_header_version(key, version) == request, (key, version)
        assert response_header_version(key, version) == response, (key, version)
    assert versions == {
        key: list(valid_versions(key, kafka_version)) for key in messages.api_keys(kafka_version)
    }


@pytest.mark.needs("jdk", "kafka-jars")
def test_errors_apis_and_header_versions_are_those_of_kafka() -> None:
    rows = java_rows("4.3.1")
    errors = {int(code): (name, retriable == "true") for code, name, retriable in rows["error"]}
    assert errors == {code: (info.name, info.retriable) for code, info in ERRORS.items()}
    apis = {int(key): (constant, name) for key, constant, name, *_ in rows["api"]}
    assert {key: (ApiKey(key).name, name) for key, name in API_NAMES.items()} == apis
    assert_headers_are_those_of_kafka(rows["header"], "4.3.1")


@pytest.mark.needs("jdk", "kafka-jars-3.9.1")
def test_header_versions_of_removed_apis_are_those_of_kafka() -> None:
    assert_headers_are_those_of_kafka(java_rows("3.9.1")["header"], "3.9.1")


@pytest.mark.parametrize(
    "kafka_version",
    [
        pytest.param("4.3.1", marks=pytest.mark.needs("kafka-jars")),
        pytest.param("3.9.1", marks=pytest.mark.needs("kafka-jars-3.9.1")),
    ],
)
def test_the_field_tables_are_what_the_jars_say(kafka_version: str) -> None:
    table = Path(schemas.__file__).parent / f"kafka-{kafka_version}.json"
    assert render(derive(java_oracle.jars(kafka_version))) == table.read_text("utf-8")


def test_deriving_from_a_folder_without_jars_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 2
    assert "fetch them with Maven first" in capsys.readouterr().err


@pytest.mark.parametrize("kafka_version", messages.KAFKA_VERSIONS)
def test_every_api_has_a_request_and_a_response_of_the_same_versions(kafka_version: str) -> None:
    for key in messages.api_keys(kafka_version):
        request = messages.request_definition(key, kafka_version)
        response = messages.response_definition(key, kafka_version)
        # Key 74 was about client metrics only before KIP-1142 widened it.
        was = {(74, "3.9.1"): "ListClientMetricsResources"}
        name = was.get((key, kafka_version), API_NAMES[key])
        assert (request.name, response.name) == (f"{name}Request", f"{name}Response")
        assert request.valid_versions == response.valid_versions
        assert valid_versions(key, kafka_version) == request.valid_versions


def test_one_definition_per_message_however_it_is_asked_for() -> None:
    by_name = messages.definition("ProduceRequest")
    assert messages.definition("ProduceRequest", "4.3.1") is by_name
    assert messages.request_definition(0) is by_name


def test_versions_removed_by_kafka_4_are_those_of_3_9() -> None:
    assert valid_versions(ApiKey.PRODUCE) == range(3, 14)
    assert valid_versions(ApiKey.PRODUCE, "3.9.1").start == 0
    assert valid_versions(ApiKey.LEADER_AND_ISR) == range(0)
    assert len(valid_versions(ApiKey.LEADER_AND_ISR, "3.9.1")) > 0


def test_a_version_which_kafka_calls_unstable_is_left_out_when_asked() -> None:
    unstable = [
        key
        for key in messages.api_keys()
        if valid_versions(key, stable=True) != valid_versions(key)
    ]
    for key in unstable:
        assert valid_versions(key, stable=True) == valid_versions(key)[:-1]


def test_unknown_names_are_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="has no message 'Produce'"):
        messages.definition("Produce")
    with pytest.raises(ValueError, match=r"no field tables of Kafka 0\.8"):
        messages.definition("ProduceRequest", "0.8")
    with pytest.raises(ValueError, match="no API is called 'produce'"):
        api_key("produce")
    assert api_key("Produce") is ApiKey.PRODUCE


def test_definite_errors_are_definite_for_a_produce_and_doubts_are_not() -> None:
    checked_before_the_append = {2, 10, 17, 18, 19, 21, 29, 32, 45, 47, 76, 87}  # GUAR-11
    assert checked_before_the_append <= DEFINITE
    may_follow_an_append = {-1, 0, 3, 6, 7, 13, 20, 46, 56}
    assert not may_follow_an_append & DEFINITE
    for code, info in ERRORS.items():
        assert info.code is ErrorCode(code)
        assert info.definite == (code in DEFINITE)
        assert info.retriable == (code in RETRIABLE)
        assert info.message == MESSAGES[code]
        assert info.message.endswith(".")
    assert error_name(6) == "NOT_LEADER_OR_FOLLOWER(6)"
    assert error_name(999) == "UNKNOWN_CODE(999)"


def test_names_are_those_of_kafka_in_snake_case() -> None:
    names = {
        "ThrottleTimeMs": "throttle_time_ms",
        "MaxBytes": "max_bytes",
        "group": "group",
        "V3AndBelowTopics": "v3_and_below_topics",
        "TopicID": "topic_id",
    }
    assert {name: snake_case(name) for name in names} == names


def test_an_api_or_version_that_is_not_served_is_named() -> None:
    assert not_served(3, 12) == "Metadata version 12 is not served"
    assert not_served(99, 0) == "API key 99, version 0, is not served"
