"""What a Spark executor must have: asked on the executor, before anything is sent to it.

This file imports nothing but the standard library, or it could not say what is missing.
"""

from __future__ import annotations

import importlib
import platform
import socket
from collections.abc import Iterable, Iterator

NEEDED = ("polars", "pyarrow", "pandas")
"""What the kernels import, and what Spark's `applyInArrow` does."""


def lacking(_rows: Iterable[int]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """For `mapPartitions`: this host, its Python, and the packages that it cannot import."""
    missing = []
    for name in NEEDED:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    yield socket.gethostname(), platform.python_version(), tuple(missing)


def complaint(answers: Iterable[tuple[str, str, tuple[str, ...]]]) -> str | None:
    """One sentence about the executors that cannot run the kernels; None if all can."""
    for host, python, missing in sorted(set(answers)):
        if missing:
            names = " and ".join(missing)
            return (
                f"the Spark executor on {host} (Python {python}) lacks {names}; install what "
                "requirements.lock lists there, or set PYSPARK_PYTHON to a Python that has it"
            )
    return None
