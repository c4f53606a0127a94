"""Kafka's own codec as the oracle of ours: every version of every message, both directions."""

from __future__ import annotations

import base64
import json
import uuid
from random import Random
from typing import Any

import pytest

from reference_impl.robustness.fuzz import chance
from reference_impl.wire import messages
from reference_impl.wire.codec.fields import Field, Struct, StructType
from reference_impl.wire.tests import java_oracle

ROUNDS = 3


def expected_json(struct: StructType, value: Struct, version: int) -> dict[str, Any]:
    """Return the message as Kafka's converters print it: tagged fields only where they say
    something."""
    out = {}
    for field in struct.fields:
        held = getattr(value, field.name)
        if version in field.tagged:
            if held == field.default_value():
                continue
        elif version not in field.versions:
            continue
        if field.type != "records":  # of which the converters print nothing
            out[field.name.replace("_", "")] = _json_of(field, held, version)
    return out


def _json_of(field: Field, held: Any, version: int) -> Any:
    if held is None:
        return None
    if isinstance(held, list):
        return [_json_of(field, item, version) for item in held]
    if field.struct is not None:
        return expected_json(field.struct, held, version)
    if isinstance(held, bytes):
        return base64.b64encode(held).decode()
    if isinstance(held, uuid.UUID):
        return base64.urlsafe_b64encode(held.bytes).decode().rstrip("=")
    return held


def found_json(value: Any) -> Any:
    """Return Java's JSON with keys in our form and without the records."""
    if isinstance(value, dict):
        return {
            key.lower(): found_json(inner)
            for key, inner in value.items()
            if key.lower() not in ("records", "unalignedrecords")
        }
    return [found_json(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "kafka_version",
    [
        pytest.param("4.3.1", marks=pytest.mark.needs("jdk", "kafka-jars")),
        pytest.param("3.9.1", marks=pytest.mark.needs("jdk", "kafka-jars-3.9.1")),
    ],
)
def test_every_version_of_every_message_is_what_java_reads_and_writes(kafka_version: str) -> None:
    random = Random(f"java oracle {kafka_version}")
    classes = java_oracle.generated_classes(kafka_version)
    lines, cases = [], []
    for name in messages.names(kafka_version):
        definition = messages.definition(name, kafka_version)
        full_name = classes.get(f"{name}Data") or classes[name]
        for version in definition.valid_versions:
            for _ in range(ROUNDS):
                message = chance.message(definition, version, random)
                encoded = definition.encode(message, version)
                assert definition.decode(encoded, version) == message
                lines.append(f"{full_name} {version} {encoded.hex()}")
                cases.append((definition, version, message))
    assert len({(definition.name, version) for definition, version, _ in cases}) > 700

    different = []
    for line, (definition, version, message), answer in zip(
        lines, cases, java_oracle.run("Messages.java", kafka_version, lines), strict=True
    ):
        hexadecimal, _, printed = answer.partition("\t")
        if hexadecimal != line.rpartition(" ")[2]:
            different.append((definition.name, version, answer[:100]))
        elif found_json(json.loads(printed)) != expected_json(definition.root, message, version):
            different.append((definition.name, version, f"{message} is for Java {printed}"))
    assert different == []
