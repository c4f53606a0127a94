"""The paths of the project: its source tree, the folder of generated files, and the folders that
commands make for what they write."""

import atexit
from contextlib import suppress
from pathlib import Path

from linearizability.caches import cache_directory

ROOT = Path(__file__).resolve().parent.parent
IS_CHECKOUT = (ROOT / "pyproject.toml").is_file()
"""False in an installed wheel, which has no tests of the project."""
CACHE = cache_directory()
"""The folder of generated files. If TOUCHSTONE_CACHE names a folder, several working copies can
share it."""
PROGRAMS = CACHE / "bin"
KAFKA_JARS = CACHE / "kafka"
CONNECTOR_JARS = CACHE / "spark-kafka"
ECOSYSTEM_JARS = CACHE / "ecosystem"
JAVA_HOME = CACHE / "java"
LOGS = CACHE / "logs"
STAMPS = CACHE / "stamps"
VENV = ROOT / ".venv"

KAFKA_POMS = ROOT / "ci" / "tools" / "kafka"
KAFKA_VERSION = "4.3.1"
"""The version that `apache` without a version means."""


def kafka_versions() -> list[str]:
    """Return the versions of Apache Kafka for which the tree has a pom.xml, newest first."""
    versions = [folder.name for folder in KAFKA_POMS.iterdir() if (folder / "pom.xml").is_file()]
    return sorted(versions, key=lambda text: [int(part) for part in text.split(".")], reverse=True)


def shown(path: Path) -> str:
    """Return a path for messages: relative to the project's root if it lies below."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def leave_no_empty(folder: Path) -> None:
    """Have the folder, and each folder above it, removed at the end of this process if it is
    missing now and empty then, so that a command that was refused leaves nothing."""
    missing = [
        each for each in (folder.absolute(), *folder.absolute().parents) if not each.exists()
    ]
    for each in reversed(missing):  # the last to be registered, the innermost, goes first
        atexit.register(_remove_empty, each)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
