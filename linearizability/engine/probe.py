"""Check on a Spark executor, before work is sent to it, that it has the packages that the kernels
need.

This file imports only the standard library; otherwise it could not run where a package is missing.
"""

from __future__ import annotations

import importlib
import json
import platform
import socket
from collections.abc import Iterable

NEEDED = ("polars", "pyarrow", "pandas")
"""The imports of the kernels, and of Spark's `applyInArrow`."""


def lacking(_row: int) -> str:
    """Return this host, its Python, and the packages of NEEDED that it cannot import, as JSON.
    Spark SQL calls it on executors, once for each row, whose number does not matter."""
    missing = []
    for name in NEEDED:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    return json.dumps([socket.gethostname(), platform.python_version(), missing])


def complaint(answers: Iterable[str]) -> str | None:
    """Return one sentence about the first executor, in the order of hosts, that cannot run the
    kernels, or None if all can."""
    for host, python, missing in map(json.loads, sorted(set(answers))):
        if missing:
            names = " and ".join(missing)
            return (
                f"the Spark executor on {host} (Python {python}) lacks {names}; install what "
                "requirements.lock lists there, or set PYSPARK_PYTHON to a Python that has it"
            )
    return None
