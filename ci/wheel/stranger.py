"""Act as a user who has nothing but Python and the wheel: an empty environment and an empty
folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 900.0
BEFORE = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
"""The packages that a new environment contains before the wheel is installed."""
READY_S = 60.0


class WalkFailed(Exception):
    """Raised if a command did not end as expected; the message has the command and the end of its
    output."""


@dataclass(frozen=True)
class Stranger:
    """A user with nothing but the wheel. folder: where the commands are typed. cache: the folder of
    tools that `touchstone setup` builds."""

    folder: Path
    cache: Path
    programs: str = "/usr/local/bin:/usr/bin:/bin"
    """The PATH beside the environment; "" for a user with Python alone."""

    @property
    def environment(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}-environment")

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables for commands; of the developer's own, only those of pip and the
        network."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in ("HOME", "LANG") or name.startswith("PIP_") or name.endswith("_proxy")
        }
        path = ":".join(filter(None, (str(self.environment / "bin"), self.programs)))
        return {**kept, "PATH": path, "TOUCHSTONE_CACHE": str(self.cache)}

    def begin(self) -> None:
        """Make an environment with nothing but pip."""
        venv.create(self.environment, with_pip=True, clear=True)

    def types(self, line: str, *, status: int = 0, folder: Path | None = None) -> tuple[str, float]:
        """Run a command line, in another folder if one is given. Return its standard output and how
        many seconds it took. Raise WalkFailed if it does not end in time, ends with another exit
        status, or prints a traceback."""
        began = time.monotonic()
        try:
            done = subprocess.run(
                shlex.split(line),
                cwd=folder or self.folder,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as error:
            said = (error.stdout or b"").decode(errors="replace")[-3000:]
            raise WalkFailed(f"`{line}` did not end within {TIMEOUT_S:g} s:\n{said}") from error
        said = f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        if done.returncode != status:
            raise WalkFailed(f"`{line}` ended with {done.returncode}, not {status}:\n{said}")
        if "Traceback (most recent call last)" in done.stderr:
            raise WalkFailed(f"`{line}` ended with {status}, but printed a traceback:\n{said}")
        return done.stdout, time.monotonic() - began

    def seconds_until(self, line: str, sign: str) -> float:
        """Run a command line to its end. Return how many seconds passed before its output matched
        this pattern, in which ^ is the start of a line. Raise WalkFailed if it never did."""
        began, told = time.monotonic(), ""
        found_s: float | None = None
        with self.running(line) as output:
            for text in output:
                told += text
                if found_s is None and re.search(sign, told, re.MULTILINE):
                    found_s = time.monotonic() - began
        if found_s is None:
            raise WalkFailed(f"`{line}` ended without {sign!r}:\n{told[-3000:]}")
        return found_s

    @contextmanager
    def running(self, line: str) -> Iterator[Iterator[str]]:
        """Run a command line during the `with` block, and yield its output and errors, piece by
        piece. End the command with the block."""
        child = subprocess.Popen(
            shlex.split(line),
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert child.stdout is not None
        descriptor = child.stdout.fileno()
        try:
            yield (
                piece.decode(errors="replace")
                for piece in iter(lambda: os.read(descriptor, 4096), b"")
            )
        finally:
            child.terminate()
            child.wait(READY_S)
            child.stdout.close()

    def packages(self) -> set[str]:
        """Return the names of the installed packages."""
        return {each.name.partition("-")[0] for each in self.environment.rglob("*.dist-info")}

    def megabytes(self) -> float:
        """Return the size of the files that pip installed, in MB, without those of pip itself."""
        [packages] = self.environment.glob("lib/python3*/site-packages")
        files = (file for file in packages.rglob("*") if file.is_file())
        own = (file for file in files if file.relative_to(packages).parts[0] not in BEFORE)
        return sum(file.stat().st_size for file in own) / 1e6
