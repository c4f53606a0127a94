"""Docker, as far as targets need it: containers as children, and what dead owners have left.

Everything made here carries its owner's name (chaos.guard) in a label, and a note in the directory
for temporary files says which daemon was asked: the next command of any kind, or one that asks the
same daemon, removes what belongs to owners that are dead. Nothing else is ever touched.

Bind mounts and ports on loopback are only right where the daemon is on this machine: so one behind
a socket of this machine is asked for.
"""

from __future__ import annotations

import io
import os
import re
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from chaos import guard
from chaos.protocols import TargetError, TargetLost

LABEL = "touchstone.owner"
STAND_IN = "touchstone.stand-in"
"""The label of images that are not the published ones, but made here (ci/airgap)."""
SOCKET = "unix:///var/run/docker.sock"
TIMEOUT_S = 30
END_TIMEOUT_S = 15.0
LINE_LENGTH_MAX = 300
LOOPBACK = "127.0.0.1"

_NOTE = re.compile(r"touchstone-docker-(\d+-\d+-\d+)")
_lock = threading.RLock()
_engines: list[Engine] = []


class ContainerError(TargetError):
    """Docker refuses, or is not as it must be: one sentence, and what to do."""


class DaemonLost(ContainerError, TargetLost):
    """Docker does not answer."""


def daemon_url() -> str:
    """Which daemon: DOCKER_HOST, or the usual socket. Raises ContainerError for a distant one."""
    url = os.environ.get("DOCKER_HOST") or SOCKET
    if not url.startswith(("unix://", "npipe://")):
        raise ContainerError(
            f"DOCKER_HOST={url}: nodes in containers need the Docker daemon of this machine;"
            " set DOCKER_HOST to its socket, unix:///path"
        )
    return url


@contextmanager
def asking(what: str) -> Iterator[None]:
    """What Docker answers to that, as one sentence where it is no."""
    import docker.errors
    import requests

    try:
        yield
    except docker.errors.APIError as error:
        said = error.explanation or str(error)
        raise ContainerError(f"Docker refuses to {what}: {_sentence(said)}") from error
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise DaemonLost(
            f"Docker does not answer when asked to {what} ({_reason(error)}); see that its daemon"
            " runs: what is left there is removed by the next command"
        ) from error


