"""Run directories, `runs/<utc>-<target>-<workload>-<nemesis>-<seed>/`, and the content of their
run.json.

    run.json          the scenario, the command that repeats it, and the course of the run
    history.parquet   the history, in the format that linearizability.history describes
    nodes/<n>/        each node's log and configuration
"""

from __future__ import annotations

import json
import platform
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from chaos.record.hiding import hidden, hidden_words

RUN_JSON_VERSION = 1
RUN_JSON = "run.json"
REPOSITORY = Path(__file__).resolve().parents[2]
RATE = 400.0
"""The default rate in records per second. With the readers' copies and two final reads it makes
some 150,000 rows per minute."""
PACKAGES = ("confluent-kafka", "polars", "pyarrow")


def why_unreadable(facts: Mapping[str, Any]) -> str:
    """Return the sentence with which to refuse a run.json of a newer version, or one that no run
    has written, or "" if this version can read it."""
    version = facts.get("version")
    if not isinstance(version, int):
        return (
            f"run.json is not a record of a run (its version is {version!r}, not a number); bring"
            " it back from a copy, or name the history.parquet beside it"
        )
    if version <= RUN_JSON_VERSION:
        return ""
    return (
        f"a newer touchstone made it (run.json has version {version}, this one reads up to "
        f"{RUN_JSON_VERSION}); update touchstone"
    )


class RunDirectoryError(RuntimeError):
    """Raised if a run's directory cannot be made, written or read. The message is one sentence with
    what to do."""


@dataclass(frozen=True)
class Scenario:
    """All choices made before the run. All randomness is derived from its seed."""

    target: str
    workload: str
    nemesis: str
    nodes: int
    seconds: float
    seed: int
    config: Mapping[str, str] = field(default_factory=dict)
    bug: str | None = None
    rate: float = RATE
    """The most records per second that all processes together send."""
    client: str = "confluent"
    typed: tuple[str, ...] = ()
    """The words of the command line that set the configuration, if it was not given by one --config
    for each setting."""

    def command(self) -> str:
        """Return the command line that repeats this run, with [hidden] in place of the values of
        secret settings."""
        words = [
            "touchstone",
            "chaos",
            "run",
            "--target",
            self.target,
            "--nodes",
            str(self.nodes),
            "--workload",
            self.workload,
            "--nemesis",
            self.nemesis,
            "--seconds",
            f"{self.seconds:g}",
            "--seed",
            str(self.seed),
        ]
        if self.rate != RATE:
            words += ["--rate", f"{self.rate:g}"]
        if self.client != "confluent":
            words += ["--client", self.client]
        if self.bug:
            words += ["--bug", self.bug]
        pairs = [f"{key}={value}" for key, value in sorted(self.config.items())]
        words += self.typed or [word for pair in pairs for word in ("--config", pair)]
        return shlex.join(hidden_words(words))


def name_of(scenario: Scenario) -> str:
    """Return the name of a run without its time, with _ in place of characters that are unusual in
    file names."""
    parts = (scenario.target, scenario.workload, scenario.nemesis, str(scenario.seed))
    return "-".join(re.sub(r"[^A-Za-z0-9._-]", "_", part) for part in parts)


def make(runs: Path, scenario: Scenario) -> Path:
    """Create an empty directory for a run, named after its time, scenario and seed. Return its
    path. Raise RunDirectoryError if none can be made."""
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{now}-{name_of(scenario)}"
    for number in range(1, 100):
        directory = runs / (name if number == 1 else f"{name}.{number}")
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            if not runs.is_dir():
                raise RunDirectoryError(
                    f"{runs} is not a directory; name another with --runs"
                ) from None
            continue
        except OSError as error:
            raise RunDirectoryError(
                f"{runs}: no run directory can be made there ({error.strerror}); "
                "name another with --runs"
            ) from error
        return directory
    raise RunDirectoryError(f"{runs}: too many runs called {name}; name another with --runs")


def write(directory: Path, facts: Mapping[str, Any]) -> None:
    """Write run.json, either completely or not at all. Raise RunDirectoryError if it cannot be
    written."""
    unfinished = directory / f"{RUN_JSON}.unfinished"
    try:
        unfinished.write_text(json.dumps(facts, indent=2) + "\n")
        unfinished.replace(directory / RUN_JSON)
    except OSError as error:
        raise RunDirectoryError(
            f"{directory}: run.json cannot be written ({error.strerror}); "
            "free some space or name another directory with --runs"
        ) from error


def read(directory: Path) -> dict[str, Any]:
    """Return the facts in run.json. Raise RunDirectoryError if there is none, it is not valid, or
    a newer touchstone wrote it."""
    try:
        facts = json.loads((directory / RUN_JSON).read_text())
    except (OSError, ValueError) as error:
        raise RunDirectoryError(
            f"{directory}: no readable run.json; name a directory that `chaos run` made"
        ) from error
    if not isinstance(facts, dict):
        raise RunDirectoryError(
            f"{directory}: run.json is not an object; name a directory that `chaos run` made"
        )
    if why := why_unreadable(facts):
        raise RunDirectoryError(f"{directory}: {why}")
    return facts


def first_facts(
    directory: Path,
    scenario: Scenario,
    judged_by: Sequence[str],
    argv: Sequence[str],
    target_version: str | None = None,
) -> dict[str, Any]:
    """Return the content of run.json at the beginning of a run. Its end fills in what is still
    empty, such as counts, problems and `ended`, and adds costs and what the run showed."""
    commit, dirty = commit_of(REPOSITORY)
    return {
        "version": RUN_JSON_VERSION,
        "run": directory.name,
        **asdict(scenario),
        "config": hidden(scenario.config),
        "typed": hidden_words(scenario.typed),
        "judged_by": list(judged_by),
        "reproduce": scenario.command(),
        "argv": hidden_words(argv),
        "commit": commit,
        "uncommitted_changes": dirty,
        "versions": _versions() | {"target": target_version},
        "started": utc_now(),
        "ended": None,
        "interrupted": False,
        "recovered": None,
        "problems": [],
        "notes": [],
        "counts": {},
    }


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def commit_of(repository: Path) -> tuple[str | None, bool | None]:
    """Return the commit of the repository, and whether tracked files differ from it. Return None
    for both if there is no repository or git fails."""
    try:
        commit = _git(repository, "rev-parse", "HEAD")
        return commit, bool(_git(repository, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def _git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repository), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return done.stdout.strip()


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
