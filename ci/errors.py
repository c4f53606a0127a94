"""Explain errors to the user of a command: one sentence, and an exit status."""

from __future__ import annotations

import errno
import os
import sys
import traceback

from chaos.values.protocols import TargetError
from ci.plugins import why_failed
from linearizability.errors import HistoryError


class UsageError(Exception):
    """A wrong option or environment; the message is one sentence that names it and says what to
    do."""


EXPECTED = (UsageError, TargetError, HistoryError)
EXTRAS = {
    "confluent_kafka": "chaos",
    "docker": "chaos",
    "hypothesis": "all",
    "numpy": "check",
    "pandas": "check",
    "polars": "check",
    "pyarrow": "check",
    "pyspark": "spark",
    "scipy": "check",
    "toxiproxy": "chaos",
}
"""Package -> the extra of the wheel that installs it (pyproject.toml)."""


def explain(error: BaseException) -> int:
    """Print one sentence for the error on stderr and return the matching exit status: 3 for an
    interruption, or if the reader of our output has ended (then nothing is printed), else 2. An
    unexpected error also gets its traceback."""
    if type(error) is RuntimeError and isinstance(error.__cause__, KeyboardInterrupt):
        error = error.__cause__  # Python 3.11 wraps it while it makes a class (__set_name__)
    if isinstance(error, KeyboardInterrupt):
        print("touchstone: interrupted before it was done", file=sys.stderr)
        return 3
    if isinstance(error, BrokenPipeError):
        # The reader of our output (such as `| head`) has ended, so nobody can be told anything.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 3
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        print(
            f"touchstone: this needs the package {error.name}, which is not installed; "
            f"pip install 'touchstone-kafka[{EXTRAS[error.name]}]'",
            file=sys.stderr,
        )
    elif isinstance(error, EXPECTED):
        print(f"touchstone: {error}", file=sys.stderr)
    elif isinstance(error, OSError) and error.errno == errno.ENOSPC:
        print(
            f"touchstone: no space left on the disk of {error.filename or 'the run directory'}; "
            "make room, or choose a directory on another disk (--runs, --out)",
            file=sys.stderr,
        )
    elif isinstance(error, OSError) and error.filename is not None:
        print(f"touchstone: {error.filename}: {error.strerror}", file=sys.stderr)
    elif why := why_failed(error):
        print(f"touchstone: {why}", file=sys.stderr)
    else:
        traceback.print_exception(error)
        print("touchstone: this is a defect of touchstone, please report it", file=sys.stderr)
    return 2
