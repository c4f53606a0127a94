"""Runs the small Java programs of `java/` against the jars of one Kafka version."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from functools import lru_cache
from pathlib import Path

SOURCES = Path(__file__).parent / "java"


def jars(kafka_version: str) -> Path:
    """Return where set-up puts the jars of a Kafka version."""
    root = Path(__file__).resolve().parents[3]
    return Path(os.environ.get("TOUCHSTONE_CACHE") or root / ".cache") / "kafka" / kafka_version


def run(source: str, kafka_version: str, lines: list[str]) -> list[str]:
    """Run a program of `java/` and return one answer per line of input."""
    said = launch(SOURCES / source, kafka_version, text="\n".join(lines) + "\n")
    answers = said.splitlines()
    assert len(answers) == len(lines), said[-2000:]
    return answers


def launch(source: Path, kafka_version: str, *arguments: str, text: str = "") -> str:
    """Run a Java program from source, compiled in memory, and return what it prints."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    assert java is not None
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx384m"]
    done = subprocess.run(
        [java, *options, "-cp", f"{jars(kafka_version)}/*", str(source), *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@lru_cache(None)
def generated_classes(kafka_version: str) -> dict[str, str]:
    """Return simple name -> full name of every class with a JSON converter, so of every message."""
    found = {}
    for jar in sorted(jars(kafka_version).glob("kafka*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if entry.endswith("JsonConverter.class") and "$" not in entry:
                    name = entry.removesuffix("JsonConverter.class").replace("/", ".")
                    found[name.rpartition(".")[2]] = name
    return found
