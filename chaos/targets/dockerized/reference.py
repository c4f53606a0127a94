"""Run the reference broker in a published Python image, with this source tree mounted."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from chaos.means.docker.containers import Container, Engine
from chaos.targets.apache import FAULTS
from chaos.targets.dockerized.cluster import ContainerTarget, Maker
from chaos.targets.dockerized.network import Network
from chaos.targets.reference import own_version
from chaos.values.protocols import TargetError
from chaos.world import joined
from reference_impl.host.settings.properties import as_text

IMAGE = "python:3.11-slim"
LIBRARIES = {
    "backports.zstd": "backports.zstd",
    "crc32c": "crc32c",
    "cramjam": "cramjam",
    "google-re2": "re2",
    "lz4": "lz4",
}
"""The libraries that the broker needs besides Python's own: package -> module. pip installs them
unless the image has them."""
SOURCES = "/touchstone"
PROPERTIES = "/server.properties"
"""The path of the node's settings file in its container. SOURCES is the folder of the broker's code
there (PYTHONPATH)."""
_HERE = Path(__file__).resolve().parents[3]
_MOUNT_POINT = "/".join([SOURCES, *__name__.split(".")[:-4]])
"""The path at which the source tree is mounted. An installed Touchstone is one package, and is
mounted as that package alone."""


class DockerizedReference(ContainerTarget):
    """The reference broker in one container, with or without a planted bug."""

    name = "docker:reference"
    faults = FAULTS

    def __init__(self, bug: str | None = None) -> None:
        self.bug = bug
        self.version = own_version()

    def check(self, nodes: int) -> None:
        if nodes != 1:
            raise TargetError(
                f"{self.name} runs 1 node for now, not {nodes}; for a cluster use"
                " docker:apache:4.3.1 with 3 nodes"
            )

    def makers(
        self,
        engine: Engine,
        network: Network,
        config: Mapping[str, str],
        places: Mapping[int, Path],
    ) -> dict[int, Maker]:
        bound, told = network.layout.bound("CLIENT", 1), network.layout.advertised("CLIENT", 1)
        settings = {
            "listeners": f"PLAINTEXT://{joined(bound)}",
            "advertised.listeners": f"PLAINTEXT://{joined(told)}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
            "group.initial.rebalance.delay.ms": "0",
            **config,
        }
        script = self.first_words + _script(self.bug, places[1])
        return {1: partial(_make, engine, script, as_text(settings))}


def _make(engine: Engine, script: str, properties: str, options: Mapping[str, Any]) -> Container:
    mounted = {str(_HERE): {"bind": _MOUNT_POINT, "mode": "ro"}}
    python = {"PYTHONPATH": SOURCES, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    more = {
        "volumes": {**options["volumes"], **mounted},
        "environment": {**options["environment"], **python},
    }
    container = engine.create(IMAGE, "node 1", ["sh", "-c", script], **{**options, **more})
    container.put({PROPERTIES: properties})
    return container


def _script(bug: str | None, data: Path) -> str:
    """Return the container's shell script: install the libraries, then replace the shell by the
    broker."""
    has_them = shlex.join(["python", "-c", f"import {', '.join(LIBRARIES.values())}"])
    bring_them = shlex.join(["python", "-m", "pip", "install", "--quiet", *LIBRARIES])
    command = ["python", "-m", "reference_impl.host", "--nodes", "1", "--data", str(data)]
    command += ["--config-file", PROPERTIES]
    command += ["--bug", bug] if bug else []
    return f"{has_them} 2>/dev/null || {bring_them} || exit; exec {shlex.join(command)}"
