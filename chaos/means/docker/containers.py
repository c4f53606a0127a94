"""The part of Docker that targets need: make containers and networks, and remove those that dead
owners left.

Everything made here carries its owner's name (guard.py) in a label, and a note in the directory for
temporary files names the daemon. The next command of any kind, or the next one that uses the same
daemon, removes what belongs to dead owners, and nothing else.

Bind mounts and ports on loopback work only with a daemon on this machine. So only a daemon behind a
socket of this machine is accepted.
"""

from __future__ import annotations

import os
import re
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.means import guard
from chaos.means.docker.container import (
    LOOPBACK,
    TIMEOUT_S,
    Container,
    ContainerError,
    DaemonLost,
    asking,
    remove,
)

__all__ = ["Bridge", "Container", "ContainerError", "DaemonLost", "Engine", "asking", "daemon_url"]

LABEL = "touchstone.owner"
STAND_IN = "touchstone.stand-in"
"""The label of images that were built here (ci/airgap) in place of published ones."""
DIGESTS: Mapping[str, str] = {
    "apache/kafka:4.3.1": "sha256:77e3df9054047a88b520d0cc46e16696d3b22022e1d580aeccd2632df6532837",
    "apache/kafka:3.9.1": "sha256:4ceccc577f03f51f6af8dbfda55194d0d892f4fa7913ffbded567ce3895622ed",
    "ghcr.io/shopify/toxiproxy:2.12.0": (
        "sha256:9378ed52a28bc50edc1350f936f518f31fa95f0d15917d6eb40b8e376d1a214e"
    ),
    "nicolaka/netshoot:v0.13": (
        "sha256:a20c2531bf35436ed3766cd6cfe89d352b050ccc4d7005ce6400adf97503da1b"
    ),
    "python:3.11-slim": "sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7",
}
"""Image name -> the digest that the image must have, since a tag can be moved. An image of that
name with another digest is not used, unless it has the label STAND_IN."""
SOCKET = "unix:///var/run/docker.sock"

_NOTE = re.compile(r"touchstone-docker-(\d+-\d+-\d+)")
_lock = threading.RLock()
_engines: list[Engine] = []


def daemon_url() -> str:
    """Return the daemon's URL: DOCKER_HOST, or the usual socket. Raise ContainerError for a remote
    one."""
    url = os.environ.get("DOCKER_HOST") or SOCKET
    if not url.startswith(("unix://", "npipe://")):
        raise ContainerError(
            f"DOCKER_HOST={url}: nodes in containers need the Docker daemon of this machine;"
            " set DOCKER_HOST to its socket, unix:///path"
        )
    return url


def why_none() -> str | None:
    """Return why nodes cannot run in containers on this machine, or None if they can."""
    try:
        _client(daemon_url()).close()
    except ContainerError as error:
        return str(error)
    return None


@dataclass(frozen=True)
class Bridge:
    """A Docker network that joins the containers of a cluster."""

    name: str
    is_here: bool
    """Whether this machine has an address in the network. It has none if the daemon runs in a
    virtual machine or a network namespace of its own (Docker Desktop; a rootless daemon)."""


def _is_ours(address: str) -> bool:
    """Return whether the address belongs to this machine, so that a port can be bound on it."""
    try:
        with socket.create_server((address, 0)):
            return True
    except OSError:
        return False


