"""Fake a Docker daemon as its SDK shows it: remember what was created, and what was requested."""

from __future__ import annotations

import io
import itertools
import tarfile
from collections.abc import Mapping, Sequence
from typing import Any

import docker.errors

from chaos.means.docker.containers import STAND_IN


class FakeHandle:
    """A container or network."""

    def __init__(self, home: FakeCollection, name: str, labels: Mapping[str, str], **options: Any):
        self.home, self.name, self.labels, self.options = home, name, dict(labels), options
        self.id = f"id-{name}"
        self.state = {"Status": "created", "ExitCode": 0, "Pid": 0}
        self.files: dict[str, str] = {}
        self.starts = 0
        self.executed: list[list[str]] = []

    @property
    def attrs(self) -> dict[str, Any]:
        number = self.home.number_of(self.name)
        ports = itertools.count(40_000 + 100 * number)
        wanted = self.options.get("ports") or {}
        return {
            "Labels": self.labels,
            "State": self.state,
            "IPAM": {"Config": [{"Gateway": self.home.gateway}]},
            "HostConfig": {"NetworkMode": self.options.get("network_mode", "bridge")},
            "NetworkSettings": {
                "Ports": {port: [{"HostPort": str(next(ports))}] for port in wanted},
                "Networks": {self.options.get("network"): {"IPAddress": f"10.9.0.{number}"}},
            },
        }

    def reload(self) -> None:
        self.home.check()

    def start(self) -> None:
        self.state["Status"] = "running"
        self.starts += 1

    def stop(self, timeout: int) -> None:
        self.state["Status"] = "exited"

    def kill(self) -> None:
        self.state |= {"Status": "exited", "ExitCode": 137}

    def wait(self, timeout: int) -> None:
        assert self.state["Status"] == "exited"

    def pause(self) -> None:
        self.state["Status"] = "paused"

    def unpause(self) -> None:
        if self.state["Status"] != "paused":
            raise docker.errors.APIError("not paused")
        self.state["Status"] = "running"

    def logs(self, tail: int | str) -> bytes:
        return b"one\n\tat nowhere\ntwo\n"

    def put_archive(self, path: str, data: bytes) -> None:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for entry in archive:
                file = archive.extractfile(entry)
                assert file is not None
                self.files[path + entry.name] = file.read().decode()

    def exec_run(self, command: list[str]) -> tuple[int, bytes]:
        self.executed.append(command)
        return (1, b"no such rule\n") if command[0] == "false" else (0, b"done")

    def remove(self, **_: Any) -> None:
        self.home.check()
        self.home.handles.remove(self)
        self.home.removed.append(self.name)


class FakeCollection:
    """client.containers, client.networks."""

    def __init__(self, client: FakeDocker) -> None:
        self._client = client
        self.handles: list[FakeHandle] = []
        self.gateway = "127.0.0.1"
        self.removed: list[str] = client.removed
        self._names: list[str] = []

    def check(self) -> None:
        if self._client.dead:
            raise docker.errors.DockerException("connection refused")

    def number_of(self, name: str) -> int:
        return self._names.index(name)

    def create(self, image_or_name: str, **options: Any) -> FakeHandle:
        self.check()
        name = options.pop("name", image_or_name)
        handle = FakeHandle(self, name, options.pop("labels", {}), **options)
        self.handles.append(handle)
        self._names.append(name)
        return handle

    def list(self, filters: Mapping[str, str], **_: Any) -> Sequence[FakeHandle]:
        self.check()
        return [one for one in self.handles if filters["label"] in one.labels]


class FakeImage:
    """One of client.images."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self.labels = labels


class FakeImages:
    """client.images: some are there, stand-ins; others only where there is a registry."""

    def __init__(self, *names: str) -> None:
        self.there = {name: FakeImage({STAND_IN: "1"}) for name in names}
        self.registry: set[str] = set()

    def get(self, name: str) -> FakeImage:
        if name not in self.there:
            raise docker.errors.ImageNotFound(name)
        return self.there[name]

    def pull(self, repository: str, tag: str) -> None:
        name = f"{repository}{'@' if tag.startswith('sha256:') else ':'}{tag}"
        if name in self.registry:
            self.there[name] = FakeImage({})
            return
        raise docker.errors.APIError("no such host", explanation="the registry is not reachable")


class FakeDocker:
    """docker.DockerClient."""

    def __init__(self, *images: str) -> None:
        self.dead = False
        self.removed: list[str] = []
        self.images = FakeImages(*images)
        self.containers, self.networks = (FakeCollection(self) for _ in range(2))
        self.security: list[str] = []

    def info(self) -> Mapping[str, object]:
        return {"SecurityOptions": self.security}

    def close(self) -> None:
        """Its connections; the next question opens new ones."""

    def ping(self) -> None:
        self.containers.check()
