"""Spark Connect: a Spark cluster behind a server, used over gRPC (`--spark-master sc://host:port`).

The engine uses nothing but DataFrames, so it works with a Connect session as well as with a session
of its own. A Connect session has no Spark context: the kernels are sent to the executors as an
artifact of the session, and only the settings of a session can be changed. This side needs neither
Java nor a heap.

PySpark allows one kind of session per process, and keeps the kind in the environment (`MODE`).
"""

from __future__ import annotations

import os
import socket
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEME = "sc://"
PORT = 15002
"""The default of spark.connect.grpc.binding.port."""
ANSWER_WITHIN_S = 10
"""The seconds to wait until a server accepts a connection. (PySpark itself would retry for
minutes.)"""
MODE = "SPARK_CONNECT_MODE_ENABLED"

NEEDED = {
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "google.rpc": "googleapis-common-protos",
    "zstandard": "zstandard",
}
"""Import name -> package, for the imports that PySpark's Connect client needs beyond the engine's:
`pyspark[connect]`."""
MEND = "pip install 'touchstone-kafka[spark]'"


def is_connect(master: str) -> bool:
    """Return whether this master is reached through Spark Connect."""
    return master.startswith(SCHEME)


def missing_packages() -> list[str]:
    """Return those packages of `NEEDED` that are not installed here."""
    return [package for module, package in NEEDED.items() if not is_there(module)]


def is_there(module: str) -> bool:
    """Return whether a module can be imported."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package is missing, too
        return False


def hindrance(url: str) -> str | None:
    """Return a sentence why this server cannot give a session, or None if the packages are
    installed, the URL is sound and something accepts a connection there within ANSWER_WITHIN_S."""
    if missing := missing_packages():
        return f"Spark Connect needs {' and '.join(missing)} here; {MEND}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host, port = None, 0
    if not host:
        return f"Spark master {url!r} must be sc://host:port"
    try:
        socket.create_connection((host, port), ANSWER_WITHIN_S).close()
    except OSError as error:
        why = error.strerror or error
        return (
            f"no Spark Connect server answers on {host}:{port} ({why}); start one there "
            "(sbin/start-connect-server.sh), or use --engine local"
        )
    return None


def connected(url: str, settings: dict[str, str]) -> SparkSession:
    """Return a new session on this server, with these settings. Errors of PySpark and gRPC pass
    through."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(url)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.create()


def forget_mode() -> None:
    """Remove the environment variable that ties this process to one kind of Spark session."""
    os.environ.pop(MODE, None)
