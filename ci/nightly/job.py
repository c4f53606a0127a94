"""Run one attack in a separate process (ci.nightly.attacker), so that a crash there ends neither
another attack nor the night.

The process holds a pipe from this one as its standard input. It shuts down cleanly when that
pipe closes, even because this process was killed, or when it is interrupted. Its output goes to a
file, which stays readable when the process has died.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from chaos.means import ports
from chaos.record.run_directory import Scenario
from chaos.values.protocols import TargetError

LOOK_EVERY_S = 0.3
END_TIMEOUT_S = 120.0
"""The limit in seconds for ending a run: the heal, the stop of every node and so on."""
LAST_WORDS = 3


class JobError(TargetError):
    """Raised if the attack could not be made, or its process died; the message is one sentence."""


@dataclass
class Job:
    """The process of one attack, from `start` to `result`."""

    result_file: Path
    log: Path
    process: subprocess.Popen[bytes]
    _said: int = 0

    @classmethod
    def start(cls, scenario: Scenario, runs: Path, home: Path, own_ports: range) -> Self:
        """Start the process. home: the directory for its files. own_ports: ports that no other job
        uses."""
        home.mkdir(parents=True, exist_ok=True)
        asked, result, log = (home / name for name in ("scenario.json", "result.json", "job.log"))
        asked.write_text(json.dumps(asdict(scenario) | {"config": dict(scenario.config)}))
        result.unlink(missing_ok=True)
        command = [
            sys.executable,
            "-P",
            "-m",
            "ci.nightly.attacker",
            *map(str, (asked, runs, result)),
        ]
        environment = {**os.environ, ports.VARIABLE: f"{own_ports.start}-{own_ports.stop - 1}"}
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,  # only the night itself handles Ctrl-C
            )
        return cls(result, log, process)

    def wait(self, interrupted: threading.Event, say: Callable[[str], None]) -> None:
        """Wait until the process has ended, and pass its output to `say`. If `interrupted` is set
        or `say` raises, let it shut down, and kill it after END_TIMEOUT_S: it never outlives this
        call."""
        try:
            while self.process.poll() is None and not interrupted.is_set():
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(LOOK_EVERY_S)
                self._repeat(say)
        finally:
            self._end()
        self._repeat(say)

    def _end(self) -> None:
        """Ask the process to end by closing its input, and kill it if it has not ended after
        END_TIMEOUT_S. Do nothing if it has ended by itself."""
        self._close_input()
        try:
            self.process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()  # chaos.means.guard and the next command clean up what it leaves
            self.process.wait()

    def result(self) -> Path:
        """Return the run directory, once `wait` has returned. Raise JobError with the reason if
        there is no run to judge."""
        try:
            told: Mapping[str, Any] = json.loads(self.result_file.read_text())
        except (OSError, ValueError):
            raise JobError(f"the attack's process {self._ending()}; {self._last_words()}") from None
        if told["error"]:
            raise JobError(str(told["error"]))
        return Path(told["directory"])

    def _ending(self) -> str:
        status = self.process.returncode
        if status is not None and status < 0:
            with suppress(ValueError):
                return f"was ended by {signal.Signals(-status).name}"
        return f"ended with status {status} and no result"

    def _last_words(self) -> str:
        lines = [line for line in self.log.read_text("utf-8", "replace").splitlines() if line]
        return f"it said last: {' / '.join(lines[-LAST_WORDS:]) or 'nothing'}"

    def _close_input(self) -> None:
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()

    def _repeat(self, say: Callable[[str], None]) -> None:
        """Pass the complete lines that the process has printed since the last call to `say`; an
        incomplete last line waits for the next call."""
        with self.log.open("rb") as log:
            log.seek(self._said)
            whole, newline, _ = log.read().rpartition(b"\n")
        self._said += len(whole) + len(newline)
        for line in whole.decode("utf-8", "replace").splitlines():
            say(line)
