"""Spark on the loopback address, for tests: a standalone cluster of one worker; Connect."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from linearizability.engine.java import java_environment

WITHIN_S = 300
LOOPBACK = "127.0.0.1"
_DEPLOY = "org.apache.spark.deploy"


@contextmanager
def standalone_cluster(directory: Path) -> Iterator[str]:
    """Provide the URL of its master, once the worker has registered; all its processes end with
    it."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        log = directory / "master.log"
        ports = ("--host", LOOPBACK, "--port", "0", "--webui-port", "0")
        started.append(_start(log, f"{_DEPLOY}.master.Master", *ports))
        master = _wait_for(log, r"Starting Spark master at (spark://\S+)")
        worker = ("--cores", "2", "--memory", "1g", "--work-dir", str(directory / "work"))
        started.append(
            _start(directory / "worker.log", f"{_DEPLOY}.worker.Worker", *ports, *worker, master)
        )
        _wait_for(directory / "worker.log", r"Successfully registered with master (\S+)")
        yield master
    finally:
        _end(started)


@contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """Provide the URL of a Spark Connect server that runs its tasks in itself; it ends with the
    block."""
    log = directory / "connect.log"
    settings = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": "0",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(directory),
    }
    given = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    server = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer")
    started = _start(
        log, f"{_DEPLOY}.SparkSubmit", "--master", "local[2]", *given, *server, "spark-internal"
    )
    try:
        yield "sc://" + _wait_for(log, r"Spark Connect server started at: (\S+)")
    finally:
        _end([started])


def _end(started: list[subprocess.Popen[bytes]]) -> None:
    for process in reversed(started):
        process.terminate()
    for process in started:
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        process.wait()


def _start(log: Path, *words: str) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        **java_environment(),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "640m",
        "PYSPARK_PYTHON": sys.executable,
    }
    with log.open("wb") as out:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), *words], stdout=out, stderr=out, env=environment
        )


def _wait_for(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise TimeoutError(f"{log.name} does not say {pattern!r}:\n{log.read_text()[-2000:]}")
