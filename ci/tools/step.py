"""One step of the set-up: skipped if a stamp over its inputs matches, and made within a time
limit."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ci import places


class StepFailed(Exception):
    """A set-up step failed: the message says why it cannot be done here and what to do."""


@dataclass(frozen=True)
class Step:
    """One component of .cache. `make` must produce all of `output` or raise StepFailed."""

    name: str
    inputs: tuple[Path, ...]
    output: Path
    make: Callable[[], None]
    settings: str = ""
    """Other facts that determine the result, such as command-line flags."""

    def key(self) -> str:
        digest = hashlib.sha256(self.settings.encode())
        for path in self.inputs:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()

    @property
    def stamp(self) -> Path:
        return places.STAMPS / self.name.replace(" ", "-")

    def is_done(self) -> bool:
        return (
            self.output.exists() and self.stamp.is_file() and self.stamp.read_text() == self.key()
        )

    def perform(self) -> str:
        """Make the component unless it is up to date, and stamp it. Return "ready" or how
        long it took, for the progress line. Raise StepFailed if it cannot be made."""
        if self.is_done():
            return "ready"
        started = time.monotonic()
        key = self.key()
        self.stamp.unlink(missing_ok=True)
        self.make()
        self.stamp.parent.mkdir(parents=True, exist_ok=True)
        self.stamp.write_text(key)
        return f"made in {time.monotonic() - started:.0f} s"


def run_logged(
    name: str,
    command: list[str],
    *,
    folder: Path = places.ROOT,
    environment: dict[str, str] | None = None,
    timeout_s: float = 600,
) -> None:
    """Run a command with its output in .cache/logs. Raise StepFailed if it cannot be run, fails
    (the message has the log's path and first error), or takes longer than timeout_s: then it is
    killed with all it has started. environment: variables set beside this process's own."""
    places.LOGS.mkdir(parents=True, exist_ok=True)
    log = places.LOGS / f"{name.replace(' ', '-')}.log"
    with log.open("w") as sink:
        try:
            child = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that a time-out also ends what the command started
            )
        except OSError as error:
            raise StepFailed(f"{command[0]} cannot be run: {error.strerror}") from error
        try:
            status = child.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise StepFailed(
                f"{command[0]} took longer than {timeout_s:.0f} s (all of it: {places.shown(log)})"
            ) from error
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
    if status != 0:
        where = places.shown(log)
        raise StepFailed(f"{Path(command[0]).name} failed: {last_error(log)} (all of it: {where})")


def last_error(log: Path) -> str:
    """Return the first line of the log that names an error, since later ones are usually its
    consequences; if no line does, the last line, or "" for an empty log."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")


def install_locked(name: str, lock: Path) -> None:
    """Install a package and its dependencies from another lock file, with their hashes, into the
    running Python's environment. Raise StepFailed if pip fails. name: the package, for the log."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--no-input",
        "install",
        "-q",
    ]
    run_logged(f"{name} wheel", [*pip, "--require-hashes", "-r", str(lock)])
