"""Name the places of the project: its tree, and the folder of everything that it generates."""

from pathlib import Path

from linearizability.caches import cache_directory

ROOT = Path(__file__).resolve().parent.parent
CACHE = cache_directory()
"""TOUCHSTONE_CACHE lets several working copies share what is costly to bring."""
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
"""What `apache` means without a version."""


def kafka_versions() -> list[str]:
    """Return every version of Apache Kafka that has a pom.xml here, newest first."""
    versions = [folder.name for folder in KAFKA_POMS.iterdir() if (folder / "pom.xml").is_file()]
    return sorted(versions, key=lambda text: [int(part) for part in text.split(".")], reverse=True)


def shown(path: Path) -> str:
    """Return a path as a reader wants it: from the project's root where it lies below."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
