"""Run the commands of a cluster's owner, each to its end and within a time limit."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from chaos.means.owed import plain_environment
from chaos.values.protocols import TargetError

COMMAND_TIMEOUT_S = 60.0
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_OPERATOR = re.compile(r"&&|[;|<>]|&(?=\s|$)")


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a command as a shell splits them. Raise ValueError for an empty command,
    an unclosed quotation mark, or an operator of a shell: no shell runs the command, so the
    operator and all after it would be arguments of the first program."""
    words = tuple(shlex.split(text))
    if not words:
        raise ValueError("it is empty")
    if operator := _OPERATOR.search(_QUOTED.sub("", text)):
        raise ValueError(f"{operator.group().strip()} needs a shell: write sh -c '…'")
    return words


def run(command: Sequence[str], folder: Path) -> None:
    """Run one of the owner's commands to its end. Raise TargetError, with the last line of its
    output, if it fails. Raise it also if the command does not end within COMMAND_TIMEOUT_S and is
    killed, or if what it has started still holds its output then."""
    done = _done(command, folder, errors=subprocess.STDOUT)
    _check(command, done.returncode, done.stdout)


def output_of(command: Sequence[str], folder: Path) -> str:
    """Return the output of a command without surrounding white space. Raise TargetError if it
    fails or does not end in time, as `run` does; the message does not contain the output, which is
    a secret, but the last line of standard error."""
    done = _done(command, folder, errors=subprocess.PIPE)
    _check(command, done.returncode, done.stderr)
    try:
        return done.stdout.decode().strip()
    except UnicodeDecodeError:
        raise TargetError(
            f"the command {shlex.join(command)!r} prints bytes that are not UTF-8; correct it"
        ) from None


def _done(command: Sequence[str], folder: Path, errors: int) -> subprocess.CompletedProcess[bytes]:
    text = shlex.join(command)
    try:
        with subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=plain_environment(),
        ) as running:
            try:
                told = running.communicate(timeout=COMMAND_TIMEOUT_S)
            except subprocess.TimeoutExpired as error:
                raise TargetError(
                    f"the command {text!r} ended, but what it started holds its output still after"
                    f" {COMMAND_TIMEOUT_S:.0f} s; write that to a file: >> FILE 2>&1"
                    if running.poll() is not None
                    else f"the command {text!r} did not end within {COMMAND_TIMEOUT_S:.0f} s;"
                    " correct it"
                ) from error
            finally:
                if running.poll() is None:
                    _kill_all(running.pid)
    except OSError as error:
        raise TargetError(
            f"the command {text!r} cannot be run: {error.strerror}; correct it"
        ) from error
    return subprocess.CompletedProcess(command, running.returncode, *told)


def _kill_all(pid: int) -> None:
    """Kill a process and all that it has started, such as what a shell runs. They keep our process
    group, so that Ctrl-C reaches them."""
    found = [pid]
    for each in found:  # it grows
        with suppress(OSError):
            for thread in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (thread / "children").read_text().split())
    for each in reversed(found):
        with suppress(OSError):
            os.kill(each, signal.SIGKILL)


def _check(command: Sequence[str], status: int, told: bytes) -> None:
    if status:
        said = told.decode(errors="replace").strip().splitlines()
        raise TargetError(
            f"the command {shlex.join(command)!r} ended with status {status}:"
            f" {said[-1] if said else 'it said nothing'}; correct it"
        )
