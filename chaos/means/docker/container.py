"""One container, which a cluster treats like a child process. Docker's errors are turned into one
sentence.

A descriptor (pidfd.py) holds the container's first process from its start on, after its control
group has shown that the process belongs to this container. With it the process is observed, killed
and paused without the daemon, which takes tens of milliseconds for each request. That needs no
root: a user may signal his own processes. If the process cannot be held or signalled, Docker does
everything.
"""

from __future__ import annotations

import io
import signal
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from chaos.means import processes
from chaos.means.pidfd import HeldProcess
from chaos.values.protocols import TargetError, TargetLost

TIMEOUT_S = 30
END_TIMEOUT_S = 15.0
LINE_LENGTH_MAX = 300
LOOPBACK = "127.0.0.1"


class ContainerError(TargetError):
    """Raised if Docker refuses a request, or is not set up as needed. The message is one sentence
    with Docker's reason, or with what to do."""


class DaemonLost(ContainerError, TargetLost):
    """Raised if Docker does not answer."""


@contextmanager
def asking(what: str) -> Iterator[None]:
    """Turn an error of Docker inside the `with` block into a ContainerError of one sentence, or
    into a DaemonLost if Docker does not answer. what: what Docker was asked to do."""
    import docker.errors
    import requests

    try:
        yield
    except docker.errors.APIError as error:
        said = error.explanation or str(error)
        raise ContainerError(f"Docker refuses to {what}: {_sentence(said)}") from error
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise DaemonLost(
            f"Docker does not answer when asked to {what} ({_reason(error)}); check that its daemon"
            " runs; the next command of Touchstone removes the containers that are left"
        ) from error