def _reason(error: BaseException) -> str:
    """What the system said, below the layers that wrapped it."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError) and inner.strerror:
            return inner.strerror.lower()
        inner = inner.__cause__ or inner.__context__
    return _sentence(str(error))


def _sentence(said: str) -> str:
    return " ".join(said.split())[:LINE_LENGTH_MAX].rstrip(".")


class Container:
    """One container; to a cluster it is a child process (chaos.processes.Child)."""

    def __init__(self, name: str, handle: Any) -> None:
        self.name = name
        self.paused = False
        self._handle = handle

    @property
    def id(self) -> str:
        return str(self._handle.id)

    @property
    def pid(self) -> int:
        """Its first process, as this machine numbers it; 0 if it does not run."""
        return int(self._state()["Pid"])

    @property
    def running(self) -> bool:
        """A paused container runs too: it has not ended."""
        return self._state()["Status"] in ("running", "paused")

    @property
    def exit_status(self) -> int | None:
        state = self._state()
        return None if state["Status"] in ("running", "paused") else int(state["ExitCode"])

    def _state(self) -> Mapping[str, Any]:
        with asking(f"look at {self.name}"):
            self._handle.reload()
        state: Mapping[str, Any] = self._handle.attrs["State"]
        return state

    def start(self) -> None:
        with asking(f"start {self.name}"):
            self._handle.start()

    def pause(self) -> None:
        """The freezer: it keeps its sockets and answers nobody."""
        with asking(f"pause {self.name}"):
            self._handle.pause()
        self.paused = True

    def resume(self) -> None:
        with asking(f"unpause {self.name}"):
            self._handle.unpause()
        self.paused = False

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone. A frozen one takes it once it is thawed."""
        with asking(f"kill {self.name}"):
            if self._state()["Status"] in ("running", "paused"):
                self._handle.kill()
                self._handle.wait(timeout=TIMEOUT_S)
        self.paused = False

    def end(self, timeout_s: float = END_TIMEOUT_S) -> None:
        """SIGTERM, wait, SIGKILL. Safe to call again and after its death."""
        with asking(f"stop {self.name}"):
            if self.paused:
                self.resume()
            self._handle.stop(timeout=max(1, round(timeout_s)))

    def remove(self) -> None:
        """Kill it, and remove it with its writable layer."""
        with asking(f"remove {self.name}"):
            _remove(self._handle)

    def last_words(self, lines: int = 2) -> str:
        """The end of what it printed in one line, for an error message; stack traces left out."""
        with suppress(ContainerError):
            told = [line for line in self.log(50).splitlines() if line[:1].strip()]
            return " / ".join(line[:LINE_LENGTH_MAX] for line in told[-lines:])
        return ""

    def log(self, lines: int | str = "all") -> str:
        """What it printed."""
        with asking(f"tell what {self.name} printed"):
            return str(self._handle.logs(tail=lines).decode("utf-8", "replace"))

    def put(self, files: Mapping[str, str]) -> None:
        """Write files (absolute path -> text) into it; it need not run."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path, text in files.items():
                entry = tarfile.TarInfo(path.lstrip("/"))
                content = text.encode()
                entry.size, entry.mode = len(content), 0o644
                archive.addfile(entry, io.BytesIO(content))
        with asking(f"write into {self.name}"):
            self._handle.put_archive("/", packed.getvalue())

    def execute(self, *command: str) -> str:
        """Run a command beside its process; what it printed. Raises ContainerError if it fails."""
        with asking(f"run {command[0]} in {self.name}"):
            status, output = self._handle.exec_run(list(command))
        said = str(output.decode("utf-8", "replace"))
        if status != 0:
            raise ContainerError(f"{command[0]} in {self.name} failed: {_sentence(said)}")
        return said

    def address(self, network: str) -> str:
        """Its IP address there."""
        self._state()
        return str(self._handle.attrs["NetworkSettings"]["Networks"][network]["IPAddress"])

    def published(self, port: int) -> tuple[str, int]:
        """Where this machine reaches one of its ports."""
        self._state()
        bindings = self._handle.attrs["NetworkSettings"]["Ports"].get(f"{port}/tcp")
        if not bindings:
            raise ContainerError(f"Docker has not published port {port} of {self.name}")
        return LOOPBACK, int(bindings[0]["HostPort"])


class Engine:
    """One owner's containers, networks and volumes at one daemon."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.owner = guard.owner_name(os.getpid())
        self._prefix = f"touchstone-{os.getpid()}-{os.urandom(4).hex()}-"
        self._made = 0

    @classmethod
    def connect(cls) -> Engine:
        """Ask this machine's daemon, and remove what the dead have left there."""
        engine = cls(_client(url := daemon_url()))
        sweep(engine._client)
        with _lock:
            _engines.append(engine)
            _write_note(url)
        return engine

    def check(self) -> None:
        """Raises DaemonLost unless Docker answers."""
        with asking("say whether it is there"):
            self._client.ping()

    def image(self, name: str) -> None:
        """See that an image is there; otherwise pull it."""
        import docker.errors

        with asking(f"look for the image {name}"), suppress(docker.errors.ImageNotFound):
            self._client.images.get(name)
            return
        try:
            with asking(f"pull {name}"):
                repository, _, tag = name.rpartition(":")
                self._client.images.pull(repository, tag=tag)
        except ContainerError as error:
            raise ContainerError(
                f"{error}; where no registry is reachable, `python -m ci.airgap up` makes a"
                " stand-in"
            ) from error

    def network(self) -> str:
        """A new bridge network; its name."""
        name = self._name("network")
        with asking("make a network"):
            self._client.networks.create(name, driver="bridge", labels={LABEL: self.owner})
        return name

    def volume(self, name: str) -> str:
        """A new empty volume; its name."""
        name = self._name(name)
        with asking("make a volume"):
            self._client.volumes.create(name, labels={LABEL: self.owner})
        return name

    def create(
        self, image: str, name: str, command: Sequence[str], ports: Sequence[int] = (),
        **options: Any,
    ) -> Container:  # fmt: skip
        """A container that is not started yet: `command` instead of the image's entrypoint; ports
        published on loopback; more options are docker.containers.create's."""
        self.image(image)
        with asking(f"make {name}"):
            handle = self._client.containers.create(
                image, entrypoint=command[0], command=list(command[1:]), detach=True,
                name=self._name(name), labels={LABEL: self.owner},
                ports={f"{port}/tcp": (LOOPBACK, None) for port in ports}, **options,
            )  # fmt: skip
        return Container(name, handle)

    def remove_all(self) -> None:
        """Remove whatever was made here and is still there, and hang up. Safe to call twice."""
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
    """Remove what dead owners left at daemons that answer; how many things that were."""
    removed = 0
    for note in Path(tempfile.gettempdir()).glob("touchstone-docker-*"):
        if not _is_note_of_the_dead(note):
            continue
        with suppress(ContainerError, OSError), closing(_client(note.read_text("utf-8"))) as client:
            removed += sweep(client)
            note.unlink()
    return removed


def sweep(client: Any) -> int:
    """Remove what is labelled with the name of a dead owner of our pid namespace."""
    return _sweep(client, _is_of_the_dead)


def _sweep(client: Any, is_meant: Callable[[Any], bool]) -> int:
    """Containers first: they hold the networks and the volumes."""
    labelled = {"label": LABEL}
    with asking("remove what was left behind"):
        containers = client.containers.list(all=True, filters=labelled, ignore_removed=True)
        # Those that live in another's network go before it.
        containers = [one for one in sorted(containers, key=_has_own_network) if is_meant(one)]
        networks = [one for one in client.networks.list(filters=labelled) if is_meant(one)]
        volumes = [one for one in client.volumes.list(filters=labelled) if is_meant(one)]
        for container in containers:
            _remove(container)
        for network in networks:
            network.remove()
        for volume in volumes:
            volume.remove(force=True)
    return len(containers) + len(networks) + len(volumes)


def _has_own_network(handle: Any) -> bool:
    return not str(handle.attrs["HostConfig"]["NetworkMode"]).startswith("container:")


def _remove(handle: Any) -> None:
    import docker.errors

    with suppress(docker.errors.NotFound):
        with suppress(docker.errors.APIError):
            handle.unpause()  # most are not paused, and one that is takes no SIGKILL
        handle.remove(force=True, v=True)


def _client(url: str) -> Any:
    import docker  # here: a fifth of a second, which only who asks Docker should wait

    with asking("say its version"):
        client = docker.DockerClient(base_url=url, timeout=TIMEOUT_S)
        client.ping()
    return client


def _is_of_the_dead(handle: Any) -> bool:
    """Is its owner dead? Of another pid namespace nobody knows who lives."""
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
