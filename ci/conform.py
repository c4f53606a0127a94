"""`touchstone conform`: the examination in a pytest process of its own, and its results."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ci.errors import UsageError
from conformance import cases

CASES = Path(cases.__file__).parent
PYTEST_DID_NOT_RUN = (2, 3)  # interrupted, internal error (pytest.ExitCode)
PYTEST_USAGE_ERROR = 4
PYTEST_NOTHING_SELECTED = 5


def examine(
    options: Sequence[str], *, quiet: bool = False, timeout_s: float | None = None
) -> dict[str, Any]:
    """Run the cases with pytest options such as ("--target", "reference", "-k", "produce").

    Returns what conformance.results writes. quiet: pytest's own output goes to stderr.
    Raises UsageError if nothing could be examined, with pytest's own words.
    """
    with tempfile.TemporaryDirectory(prefix="touchstone-conform-") as scratch:
        results = Path(scratch) / "results.json"
        command = [
            sys.executable, "-m", "pytest", str(CASES), "-q", "-p", "no:cacheprovider",
            "--rootdir", str(CASES.parent.parent), "--results-json", str(results), *options,
        ]  # fmt: skip
        ran = subprocess.run(
            command,
            stdout=sys.stderr if quiet else None,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        if ran.returncode == PYTEST_USAGE_ERROR:
            raise UsageError(" ".join(ran.stderr.split()).removeprefix("ERROR: "))
        sys.stderr.write(ran.stderr)
        if ran.returncode == PYTEST_NOTHING_SELECTED:
            raise UsageError("no case matches; `touchstone conform list` shows them")
        if ran.returncode in PYTEST_DID_NOT_RUN or not results.exists():
            raise UsageError("the examination did not run to its end; see the lines above")
        return dict(json.loads(results.read_text()))


def exit_status(results: dict[str, Any]) -> int:
    """0 passed, 1 a case failed, 3 nothing was judged."""
    if results["failed"]:
        return 1
    return 0 if results["passed"] else 3
