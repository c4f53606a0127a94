"""Build stand-ins for published images, under the same names, from software on this machine.

The base is a small Debian (made by debootstrap from the distribution's packages) with Java, Python
and iptables; the layers above hold the jars, libraries and programs that the set-up has put into
.cache. Every stand-in carries a label that distinguishes it from the published image, which
`touchstone doctor` reports. A published image is never replaced.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from chaos.means.docker.containers import STAND_IN, asking
from chaos.targets.dockerized import reference
from chaos.targets.dockerized.network import SIDECAR_IMAGE, TOXIPROXY_IMAGE
from ci import places
from ci.errors import UsageError
from ci.tools.step import StepFailed, run_logged

ROOT_FILES = places.CACHE / "airgap" / "root"
BASE = "touchstone/stand-in-base:bookworm"
SUITE = "bookworm"
PACKAGES = (
    "bash",
    "ca-certificates",
    "iproute2",
    "iptables",
    "openjdk-17-jre-headless",
    "procps",
    "python3",
)
UNWANTED = (
    "var/cache/apt",
    "var/lib/apt/lists",
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "dev",
    "proc",
    "sys",
)
KAFKA_RUN = Path(__file__).with_name("kafka_run.py")
DEBOOTSTRAP_TIMEOUT_S = 1800
PIECE_BYTES = 1 << 20

Files = dict[str, Path]
"""Path in the image, without the first slash -> the file to put there."""


@dataclass(frozen=True)
class StandIn:
    """One image to build: its name, its base, and the files laid over the base."""

    name: str
    files: Files
    instructions: tuple[str, ...] = ()
    base: str = BASE
    links: tuple[tuple[str, str], ...] = ()
    """(path, target) of each symbolic link."""

    def key(self) -> str:
        """Return a digest of base, instructions, links and files (by size and time), which changes
        when the image must be rebuilt."""
        digest = hashlib.sha256(repr((self.base, self.instructions, self.links)).encode())
        for path, file in sorted(self.files.items()):
            status = file.stat()
            digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
        return digest.hexdigest()[:16]

    def context(self) -> io.BytesIO:
        """Return the Docker build context. It has no RUN instruction, so the build needs no network
        and no shell."""
        lines = [f"FROM {self.base}", f"LABEL {STAND_IN}={self.key()}", *self.instructions]
        lines += ["COPY files/ /"] if self.files or self.links else []
        recipe = "\n".join([*lines, ""]).encode()
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", dereference=True) as archive:
            entry = tarfile.TarInfo("Dockerfile")
            entry.size = len(recipe)
            archive.addfile(entry, io.BytesIO(recipe))
            for path, file in self.files.items():
                archive.add(file, f"files/{path}")
            for path, target in self.links:
                link = tarfile.TarInfo(f"files/{path}")
                link.type, link.linkname = tarfile.SYMTYPE, target
                archive.addfile(link)
        packed.seek(0)
        return packed


def stand_ins() -> list[StandIn]:
    """Return the stand-ins that can be built: those for which all files are present."""
    found = [
        StandIn(SIDECAR_IMAGE, {}),
        StandIn(
            reference.IMAGE,
            dict(_libraries()),
            ('CMD ["python3"]',),
            links=(("usr/local/bin/python", "/usr/bin/python3"),),
        ),
    ]
    toxiproxy = places.PROGRAMS / "toxiproxy-server"
    if toxiproxy.is_file():
        start = ('ENTRYPOINT ["/toxiproxy"]', 'CMD ["-host=0.0.0.0"]')
        found.append(StandIn(TOXIPROXY_IMAGE, {"toxiproxy": toxiproxy}, start, base="scratch"))
    return found + [_kafka(version) for version in places.kafka_versions() if _jars(version)]


def make_missing(client: Any) -> Iterator[tuple[str, str]]:
    """Build the stand-ins that are missing or old, and their base if it is missing; keep published
    images. Yield (image, what was done or found) for each. Raise UsageError if the base cannot be
    made, and TargetError if Docker refuses or does not answer."""
    for one in stand_ins():
        labels = _labels(client, one.name)
        if labels is None or labels.get(STAND_IN, one.key()) != one.key():
            if one.base == BASE and _labels(client, BASE) is None:
                yield BASE, "importing"
                _import_base(client)
            with asking(f"build {one.name}"):
                client.images.build(
                    fileobj=one.context(), custom_context=True, tag=one.name, rm=True
                )
            yield one.name, "made"
        else:
            yield one.name, "a stand-in, ready" if STAND_IN in labels else "the published image"


def _labels(client: Any, name: str) -> dict[str, str] | None:
    """Return the labels of an image, or None if the image does not exist."""
    import docker.errors

    with asking(f"look for {name}"):
        try:
            return dict(client.images.get(name).labels)
        except docker.errors.ImageNotFound:
            return None


def _import_base(client: Any) -> None:
    _make_root_files()
    repository, _, tag = BASE.partition(":")
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    changes = [f"LABEL {STAND_IN}=base", f"ENV PATH={path}", 'CMD ["bash"]']
    with tempfile.TemporaryFile() as packed:
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(ROOT_FILES, "", filter=_wanted)
        packed.seek(0)
        pieces = iter(partial(packed.read, PIECE_BYTES), b"")  # a stream: it is sent in chunks
        with asking(f"import {BASE}"):
            client.api.import_image_from_stream(pieces, repository, tag, changes)


def _wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return the tar entry, or None for what no container needs: all below a folder of UNWANTED."""
    return None if any(entry.name.startswith(f"{folder}/") for folder in UNWANTED) else entry


def _make_root_files() -> None:
    """Make a small Debian file system in .cache, once. Raise UsageError if debootstrap is missing
    or fails."""
    done = ROOT_FILES / ".done"
    if done.exists():
        return
    program = shutil.which("debootstrap", path="/usr/sbin:/usr/bin:/sbin:/bin")
    if program is None:
        raise UsageError("airgap: there is no debootstrap; apt-get install debootstrap")
    shutil.rmtree(ROOT_FILES, ignore_errors=True)
    ROOT_FILES.parent.mkdir(parents=True, exist_ok=True)
    command = [program, "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE]
    try:
        run_logged("debootstrap", [*command, str(ROOT_FILES)], timeout_s=DEBOOTSTRAP_TIMEOUT_S)
    except StepFailed as error:
        raise UsageError(f"airgap: the stand-ins' base image cannot be made: {error}") from error
    done.touch()


def _kafka(version: str) -> StandIn:
    files = {f"opt/kafka/libs/{jar.name}": jar for jar in _jars(version)}
    files["etc/kafka/docker/run.py"] = KAFKA_RUN
    command = 'CMD ["python3", "-u", "/etc/kafka/docker/run.py"]'
    return StandIn(f"apache/kafka:{version}", files, ("EXPOSE 9092", command))


def _jars(version: str) -> list[Path]:
    return sorted((places.KAFKA_JARS / version).glob("*.jar"))


def _libraries() -> Iterable[tuple[str, Path]]:
    """Yield (path in the image, file) for the reference broker's libraries in .venv. They only suit
    the Python version of this .venv."""
    for name in reference.LIBRARIES:
        for file in importlib.metadata.files(name) or ():
            source = Path(str(file.locate()))
            if source.is_file() and ".." not in file.parts and "__pycache__" not in file.parts:
                yield f"usr/lib/python3/dist-packages/{file}", source