def _reason(error: BaseException) -> str:
    """Return the system's own message if an OSError lies below the exceptions that wrapped it, or
    else the error's text on one line."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError) and inner.strerror:
            return inner.strerror.lower()
        inner = inner.__cause__ or inner.__context__
    return _sentence(str(error))


def _sentence(said: str) -> str:
    return " ".join(said.split())[:LINE_LENGTH_MAX].rstrip(".")


class Container:
    """One container; to a cluster it is a child process (processes.Process). Its methods raise
    ContainerError if Docker refuses what they ask, and DaemonLost if it does not answer."""

    def __init__(self, name: str, handle: Any) -> None:
        self.name = name
        self.paused = False
        self._handle = handle
        self._held: HeldProcess | None = None
        self._struck = self._frozen = False

    @property
    def id(self) -> str:
        return str(self._handle.id)

    @property
    def pid(self) -> int:
        """Return the process id of the container's first process on this machine, or 0 if it does
        not run."""
        return int(self._state()["Pid"])

    @property
    def running(self) -> bool:
        """Return whether the container has neither ended nor been sent SIGKILL by `strike`; a
        paused container counts as running."""
        if self._held is not None:
            return not self._struck and self._held.running
        return self._state()["Status"] in ("running", "paused")

    @property
    def exit_status(self) -> int | None:
        if self.running:
            return None
        self._let_docker_notice()
        return int(self._state()["ExitCode"])

    def _state(self) -> Mapping[str, Any]:
        with asking(f"inspect {self.name}"):
            self._handle.reload()
        state: Mapping[str, Any] = self._handle.attrs["State"]
        return state

    def start(self) -> None:
        """Start the container, for the first time or again. Docker restarts no container by
        itself."""
        self._let_docker_notice()
        with asking(f"start {self.name}"):
            self._handle.start()
        self._held = HeldProcess.in_group(self.pid, self.id)
        self._struck = False

    def pause(self) -> None:
        """Stop the container by SIGSTOP, or by Docker's freezer: it keeps its sockets and answers
        nothing. The freezer fails on processes that often wait for a disk in a system call."""
        if not self._send(signal.SIGSTOP):
            with asking(f"pause {self.name}"):
                self._handle.pause()
            self._frozen = True
        self.paused = True

    def is_halted(self) -> bool:
        """Return whether every thread of the paused container has stopped. Return True if its
        process is not held (pidfd.py).

        Docker's own pause returns only when the freezer is done.
        """
        return self._frozen or all(processes.has_stopped(one.pid) for one in self._all_held())

    def resume(self) -> None:
        if not self._send(signal.SIGCONT) or self._frozen:
            with asking(f"unpause {self.name}"):
                self._handle.unpause()
        self.paused = self._frozen = False

    def strike(self) -> bool:
        """Send SIGKILL without waiting, and return True (see chaos.means.processes.strike). Return
        False if the container is frozen, or if this user cannot signal its process; then `kill`
        must ask Docker."""
        self._struck = not self._frozen and self._send(signal.SIGKILL)
        return self._struck

    def stands_still(self) -> bool:
        """Return whether no thread of the container's process executes its program any more, after
        SIGKILL. Return True if that process is not held (pidfd.py)."""
        held = self._held
        return held is None or not processes.runs_its_program(held.pid) or not held.running

    def kill(self) -> None:
        """Send SIGKILL and wait until the container has ended. Let Docker do it if the process is
        frozen, cannot be signalled, or still exists after TIMEOUT_S; raise DaemonLost if Docker
        does not report the end within as long."""
        if not self._has_ended(TIMEOUT_S if self.strike() else 0.0):
            with asking(f"kill {self.name}"):
                if self._state()["Status"] in ("running", "paused"):
                    self._handle.kill()
                    self._handle.wait(timeout=TIMEOUT_S)
        self.paused = self._frozen = False

    def _send(self, number: signal.Signals) -> bool:
        """Send a signal to all processes of the container, including those forked meanwhile. Return
        False if one that still runs cannot be signalled, or if the first process is not held."""
        if self._held is None or not self._held.strike(number):
            return False
        sent_to = {self._held.pid}
        while others := [one for one in self._all_held() if one.pid not in sent_to]:
            sent_to |= {one.pid for one in others}
            if not all(one.strike(number) or not one.running for one in others):
                return False
        return True

    def _all_held(self) -> list[HeldProcess]:
        """Return the container's first process, and the others in its pid namespace."""
        return [] if self._held is None else [self._held, *self._held.company()]

    def _has_ended(self, timeout_s: float) -> bool:
        return self._held is not None and self._held.wait(timeout_s)

    def _let_docker_notice(self) -> None:
        """Wait until Docker has noticed the end of the process, which takes it a while. Do nothing
        if the process runs, or is not held."""
        if self._has_ended(TIMEOUT_S if self._struck else 0.0):
            with asking(f"report the end of {self.name}"):
                self._handle.wait(timeout=TIMEOUT_S)

    def end(self, timeout_s: float = END_TIMEOUT_S) -> None:
        """Resume the container if it is paused. Let Docker send SIGTERM, wait up to timeout_s
        (whole seconds, at least 1), and then send SIGKILL. It is allowed to call this again, or
        after the container has ended."""
        if self.paused and self.running:
            self.resume()
        with asking(f"stop {self.name}"):
            self._handle.stop(timeout=max(1, round(timeout_s)))

    def remove(self) -> None:
        """Kill the container, and remove it with its anonymous volumes. Do nothing if it is already
        gone."""
        with asking(f"remove {self.name}"):
            remove(self._handle)

    def last_words(self, lines: int = 2) -> str:
        """Return the last lines of the container's output, without stack traces, joined to one line
        for an error message. Return "" if Docker does not tell the output."""
        with suppress(ContainerError):
            told = [line for line in self.log(50).splitlines() if line[:1].strip()]
            return " / ".join(line[:LINE_LENGTH_MAX] for line in told[-lines:])
        return ""

    def log(self, lines: int | str = "all") -> str:
        """Return the container's output, its last `lines` lines or all of it."""
        with asking(f"return the output of {self.name}"):
            return str(self._handle.logs(tail=lines).decode("utf-8", "replace"))

    def put(self, files: Mapping[str, str]) -> None:
        """Write files (absolute path -> text) into the container, which need not run."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path, text in files.items():
                entry = tarfile.TarInfo(path.lstrip("/"))
                content = text.encode()
                entry.size, entry.mode = len(content), 0o644
                archive.addfile(entry, io.BytesIO(content))
        with asking(f"copy files into {self.name}"):
            self._handle.put_archive("/", packed.getvalue())

    def execute(self, *command: str) -> str:
        """Run a command in the container beside its process, and return its output. Raise
        ContainerError if it fails."""
        with asking(f"run {command[0]} in {self.name}"):
            status, output = self._handle.exec_run(list(command))
        said = str(output.decode("utf-8", "replace"))
        if status != 0:
            raise ContainerError(f"{command[0]} in {self.name} failed: {_sentence(said)}")
        return said

    def address(self, network: str) -> str:
        """Return the container's IP address in that network. Raise KeyError if it is not connected
        to the network."""
        self._state()
        return str(self._handle.attrs["NetworkSettings"]["Networks"][network]["IPAddress"])

    def published(self, port: int) -> tuple[str, int]:
        """Return the host and port at which this machine reaches a port of the container. Raise
        ContainerError if Docker has not published the port."""
        self._state()
        bindings = self._handle.attrs["NetworkSettings"]["Ports"].get(f"{port}/tcp")
        if not bindings:
            raise ContainerError(f"Docker has not published port {port} of {self.name}")
        return LOOPBACK, int(bindings[0]["HostPort"])


def remove(handle: Any) -> None:
    """Remove a container, given as an object of Docker's SDK, and its anonymous volumes, even if it
    runs or is paused. Do nothing if it is already gone."""
    import docker.errors

    with suppress(docker.errors.NotFound):
        with suppress(docker.errors.APIError):
            handle.unpause()  # a paused container takes no SIGKILL; most are not paused
        handle.remove(force=True, v=True)
