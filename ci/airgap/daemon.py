"""Run a private Docker daemon: its own socket, data and containerd, without changes to the machine.

It sets no iptables rule, no bridge docker0 and no forwarding; user-made networks get their own
bridges, and docker-proxy publishes ports. The daemon's pid and start time are stored, so that only
a daemon that was started here is ever stopped.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from chaos.means import guard, mounts
from ci import places
from ci.errors import UsageError

PROGRAM = "dockerd"
PACKAGES = "docker.io debootstrap iptables docker-compose"
"""The packages that `up` needs, by their Debian names."""
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
POLL_S = 0.1
DATA = places.CACHE / "airgap" / "docker"
STORAGE_DRIVERS = ("overlay2", "vfs")
"""The storage drivers to try, in this order. vfs copies every layer, but works on file systems for
which the kernel refuses overlay2."""


def run_directory() -> Path:
    """Return the daemon's directory for sockets, which has a short path, since a socket's path may
    have at most 107 characters. Each .cache folder gets a different one. It need not exist."""
    name = hashlib.sha256(str(places.CACHE).encode()).hexdigest()[:8]
    return Path(tempfile.gettempdir()) / f"touchstone-dockerd-{name}"


def url() -> str:
    return f"unix://{run_directory() / 'docker.sock'}"


def is_up() -> bool:
    return _living_pid() is not None and _answers()


def start() -> str:
    """Start the daemon unless it runs, and return its address. Raise UsageError if it cannot start:
    no dockerd, not root, or none of the storage drivers works."""
    if is_up():
        return url()
    program = shutil.which(PROGRAM, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if program is None:
        raise UsageError(f"airgap: there is no {PROGRAM}; apt-get install {PACKAGES}")
    if os.geteuid() != 0:
        raise UsageError("airgap: a Docker daemon must be started by root; become root")
    said = ""
    for driver in STORAGE_DRIVERS:
        said = _try_to_start(program, driver)
        if not said:
            return url()
    raise UsageError(f"airgap: {PROGRAM} does not start: {said} (all of it: {_log()})")


def stop() -> bool:
    """Stop the daemon that `start` started, and kill it if it still runs after STOP_TIMEOUT_S. End
    its containers and remove its mounts and run directory, also those that a killed one left; keep
    the images. Return whether a daemon ran."""
    pid = _living_pid()
    if pid is not None:
        os.kill(pid, signal.SIGTERM)
        _wait_for_end(pid, STOP_TIMEOUT_S)
        if guard.start_time(pid) is not None:
            os.kill(pid, signal.SIGKILL)
            _wait_for_end(pid, STOP_TIMEOUT_S)
    for orphan in _orphans():
        guard.end(orphan)
    for mount_point in _mount_points():
        subprocess.run(["umount", "-l", mount_point], capture_output=True, check=False)
    shutil.rmtree(run_directory(), ignore_errors=True)
    return pid is not None


def purge() -> None:
    """Stop the daemon and delete all its data, images included."""
    stop()
    shutil.rmtree(DATA, ignore_errors=True)


def _try_to_start(program: str, driver: str) -> str:
    """Start the daemon with this storage driver. Return "" once it answers. Else kill it after
    START_TIMEOUT_S, unless it has ended, and return the last line of its log."""
    directory = run_directory()
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o711)  # the group docker may use the socket
    DATA.mkdir(parents=True, exist_ok=True)
    command = [
        program,
        "--host",
        url(),
        "--data-root",
        str(DATA),
        "--exec-root",
        str(directory / "exec"),
        "--pidfile",
        str(directory / "docker.pid"),
        "--storage-driver",
        driver,
        "--exec-opt",
        "native.cgroupdriver=cgroupfs",
        "--cgroup-parent",
        run_directory().name,
        "--bridge",
        "none",
        "--iptables=false",
        "--ip-forward=false",
        "--ip-masq=false",
    ]
    # It outlives this process, so it must not carry the variable by which children are ended.
    environment = {key: value for key, value in os.environ.items() if key != guard.VARIABLE}
    with _log().open("wb") as log:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    (directory / "owner").write_text(f"{child.pid} {guard.start_time(child.pid)}")
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and child.poll() is None:
        if _answers():
            return ""
        time.sleep(POLL_S)
    if child.poll() is None:
        child.kill()
        child.wait()
    lines = _log().read_text("utf-8", "replace").splitlines()
    return lines[-1] if lines else "it said nothing"


def _living_pid() -> int | None:
    with suppress(OSError, ValueError):
        pid, started = (run_directory() / "owner").read_text().split()
        if guard.start_time(int(pid)) == started:
            return int(pid)
    return None


def _answers() -> bool:
    import docker

    try:
        client = docker.DockerClient(base_url=url(), timeout=5)
        try:
            return bool(client.ping())
        finally:
            client.close()
    except Exception:  # requests, urllib3, sdk and socket errors all mean the same here
        return False


def _wait_for_end(pid: int, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while guard.start_time(pid) is not None and time.monotonic() < deadline:
        time.sleep(POLL_S)


def _orphans() -> list[int]:
    """Return the pids of processes that a killed daemon left: its containerd, and processes of
    containers, which are in a control group with this daemon's name."""
    here = str(run_directory()).encode()
    group = f"/{run_directory().name}/".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (process / "cmdline").read_bytes()
            is_containerd = b"containerd" in command.partition(b"\0")[0] and here in command
            if is_containerd or group in (process / "cgroup").read_bytes():
                found.append(int(process.name))
    return found


def _mount_points() -> list[str]:
    """Return the mount points that a killed daemon left below its directories, the innermost
    first."""
    ours = (f"{DATA}/", f"{run_directory()}/")
    found = (where for where in mounts.mount_points() if f"{where}/".startswith(ours))
    return sorted(found, reverse=True)


def _log() -> Path:
    places.LOGS.mkdir(parents=True, exist_ok=True)
    return places.LOGS / "dockerd.log"
