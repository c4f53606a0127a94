"""`touchstone conform`: run the conformance cases in a separate pytest process and collect the
results."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from chaos.run.interrupts import SIGNALS
from ci import places
from ci.errors import UsageError
from ci.plugins import case_files
from conformance import cases
from conformance.reporting.results import UNDER_WAY, why_unwritable

CASES = Path(cases.__file__).parent
ROOT = CASES.parent.parent
"""The folder to which the names of cases are relative."""
PYTEST_USAGE_ERROR = 4
PYTEST_NOTHING_SELECTED = 5
UNWANTED = ("cacheprovider", "xdist", "xdist.looponfail", "hypothesispytest", "touchstone")
"""Plugins of pytest that are turned off: they may be installed, but are not needed, and take longer
to load than the cases."""
SHARES_OUT = "xdist"
"""The plugin of UNWANTED that --jobs needs."""


def without_the_rest(*, jobs: bool) -> list[str]:
    """Return options of pytest that switch off features which the cases do not use, to shorten the
    start: cases compare with `expect`, and need no rewritten `assert`. jobs: whether several
    processes run the cases."""
    names = [name for name in UNWANTED if not (jobs and name == SHARES_OUT)]
    words = [word for name in names for word in ("-p", f"no:{name}")]
    return [*words, "--assert=plain", "--confcutdir", str(CASES.parent)]


def check_writable(option: str, path: Path | None) -> None:
    """Raise UsageError if the results cannot be written to `path`; call this before the run. Do
    nothing without a path. Folders made for it meanwhile that are still empty are removed at the
    end of the process."""
    if path is None:
        return
    places.leave_no_empty(path.parent)
    if why := why_unwritable(path):
        raise UsageError(f"{option} {path}: {why}")


def examine(
    options: Sequence[str],
    *,
    only: str | None = None,
    quiet: bool = False,
    out: Path | None = None,
    junit: Path | None = None,
) -> dict[str, Any]:
    """Run the cases with pytest options such as ("--target", "reference", "-k", "produce").

    only: the one case to run, by the name that the line `reproduce:` of its failure has.

    Return the results as conformance.reporting.results writes them; `out` and `junit` are the files
    that receive them. Without either, results go to a scratch directory, which is kept, and named
    in the output, if the run ended early. quiet: pytest's own output goes to stderr. Raise
    UsageError, with pytest's own words, if no case could be run.
    """
    if only is not None:
        _check_case(only)
    scratch = Path(tempfile.mkdtemp(prefix="touchstone-conform-"))
    results, as_junit = out or scratch / "results.json", junit or scratch / "junit.xml"
    chosen = [str(CASES), *case_files()] if only is None else [str(ROOT / only)]
    command = [
        sys.executable,
        "-P",  # keep a token.py in the working directory from hiding Python's own module
        "-m",
        "pytest",
        *chosen,
        "-q",
        *("-p", "ci.plugins", "-p", "conformance.session.examining"),
        *without_the_rest(jobs="--jobs" in options),
        *("--rootdir", str(ROOT)),
        *("--results-json", str(results), "--results-junit", str(as_junit)),
        *options,
    ]
    with _passing_signals_on() as children:
        return _results_of(command, children, scratch, (results, as_junit), quiet=quiet)


def _results_of(
    command: Sequence[str],
    children: list[subprocess.Popen[str]],
    scratch: Path,
    files: tuple[Path, Path],
    *,
    quiet: bool,
) -> dict[str, Any]:
    """Run pytest, and return the results that it writes to the first of two files. Print its
    stderr, and where the results are if it ended early. Remove `scratch`, unless the examination
    ended early and its files are only there. Raise UsageError if an option is wrong, no case
    matches, or no results were written; KeyboardInterrupt if SIGTERM ended pytest before it could
    write any."""
    results, _ = files
    before = _written_at(results)
    try:
        status, said = _run(command, children, quiet=quiet)
        if status == PYTEST_USAGE_ERROR:
            raise UsageError(" ".join(said.split()).removeprefix("ERROR: "))
        sys.stderr.write(said)
        if status == PYTEST_NOTHING_SELECTED:
            raise UsageError("no case matches; `touchstone conform list` shows them")
        if _written_at(results) == before:
            if status == -signal.SIGTERM:  # before pytest handled signals
                raise KeyboardInterrupt
            raise UsageError("the examination did not run to its end; see the lines above")
        found = dict(json.loads(results.read_text(encoding="utf-8")))
        if status < 0 and found["ended"] == UNDER_WAY:
            found["ended"] = f"killed by {signal.Signals(-status).name}"
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    ended_early = found["ended"] is not None and found["cases"]
    named = [each for each in files if each.parent != scratch]
    if named or not ended_early:
        shutil.rmtree(scratch, ignore_errors=True)
    if ended_early:
        kept = " and ".join(map(str, named or files))
        print(
            f"touchstone: ended early: {found['ended']}; the results so far are in {kept}",
            file=sys.stderr,
        )
    return found


def _check_case(name: str) -> None:
    """Raise UsageError if there is no case of this name, before a target is started for it."""
    file, _, function = name.partition("::")
    try:
        is_there = f"def {function.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        is_there = False
    if not is_there:
        raise UsageError(
            f"--only {name}: there is no such case; copy its name from the line `reproduce:` of a"
            " failure, or choose by id, such as `touchstone conform PROD-05`"
        )


def _written_at(path: Path) -> int | None:
    """Return the modification time of a file in ns, or None if it does not exist. It tells results
    of this run from older ones."""
    return path.stat().st_mtime_ns if path.exists() else None


def _run(
    command: Sequence[str], children: list[subprocess.Popen[str]], *, quiet: bool
) -> tuple[int, str]:
    """Run pytest in a process group of its own, and add it to `children`. Return its exit status
    and its stderr. quiet: its standard output goes to our standard error."""
    child = subprocess.Popen(
        command,
        stdout=sys.stderr if quiet else None,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    children.append(child)
    _, said = child.communicate()
    return child.returncode, said


@contextmanager
def _passing_signals_on() -> Iterator[list[subprocess.Popen[str]]]:
    """Pass Ctrl-C and SIGTERM on, as SIGTERM, to the children that the caller puts into the list,
    while the block runs: they save the results and stop the target. Raise KeyboardInterrupt at a
    signal while the list is empty; to children that have ended it does nothing, since what is left
    is to read the results. Outside the main thread, pass nothing on."""
    children: list[subprocess.Popen[str]] = []

    def pass_on(_number: int, _frame: FrameType | None) -> None:
        if not children:
            raise KeyboardInterrupt
        for child in children:
            child.send_signal(signal.SIGTERM)

    # Only the main thread gets signals; elsewhere (`touchstone bugs`) the caller has them.
    in_main = threading.current_thread() is threading.main_thread()
    previous = {number: signal.signal(number, pass_on) for number in (SIGNALS if in_main else ())}
    try:
        yield children
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def exit_status(results: dict[str, Any]) -> int:
    """Return 1 if a case failed, 3 if none passed or the run was incomplete, else 0. Unsupported
    cases do not count."""
    if results["failed"]:
        return 1
    is_complete = results["ended"] is None and not results["not_run"]
    return 0 if results["passed"] and is_complete else 3
