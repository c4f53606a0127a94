"""The Spark session: quiet, on the loopback address, bounded in memory, one per process.

Spark writes only to one temporary directory, which is removed when the process ends. The settings
of a Spark Connect session (`connect.py`) are mostly those of its server.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from linearizability.engine import connect
from linearizability.engine.java import find_java, java_environment
from linearizability.engine.probe import complaint, lacking
from linearizability.history import HistoryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
DRIVER_MEMORY = "2g"
"""The heap of the driver, which in local mode is also the executor. Kernels run in Python processes
beside it."""

OF_SESSION = {
    # A row is a chunk of many rows (`exchange`): some hundred MiB at once, of at most 2 GiB.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.sql.session.timeZone": "UTC",
}
"""The settings that any session may change."""
PROBES = 256
"""The number of rows of the probe for missing packages; Spark spreads them over all its cores."""

QUIET_LOGS = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n
"""


class SparkError(HistoryError):
    """Spark cannot be used: on this machine, with this master, or on its executors. The message is
    one sentence with what to do. (Commands treat it like a history that cannot be judged: exit
    status 2.)"""


class _Current:
    """The session of this process, and the master for which it was made."""

    session: SparkSession | None = None
    master: str = ""


def spark_session(master: str | None = None) -> SparkSession:
    """Return the session for this master (LOCAL by default), made on first use and kept until
    `stop_spark` or the end. Stop a session for another master first. Raise SparkError if none can
    be made."""
    master = master or LOCAL
    if _Current.session is not None:
        if _Current.master == master:
            return _Current.session
        stop_spark()
    _Current.session, _Current.master = _start(master), master
    return _Current.session


def stop_spark() -> None:
    """End the session of this process, if there is one; the JVM ends with the process."""
    if _Current.session is not None:
        session, _Current.session = _Current.session, None
        _end(session)


def _end(session: SparkSession) -> None:
    session.stop()
    connect.forget_mode()


def _start(master: str) -> SparkSession:
    if not master.startswith(("local", "spark://", connect.SCHEME)):
        raise SparkError(
            f"Spark master {master!r} must be local[…], spark://host:port or sc://host:port"
        )
    if find_spec("pyspark") is None:
        raise SparkError(f"pyspark is not installed; {connect.MEND}")
    scratch = Path(tempfile.mkdtemp(prefix="touchstone-spark-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    try:
        start = _connected if connect.is_connect(master) else _of_its_own
        session = start(master, scratch)
    except SparkError:
        raise
    except Exception as error:  # py4j, gRPC and the launcher raise all kinds
        raise SparkError(
            f"Spark did not start on {master} ({_first_line(error)}); try --engine local"
        ) from error
    if not master.startswith("local"):
        _send_kernels(session, scratch)
    return session


def _of_its_own(master: str, scratch: Path) -> SparkSession:
    """Return a new session whose driver is a JVM that this process starts, after setting Spark's
    environment variables in this process. Raise SparkError without Java."""
    from pyspark.sql import SparkSession

    if find_java() is None:
        raise SparkError(
            "Spark needs Java 17 or newer; install it, run `make setup`, or use --engine local"
        )
    on_loopback = _is_on_loopback(master)
    _environment(scratch, on_loopback)
    builder = SparkSession.builder.master(master).appName("touchstone")
    for name, value in _settings(scratch, on_loopback).items():
        builder = builder.config(name, value)
    with _WithoutChatter(scratch):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def _connected(url: str, _scratch: Path) -> SparkSession:
    if (problem := connect.hindrance(url)) is not None:
        raise SparkError(problem)
    return connect.connected(url, OF_SESSION)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _is_on_loopback(master: str) -> bool:
    """Return whether the session involves only this machine: a local master, or one at a loopback
    address."""
    host = master.removeprefix("spark://").rpartition(":")[0]
    return master.startswith("local") or host == "localhost" or host.startswith("127.")


def _send_kernels(session: SparkSession, scratch: Path) -> None:
    """Send the kernels to the executors of a cluster. If one could not run them, end the session
    and raise SparkError."""
    try:
        session.addArtifacts(str(_shipped_kernels(scratch)), pyfile=True)
        problem = complaint(_asked(session))
    except Exception as error:  # above all a worker whose Python is of another version
        problem = (
            f"the executors cannot run the kernels ({_first_line(error)}); give them the release"
            " of Python of this machine, or use --engine local"
        )
    if problem is not None:
        _end(session)
        raise SparkError(problem)


def _asked(session: SparkSession) -> list[str]:
    """Return the answer of each probe, as JSON: its host, its Python and the packages that it
    lacks. The probe needs neither Arrow nor pandas on the executors."""
    from pyspark.sql import functions as sql

    ask = sql.udf(lacking, "string", useArrow=False)
    answers = session.range(PROBES).select(ask("id").alias("answer")).collect()
    return [row["answer"] for row in answers]


def _environment(scratch: Path, on_loopback: bool) -> None:
    os.environ.update(java_environment())
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if on_loopback:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        # This machine's own name may resolve to any address: stay on loopback, off the network.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # other machines may have another
    os.environ.setdefault("POLARS_MAX_THREADS", str(os.cpu_count() or 1))
    (scratch / "log4j2.properties").write_text(QUIET_LOGS)


def _settings(scratch: Path, on_loopback: bool) -> dict[str, str]:
    logs = f"-Dlog4j2.configurationFile=file:{scratch / 'log4j2.properties'}"
    own = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return (own if on_loopback else {}) | {
        "spark.driver.memory": DRIVER_MEMORY,
        # The work is done in Python: the second compiler costs more than it saves (measured: a
        # third less CPU on a small history, no more on a large one).
        "spark.driver.extraJavaOptions": (
            f"{logs} -Dderby.system.home={scratch} -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
        ),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        **OF_SESSION,
        "spark.log.structuredLogging.enabled": "false",
        # Kernels thread by themselves; the workers live on, so that imports are paid once.
        "spark.python.worker.reuse": "true",
        "spark.executorEnv.POLARS_MAX_THREADS": "2",
    }


class _WithoutChatter:
    """A context in which the standard error of the launcher's shell script goes to a file. It
    redirects the file descriptor, not sys.stderr."""

    def __init__(self, scratch: Path) -> None:
        self._log = scratch / "launcher.log"

    def __enter__(self) -> None:
        sys.stderr.flush()
        self._kept = os.dup(2)
        with self._log.open("wb") as log:
            os.dup2(log.fileno(), 2)

    def __exit__(self, *_: object) -> None:
        sys.stderr.flush()
        os.dup2(self._kept, 2)
        os.close(self._kept)


def _shipped_kernels(scratch: Path) -> Path:
    """Write this package without its tests as a zip into `scratch`, so that executors on other
    machines have the same kernels. Return the file."""
    package = Path(__file__).resolve().parents[1]
    import_root = Path(__file__).resolve().parents[__name__.count(".")]
    file = scratch / "touchstone_kernels.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(package.rglob("*.py")):
            if "tests" not in source.parts:
                archive.write(source, source.relative_to(import_root))
    return file
