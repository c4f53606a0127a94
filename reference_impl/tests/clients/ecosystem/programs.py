"""Run the Java programs of the tests: compile them, start them, end them by kill -9."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import URLError
from urllib.request import Request, urlopen

from linearizability.caches import cache_directory

SOURCES = Path(__file__).parent / "java"
JARS = cache_directory() / "ecosystem"
LOG4J = Path(__file__).parent / "log4j2.properties"
COMPILE_TIMEOUT_S = 120
ASK_TIMEOUT_S = 30
LOOK_EVERY_S = 0.2
TAIL = 3_000
T = TypeVar("T")


def compiled(source: str, folder: Path) -> Path:
    """Compile one source file; return the folder of its classes."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        ["javac", "-cp", f"{JARS}/*", "-d", str(folder), str(SOURCES / source)],
        capture_output=True,
        text=True,
        timeout=COMPILE_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


class Program:
    """A running Java program; its output goes to a log."""

    def __init__(self, log: Path, process: subprocess.Popen[bytes]) -> None:
        self.log = log
        self.process = process

    def kill(self) -> None:
        """End it without a word, as a crash does."""
        self.process.kill()
        self.process.wait()

    def said(self) -> str:
        """Return the end of its log, for the message of a failed test."""
        return self.log.read_text(errors="replace")[-TAIL:]


@contextmanager
def running(log: Path, classes: Path, main: str, *arguments: str) -> Iterator[Program]:
    """Start a main class with the classes and the ecosystem's jars; kill it in the end."""
    command = [
        *("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        *(f"-Dlog4j2.configurationFile={LOG4J}", "-cp", f"{classes}:{JARS}/*", main, *arguments),
    ]
    with log.open("ab") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT, cwd=log.parent)
    program = Program(log, process)
    try:
        yield program
    finally:
        program.kill()


def wait_for(what: str, ask: Callable[[], T], program: Program, timeout_s: float) -> T:
    """Return the first answer that is true; fail with the program's log if none comes in time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if answer := ask():
            return answer
        assert program.process.poll() is None, f"the program has ended: {program.said()}"
        time.sleep(LOOK_EVERY_S)
    raise AssertionError(f"{what}: not within {timeout_s:.0f} s; the program said {program.said()}")


def put(url: str, body: Mapping[str, Any]) -> bool:
    """Send JSON by PUT; return whether the worker took it (it refuses while it is starting)."""
    request = Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="PUT"
    )
    try:
        with urlopen(request, timeout=ASK_TIMEOUT_S) as answer:
            return bool(answer.status in (200, 201))
    except (URLError, OSError):
        return False


def written(path: Path, settings: Mapping[str, object]) -> Path:
    """Write Java properties; return the file."""
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path
