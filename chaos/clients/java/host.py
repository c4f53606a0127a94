"""The Java process that runs Apache Kafka's own clients, and the exchange of lines with it.

One Java process serves all clients of a run (java/KafkaClients.java: a request is a line of JSON,
and so is its answer), since a process for each would cost a second to start and a hundred
megabytes. Its source is compiled once for each version. It ends with the last client, or with this
process.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
from functools import lru_cache
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from chaos.means.caches import cache_directory
from chaos.means.java import find_java
from chaos.values.protocols import TargetError

SOURCE = Path(__file__).resolve().parent / "KafkaClients.java"
KAFKA_VERSION = "4.3.1"
COMPILE_TIMEOUT_S = 120
END_TIMEOUT_S = 5.0
OPTIONS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dlog4j2.level=OFF",
    "-Djava.net.preferIPv4Stack=true",
)
Answer = dict[str, Any]
Answers = SimpleQueue[Answer | None]
"""One answer, or None if the process has ended without one."""


class HostError(RuntimeError):
    """Raised if the Java process has ended or does not answer, or if its client cannot be made."""


class JavaHost:
    """The Java process, started for the first client and ended with the last. Its methods are
    thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._clients: set[int] = set()
        self._numbers = count(1)
        self._requests = count(1)
        self.process: subprocess.Popen[bytes] | None = None
        self._waiting: dict[int, tuple[subprocess.Popen[bytes] | None, Answers]] = {}
        """Request -> the Java process that was asked, and where the answer is awaited."""

    def enter(self) -> int:
        """Register a client, starting the Java process if none runs. Return the client's number.
        Raise TargetError if the process cannot be started."""
        with self._lock:
            if self.process is None or self.process.poll() is not None:
                self.process = _start()
                threading.Thread(target=self._read, args=(self.process,), daemon=True).start()
            number = next(self._numbers)
            self._clients.add(number)
            return number

    def leave(self, client: int) -> None:
        """Remove a closed client from the list. When no client is left, end the Java process and
        wait for it, killing it after END_TIMEOUT_S."""
        with self._lock:
            self._clients.discard(client)
            process = self.process
            if self._clients or process is None:
                return
            self.process = None
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def ask(self, client: int, op: str, timeout_s: float, **fields: Any) -> Answer:
        """Let the Java process perform one operation and return its answer, which has the key
        `error` if the operation failed. Raise HostError if there is no answer in time, or the
        process has ended."""
        with self._lock:
            process, number = self.process, next(self._requests)
            answers: Answers = SimpleQueue()
            self._waiting[number] = process, answers
        try:
            if process is None or process.poll() is not None:
                raise HostError("the Java process has ended")
            line = json.dumps({"id": number, "client": client, "op": op, **fields})
            assert process.stdin is not None
            try:
                with self._writing:
                    process.stdin.write(line.encode() + b"\n")
                    process.stdin.flush()
                answer = answers.get(timeout=timeout_s)
            except Empty:
                raise HostError(f"no answer to {op} within {timeout_s:g} s") from None
            except OSError as error:
                raise HostError(f"the Java process cannot be reached: {error}") from error
            if answer is None:
                raise HostError("the Java process has ended")
            return answer
        finally:
            with self._lock:
                del self._waiting[number]

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                answer = json.loads(line)
                with self._lock:
                    waiting = self._waiting.get(answer["id"])
                if waiting is not None:
                    waiting[1].put(answer)
        process.wait()
        with self._lock:
            for asked, queue in self._waiting.values():
                if asked is process:  # the next process may have been asked already
                    queue.put(None)


def _start() -> subprocess.Popen[bytes]:
    """Start the JVM. Raise TargetError if Java or the jars are missing, or as `compiled` does."""
    command = [
        str(find_java()),
        *OPTIONS,
        "-cp",
        os.pathsep.join([str(compiled()), *_jars()]),
        "KafkaClients",
    ]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C at the terminal is for us: it ends with its input
    )


def _jars() -> list[str]:
    folder = cache_directory() / "kafka" / KAFKA_VERSION
    if not (folder / f"kafka-clients-{KAFKA_VERSION}.jar").exists():
        raise TargetError(
            f"the jars of Apache Kafka {KAFKA_VERSION} are not here, which --client java needs; run"
            " `make setup` (it needs Maven)"
        )
    return [str(jar) for jar in sorted(folder.glob("*.jar"))]


@lru_cache(None)
def compiled() -> Path:
    """Return the folder with the classes, compiled once for each version of the source. Raise
    TargetError if Java, the jars or the compiler are missing, or if the compiler fails or does not
    end within COMPILE_TIMEOUT_S."""
    version = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    folder = cache_directory() / "java-clients" / version
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        done = subprocess.run(
            [
                find_java(),
                "-m",
                "jdk.compiler/com.sun.tools.javac.Main",
                "-d",
                unfinished,
                "-cp",
                os.pathsep.join(_jars()),
                SOURCE,
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=COMPILE_TIMEOUT_S,
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise TargetError(
                "--client java needs a JDK, whose compiler is missing or failed"
                f" ({said[0] if said else done.returncode}); install a JDK 17, or choose --client"
                " confluent"
            )
        try:
            unfinished.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was quicker
                raise
    except subprocess.TimeoutExpired as error:
        raise TargetError(
            f"--client java: its compiler did not end within {error.timeout:g} s; try again when"
            " this machine is less busy, or choose --client confluent"
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder
