"""What a command tells a user who asked for something impossible: one sentence, exit status 2."""

from __future__ import annotations

import errno
import os
import sys
import traceback

from chaos.protocols import TargetError
from linearizability.history import HistoryError


class UsageError(Exception):
    """A wrong option or environment: one sentence that names it and says what to do."""


EXPECTED = (UsageError, TargetError, HistoryError)


def explain(error: BaseException) -> int:
    """Say what went wrong on stderr; the exit status that belongs to it."""
    if isinstance(error, KeyboardInterrupt):
        print("touchstone: interrupted; nothing was judged to the end", file=sys.stderr)
        return 3
    if isinstance(error, BrokenPipeError):
        # Whoever read the output (`| head`) has gone; there is nobody to tell anything.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 3
    if isinstance(error, EXPECTED):
        print(f"touchstone: {error}", file=sys.stderr)
    elif isinstance(error, OSError) and error.errno == errno.ENOSPC:
        print(
            f"touchstone: no space left on the disk of {error.filename or 'the run directory'}; "
            "make room or choose another directory with --runs",
            file=sys.stderr,
        )
    elif isinstance(error, (PermissionError, FileNotFoundError, IsADirectoryError)):
        print(f"touchstone: {error.filename}: {error.strerror}", file=sys.stderr)
    else:
        traceback.print_exception(error)
        print("touchstone: this is a defect of touchstone, please report it", file=sys.stderr)
    return 2