class Engine:
    """Makes and removes one owner's containers and networks at one Docker daemon."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.owner = guard.owner_name(os.getpid())
        self._prefix = f"touchstone-{os.getpid()}-{os.urandom(4).hex()}-"
        self._made = 0

    @classmethod
    def connect(cls) -> Engine:
        """Connect to this machine's daemon, remove what dead owners have left there, and write a
        note that names the daemon, for the commands that clean up after us. Raise ContainerError if
        Docker refuses or does not answer, or the note cannot be written."""
        engine = cls(_client(url := daemon_url()))
        sweep(engine._client)
        with _lock:
            _engines.append(engine)
            _write_note(url)
        return engine

    def check(self) -> None:
        """Raise DaemonLost unless Docker answers."""
        with asking("reply to a ping"):
            self._client.ping()

    def image(self, name: str) -> str:
        """Return a name by which Docker finds exactly the image with the expected digest, or `name`
        itself for a stand-in and for a name without an expected digest (DIGESTS). Pull the image if
        it is missing. Raise ContainerError if that fails."""
        repository, _, tag = name.rpartition(":")
        digest = DIGESTS.get(name)
        meant = f"{repository}@{digest}" if digest else name
        if self._labels(meant) is not None:
            return meant
        if STAND_IN in (self._labels(name) or {}):
            return name
        try:
            with asking(f"pull {name}"):
                self._client.images.pull(repository, tag=digest or tag)
            return meant
        except ContainerError as error:
            raise ContainerError(
                f"{error}; where no registry is reachable, `python -m ci.airgap up` makes a"
                " stand-in"
            ) from error

    def _labels(self, name: str) -> Mapping[str, str] | None:
        """Return the labels of a local image, or None if there is no such image."""
        import docker.errors

        with asking(f"look for the image {name}"), suppress(docker.errors.ImageNotFound):
            return dict(self._client.images.get(name).labels)
        return None

    def network(self) -> Bridge:
        """Create a new bridge network. Raise ContainerError if Docker refuses."""
        name = self._name("network")
        with asking("make a network"):
            made = self._client.networks.create(name, driver="bridge", labels={LABEL: self.owner})
            made.reload()
        gateways = [part.get("Gateway", "") for part in made.attrs["IPAM"]["Config"]]
        return Bridge(name, any(_is_ours(address) for address in gateways))

    def user(self) -> str:
        """Return the user (UID:GID) that a node must run as, so that the files it writes to our
        directories belong to us: our own user, or with a rootless daemon the user that it maps to
        ours. Raise ContainerError if the daemon gives containers other users, or does not
        answer."""
        with asking("report its settings"):
            settings = " ".join(self._client.info().get("SecurityOptions") or ())
        if "name=userns" in settings:
            raise ContainerError(
                "this Docker daemon gives containers other users (userns-remap), so that nodes"
                " could not write into directories of this machine; use a daemon without that"
            )
        return "0:0" if "name=rootless" in settings else f"{os.getuid()}:{os.getgid()}"

    def create(
        self,
        image: str,
        name: str,
        command: Sequence[str],
        ports: Sequence[int] = (),
        **options: Any,
    ) -> Container:
        """Create a container without starting it; pull its image if that is missing. command:
        replaces the image's entrypoint. ports: published on loopback, each at a port that Docker
        chooses. options: passed on to docker.containers.create. Raise ContainerError if Docker
        refuses."""
        image = self.image(image)
        with asking(f"make {name}"):
            handle = self._client.containers.create(
                image,
                entrypoint=command[0],
                command=list(command[1:]),
                detach=True,
                name=self._name(name),
                labels={LABEL: self.owner},
                ports={f"{port}/tcp": (LOOPBACK, None) for port in ports},
                **options,
            )
        return Container(name, handle)

    def remove_all(self) -> None:
        """Remove every container and network that this engine has made, and close the connection.
        Remove the note that names the daemon, if no other engine is in use. It may be called twice.
        Raise ContainerError if Docker refuses or does not answer."""
        _sweep(self._client, self._is_mine)
        self._client.close()
        with _lock:
            if self in _engines:
                _engines.remove(self)
            if not _engines:
                _note().unlink(missing_ok=True)

    def _is_mine(self, handle: Any) -> bool:
        return str(handle.name).startswith(self._prefix)

    def _name(self, name: str) -> str:
        self._made += 1
        return f"{self._prefix}{self._made}-{name.replace(' ', '-')}"


def remove_leftovers() -> int:
    """Remove everything that dead owners left at daemons that answer, and the notes that name these
    daemons. Return the number of containers and networks removed; those of a daemon that fails
    midway are not counted."""
    removed = 0
    for note in _notes_of_the_dead():
        with suppress(ContainerError, OSError), closing(_client(note.read_text("utf-8"))) as client:
            removed += sweep(client)
            note.unlink()
    return removed


def leftovers() -> list[str]:
    """Return the names of the containers and networks that dead owners left, and for each daemon
    that does not answer a phrase that names its note and the reason."""
    found: dict[str, None] = {}
    for note in _notes_of_the_dead():
        try:
            with closing(_client(note.read_text("utf-8"))) as client:
                containers, networks = _labelled(client, _is_of_the_dead)
                found |= dict.fromkeys(str(one.name) for one in (*containers, *networks))
        except (ContainerError, OSError) as error:
            found[f"unknown, by {note}: {error}"] = None
    return list(found)


def _notes_of_the_dead() -> list[Path]:
    return list(
        filter(_is_note_of_the_dead, Path(tempfile.gettempdir()).glob("touchstone-docker-*"))
    )


def sweep(client: Any) -> int:
    """Remove everything labelled with a dead owner of our pid namespace and realm. Return the
    number of containers and networks removed. Raise ContainerError if Docker refuses or does not
    answer."""
    return _sweep(client, _is_of_the_dead)


def _sweep(client: Any, is_meant: Callable[[Any], bool]) -> int:
    """Remove every container for which `is_meant` returns True, then every such network. Return how
    many were removed in all."""
    containers, networks = _labelled(client, is_meant)
    with asking("remove what was left behind"):
        for container in containers:
            remove(container)
        for network in networks:
            network.remove()
    return len(containers) + len(networks)


def _labelled(client: Any, is_meant: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
    """Return two lists of the objects that have our label and for which `is_meant` returns True:
    the containers, first those that use the network of another one, and the networks."""
    labelled = {"label": LABEL}
    with asking("list what was left behind"):
        containers = client.containers.list(all=True, filters=labelled, ignore_removed=True)
        networks = client.networks.list(filters=labelled)
    containers = sorted(filter(is_meant, containers), key=_has_own_network)
    return containers, list(filter(is_meant, networks))


def _has_own_network(handle: Any) -> bool:
    return not str(handle.attrs["HostConfig"]["NetworkMode"]).startswith("container:")


def _client(url: str) -> Any:
    import docker  # imported here since it takes a fifth of a second

    with asking("report its version"):
        client = docker.DockerClient(base_url=url, timeout=TIMEOUT_S)
        client.ping()
    return client


def _is_of_the_dead(handle: Any) -> bool:
    """Return whether the owner of a container or network is dead. An owner in another pid namespace
    or realm counts as living, because its state is not visible here."""
    labels = handle.attrs.get("Labels") or handle.attrs["Config"]["Labels"]
    owner = str(labels[LABEL])
    here = guard.owner_name(os.getpid()).split(":", 2)[2]
    return owner.count(":") >= 2 and owner.split(":", 2)[2] == here and not guard.is_alive(owner)


def _note() -> Path:
    return Path(tempfile.gettempdir()) / f"touchstone-docker-{guard.owner_tag(os.getpid())}"


def _write_note(url: str) -> None:
    try:
        _note().write_text(url, "utf-8")
    except OSError as error:
        raise ContainerError(
            f"{_note()} cannot be written: {error.strerror}; set TMPDIR"
        ) from error


def _is_note_of_the_dead(note: Path) -> bool:
    found = _NOTE.fullmatch(note.name)
    return found is not None and guard.is_dead_tag(found[1])
