"""The paths of the project: its source tree, and the folder of generated files."""

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
