"""Index a directory of runs: every run, every file that could not be read, and a cache of both.

The cache lies beside the runs. A run is read again only when one of its files has changed, so that
indexing a thousand runs takes a few thousand calls of stat. A cache that is damaged, or was written
by another version of this module, is rebuilt.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.record.run_directory import RUN_JSON
from ci.errors import UsageError
from ci.ui.entry import FILES, NOT_JUDGED, Entry, Unreadable, read_entry, stamp_of
from ci.ui.examined import Examined, read_examined

CACHE = ".touchstone-ui.json"
CACHE_VERSION = 1
SITE = ".touchstone-ui-site"
"""The name of the file that marks a folder of static pages. The reports copied into such a folder
are not runs."""
DEPTH_MAX = 3
"""The number of directory levels in which runs are searched for: `touchstone demo` puts its own
into runs/demo."""
RUN_NAME = re.compile(r"\d{8}T\d{6}Z-")
SKIPPED = ("nightly", "badges", "node_modules", "nodes", "porcupine")
NIGHTS = "nightly/nights/*/nightly.json"


@dataclass(frozen=True)
class Gone:
    """A nightly run whose directory was deleted to save space; its verdict is still stored."""

    path: str
    started: str
    scenario: str
    verdict: str
    why: str
    command: str
    commit: str


@dataclass(frozen=True)
class Index:
    """The content of a directory of runs. problems: path -> one sentence that says why it could not
    be read."""

    runs: tuple[Entry, ...]
    examinations: tuple[Examined, ...] = ()
    gone: tuple[Gone, ...] = ()
    expected: Mapping[str, str] = field(default_factory=dict)
    """Run directory -> the verdict that its night expected."""
    flaky: frozenset[str] = frozenset()
    """The scenarios in which one seed had different verdicts although nothing had changed."""
    problems: Mapping[str, str] = field(default_factory=dict)


def read_index(runs: Path) -> Index:
    """Return the index of a directory of runs, and store it there for the next time. Files that
    cannot be read are in its `problems`. Raise UsageError if it is not a directory, or is the
    directory of one run."""
    if not runs.is_dir():
        raise UsageError(f"{runs}: no such directory of runs; name the --runs of `chaos run`")
    if (runs / RUN_JSON).exists():
        raise UsageError(f"{runs} is one run: name the folder around it, or open its report.html")
    known, kept = _cached(runs), {}
    entries: list[Entry] = []
    examinations: list[Examined] = []
    problems: dict[str, str] = {}
    for place, is_run in _places(runs, problems):
        path = place.relative_to(runs).as_posix() or "."
        try:
            path.encode()
            stamp = stamp_of(place) if is_run else _stamp_of_file(place)
            found = known.get(path)
            if found is None or found["stamp"] != stamp:
                found = {"stamp": stamp, **_read(place, path, is_run)}
            kept[path] = found
            if "entry" in found:
                entries.append(Entry.from_dict(found["entry"]))
            elif "examined" in found:
                examinations.append(Examined(**found["examined"]))
            elif "problem" in found:
                problems[path] = found["problem"]
        except UnicodeEncodeError:
            shown = os.fsencode(path).decode(errors="backslashreplace")
            problems[shown] = "the name of this file is not UTF-8; rename it"
        except OSError as error:
            problems[path] = f"it cannot be read ({error.strerror}); correct its permissions"
    if kept != known:
        _write_cache(runs / CACHE, kept)
    entries.sort(key=lambda entry: (entry.started, entry.path), reverse=True)
    examinations.sort(key=lambda each: (each.when, each.path), reverse=True)
    gone, expected, troubles, flaky = _nights(runs, {entry.path for entry in entries})
    scenarios = {entry.scenario for entry in entries if entry.command in flaky}
    return Index(
        tuple(entries),
        tuple(examinations),
        gone,
        expected,
        frozenset(scenarios | flaky_scenarios(entries)),
        problems | troubles,
    )


def flaky_scenarios(entries: list[Entry]) -> set[str]:
    """Return the scenarios for which the same command (with its seed) had different verdicts at the
    same commit and on the same version of the target."""
    seen: dict[tuple[str, ...], set[str]] = {}
    for entry in entries:
        if entry.is_committed and entry.command and entry.verdict != NOT_JUDGED:
            key = (entry.scenario, entry.command, entry.commit, entry.target_version)
            seen.setdefault(key, set()).add(entry.verdict)
    return {key[0] for key, verdicts in seen.items() if len(verdicts) > 1}


def _read(place: Path, path: str, is_run: bool) -> dict[str, Any]:
    """Return the entry that the cache stores for a path, under a key that says what it is: "entry"
    for a run, "examined" for conformance results, "problem" for why either cannot be read. Return
    an empty dict for any other file."""
    try:
        if is_run:
            return {"entry": read_entry(place, path).as_dict()}
        examined = read_examined(place, path)
        return {} if examined is None else {"examined": examined.as_dict()}
    except Unreadable as unreadable:
        return {"problem": str(unreadable)}


def _places(runs: Path, problems: dict[str, str]) -> Iterator[tuple[Path, bool]]:
    """Yield (run directory, True) and (JSON file beside the runs, False). Add a problem for each
    folder that cannot be listed."""
    waiting = [(runs, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(folder) as found:
                inside = sorted(found, key=lambda item: item.name)
        except FileNotFoundError:
            continue  # it was deleted since its parent was listed
        except OSError as error:
            shown = os.fsencode(folder.relative_to(runs)).decode(errors="backslashreplace")
            problems[shown] = f"it cannot be listed ({error.strerror}); correct its permissions"
            continue
        names = {item.name for item in inside}
        if SITE in names:
            continue
        if depth and (names & {*FILES} - {"report.html"} or RUN_NAME.match(folder.name)):
            yield folder, True
            continue
        for item in inside:
            if item.name.startswith("."):
                continue
            if item.is_dir():
                if depth < DEPTH_MAX and item.name not in SKIPPED:
                    waiting.append((Path(item.path), depth + 1))
            elif item.name.endswith(".json"):
                yield Path(item.path), False


def _stamp_of_file(file: Path) -> str:
    found = file.stat()
    return f"{found.st_mtime_ns}.{found.st_size}"


def _cached(runs: Path) -> dict[str, Any]:
    """Return the stored cache, or an empty dict if there is none of this version."""
    try:
        data = json.loads((runs / CACHE).read_bytes())
        if data["version"] != CACHE_VERSION:
            return {}
        places = {str(path): dict(found) for path, found in data["places"].items()}
        for found in places.values():
            str(found["stamp"])
            if "entry" in found:
                Entry.from_dict(found["entry"])
            if "examined" in found:
                Examined(**found["examined"])
        return places
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write_cache(file: Path, places: Mapping[str, Any]) -> None:
    """Write the cache atomically. Do nothing where the directory is read-only."""
    unfinished = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        unfinished.write_text(json.dumps({"version": CACHE_VERSION, "places": places}))
        unfinished.replace(file)
    except OSError:
        unfinished.unlink(missing_ok=True)


def _nights(
    runs: Path, there: set[str]
) -> tuple[tuple[Gone, ...], dict[str, str], dict[str, str], set[str]]:
    """Return the nightly runs whose directory is gone, what the nights expected, what could not be
    read, and the flaky commands."""
    files = sorted(runs.glob(NIGHTS))
    if not files:
        return (), {}, {}, set()
    from ci.nightly.records import Night, flaky_commands

    nights, troubles = [], {}
    for file in files:
        try:
            nights.append(Night.read(file))
        except UsageError as error:
            why = str(error).removeprefix(str(file)).strip()
            troubles[file.relative_to(runs).as_posix()] = f"it {why}"
    gone, expected = [], {}
    for night in nights:
        for outcome in night.outcomes:
            expected[outcome.run] = outcome.expected
            if outcome.run and outcome.run not in there and outcome.verdicts:
                commit = str(night.settings.get("commit"))
                last, why = outcome.verdicts[-1], outcome.reason
                gone.append(
                    Gone(
                        outcome.run, night.started, outcome.name, last, why, outcome.command, commit
                    )
                )
    return tuple(gone), expected, troubles, flaky_commands(nights)
