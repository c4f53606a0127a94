"""The search by the executable `porcupine-check`: one process per check, columns in, lines out.

The frame is documented in README.md, "The wire". If the process crashes, or exceeds its memory or
its time, the result is UNKNOWN; partitions that it had judged before keep their verdict.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from linearizability.caches import cache_directory
from linearizability.porcupy.operations import COLUMNS, Operations
from linearizability.porcupy.result import Annotation, PartitionResult, Result, combine
from linearizability.verdict import Validity

MAGIC: Final = int.from_bytes(b"TSPORC01", "little")
EXIT_MEMORY: Final = 3
EXIT_BAD_REQUEST: Final = 64
"""The exit status for a malformed request. (Status 2 would be that of a Go program that
crashed.)"""
GRACE_S: Final = 10.0
"""The seconds that the process may take beyond its own time limit, for reading, explaining and
drawing."""


def find_executable() -> Path | None:
    """Return the path in $TOUCHSTONE_PORCUPINE if that is set, else the path at which `make setup`
    installs the executable. Return None if no executable file is there."""
    named = os.environ.get("TOUCHSTONE_PORCUPINE")
    path = Path(named) if named else cache_directory() / "bin" / "porcupine-check"
    return path if path.is_file() and os.access(path, os.X_OK) else None


def pack(operations: Operations, request: dict[str, Any]) -> bytes:
    """Return a request as bytes: header, JSON, columns, values; all words little-endian."""
    text = json.dumps(request).encode()
    header = struct.pack("<4Q", MAGIC, len(operations), len(operations.vals), len(text))
    columns = [getattr(operations, name) for name in COLUMNS]
    words = np.concatenate([*columns, operations.vals]).astype("<i8", copy=False)
    return b"".join((header, text, b" " * (-len(text) % 8), words.tobytes()))


def check_by_executable(
    model: str,
    operations: Operations,
    *,
    timeout_s: float,
    memory_mib: int,
    html: Path | None,
    annotations: Sequence[Annotation],
) -> Result:
    """Return the executable's result for the operations of every key: UNKNOWN if it is missing,
    crashes, or exceeds a limit. html: the file to write a drawing to, if there is one; its folder
    is made. Raise ValueError for a malformed request, for example one that names no model."""
    executable = find_executable()
    if executable is None:
        return Result(
            Validity.UNKNOWN, (), "the executable porcupine-check is missing: run `make setup`"
        )
    request = {
        "model": model,
        "timeout_ms": max(1, round(timeout_s * 1000)),
        "memory_mib": memory_mib,
        "html": html is not None,
        "labels": list(operations.labels),
        "annotations": [asdict(annotation) for annotation in annotations],
    }
    output, problem = _run(executable, pack(operations, request), timeout_s)
    try:
        lines, done = _lines(output)
    except (ValueError, AttributeError):
        lines, done = [], False
        problem = problem or f"{executable} is not porcupine-check; run `make setup`"
    drawing = next((line["html"] for line in lines if line.get("html")), None)
    if html is not None and drawing is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(_opened_at_error(drawing))
    if problem is None and not done:
        problem = "the search ended without an answer"
    # A later line of the same key says more: it replaces the earlier.
    partitions = {line["key"]: _partition(line) for line in lines}
    return combine(partitions.values(), problem, html if drawing is not None else None)


def _opened_at_error(page: str) -> str:
    """Return the drawing scrolled to the anomaly. (Porcupine's own drawing opens at its left edge,
    where a long window shows nothing wrong.)"""
    script = (
        '<script>document.querySelector("#jump-link").dispatchEvent(new Event("click"))</script>'
    )
    before, end, after = page.rpartition("</body>")
    return f"{before}  {script}\n  {end}{after}"


def _run(executable: Path, request: bytes, timeout_s: float) -> tuple[bytes, str | None]:
    """Run the executable with this request. Return its standard output, and None or the reason why
    it failed or was stopped. Its process is killed if it takes GRACE_S longer than timeout_s. Raise
    ValueError if the executable finds the request invalid."""
    try:
        process = subprocess.Popen(
            [executable],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"GOTRACEBACK": "none"},
        )
    except OSError as error:
        return b"", f"the executable cannot be started: {error}; run `make setup`"
    with process:
        try:
            output, errors = process.communicate(request, timeout=timeout_s + GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            return output, f"the search did not end within {timeout_s:g} s and was stopped"
        except BaseException:
            process.kill()
            raise
    problem = _problem(process.returncode, errors)
    if process.returncode == EXIT_BAD_REQUEST:
        raise ValueError(f"check: {problem}")
    return output, problem


def _problem(status: int, errors: bytes) -> str | None:
    if status == 0:
        return None
    if status == EXIT_MEMORY:
        return "the search reached its memory limit; raise memory_mib or cut the history"
    if status < 0:
        return f"the search was killed by {signal.Signals(-status).name}"
    said = errors.decode(errors="replace").strip().splitlines()
    reason = f"the search crashed with status {status}"
    return said[0].removeprefix("porcupine-check: ") if said else reason


def _lines(output: bytes) -> tuple[list[dict[str, Any]], bool]:
    """Return the complete lines of the output, and whether the last one says that the search is
    done. Raise ValueError or AttributeError for a line that is no JSON object."""
    lines: list[dict[str, Any]] = []
    for text in output.split(b"\n")[:-1]:
        line = json.loads(text)
        if line.get("done"):
            return lines, True
        lines.append(line)
    return lines, False


def _partition(line: dict[str, Any]) -> PartitionResult:
    return PartitionResult(
        key=line["key"],
        verdict=Validity(line["verdict"]),
        operations=line["operations"],
        seconds=line["micros"] / 1e6,
        message=line["message"],
        linearization=tuple(line["order"]),
        blocked=tuple(line["blocked"]),
    )
