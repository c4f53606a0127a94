"""Derive the field tables of one Kafka version from its jars.

Source: the message definitions (`common/message/*.json`, `common/metadata/*.json`) which Apache
ships inside the kafka-clients, coordinator, metadata, raft and storage jars. Only the facts which
the codec needs are kept: names, types, versions, nullability, tags, defaults. No prose.

python -m reference_impl.wire.schemas.derive JARDIR > kafka-VERSION.json

The table has one line per message, so that `diff` shows the difference between two Kafka versions.
A message is {"type", "api_key", "versions", "flexible", "module", "unstable", "fields", "structs"};
a field is [name, type, versions, {"nullable", "tagged", "tag", "default", "flexible", "fields"}],
the last part only if it is not empty.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# The coordinators reuse the same api keys, each in its own topic; the module says whose they are.
MODULE = re.compile(r"kafka-(.+?)(_2\.13)?-\d")


def definitions_in(jar: Path) -> Iterator[dict[str, Any]]:
    """Yield the message definitions with fields inside one jar; comments are removed, as Apache's
    generator does."""
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            if entry.endswith(".json"):
                text = re.sub(r"(?m)^\s*//.*$", "", archive.read(entry).decode("utf-8"))
                definition = json.loads(text)
                # A definition without fields is an API which this version has removed (KIP-896).
                if isinstance(definition, dict) and "fields" in definition:
                    yield definition


def compact_field(field: dict[str, Any]) -> list[Any]:
    """Return [name, type, versions] and, if the field has other properties, a dict of them."""
    extra: dict[str, Any] = {}
    for ours, theirs in (
        ("nullable", "nullableVersions"),
        ("tagged", "taggedVersions"),
        ("flexible", "flexibleVersions"),
    ):
        if theirs in field:
            extra[ours] = field[theirs]
    if "tag" in field:
        extra["tag"] = int(field["tag"])  # some definitions quote it
    # FieldSpec.java reads a JSON null like a missing default, and the string "null" as null.
    if field.get("default") is not None:
        default = field["default"]
        extra["default"] = str(default).lower() if isinstance(default, bool) else str(default)
    if "fields" in field:
        extra["fields"] = [compact_field(inner) for inner in field["fields"]]
    # FieldSpec.java: a tagged field may leave out its versions.
    versions = field.get("versions") or field["taggedVersions"]
    return [field["name"], field["type"], versions, *([extra] if extra else [])]


def compact_message(definition: dict[str, Any], module: str) -> dict[str, Any]:
    """Return a message's entry in the table. module: the jar's module, kept for coordinator
    records."""
    message: dict[str, Any] = {"type": definition["type"]}
    if "apiKey" in definition:
        message["api_key"] = definition["apiKey"]
    message["versions"] = definition["validVersions"]
    message["flexible"] = definition.get("flexibleVersions", "none")
    if definition["type"].startswith("coordinator"):
        message["module"] = module
    if definition.get("latestVersionUnstable"):
        message["unstable"] = True
    message["fields"] = [compact_field(field) for field in definition["fields"]]
    if structs := definition.get("commonStructs"):
        message["structs"] = {
            struct["name"]: [compact_field(field) for field in struct["fields"]]
            for struct in structs
        }
    return message


def derive(jars: Path) -> dict[str, dict[str, Any]]:
    """Return the table of every message defined in the Kafka jars of this folder, sorted by
    name."""
    table: dict[str, dict[str, Any]] = {}
    for jar in sorted(jars.glob("kafka*.jar")):
        module = MODULE.match(jar.name)
        for definition in definitions_in(jar):
            table[definition["name"]] = compact_message(
                definition, module.group(1) if module else jar.stem
            )
    return dict(sorted(table.items()))


def render(table: dict[str, dict[str, Any]]) -> str:
    """Return the table as JSON, one line per message."""
    lines = (
        f"{json.dumps(name)}:{json.dumps(message, separators=(',', ':'))}"
        for name, message in table.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: list[str]) -> int:
    """Print the table that is derived from the jars in one folder. Return the exit status, 2 for
    other arguments."""
    if len(arguments) != 1 or not any(Path(arguments[0]).glob("kafka-clients-*.jar")):
        print(
            "derive: expected one folder which holds kafka-clients-VERSION.jar and its"
            " companions; fetch them with Maven first",
            file=sys.stderr,
        )
        return 2
    sys.stdout.write(render(derive(Path(arguments[0]))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
