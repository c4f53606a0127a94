"""Store the results of nights: nightly.json, and the histories sorted by date and target, within a
size limit.

RUNS/<run>/                                       run directories, as chaos run makes them
RUNS/nightly/nights/<utc>/nightly.json            what was run, and how it ended
RUNS/nightly/histories/date=…/target=…/<run>.parquet   hard links to the histories, partitioned
RUNS/nightly/trend.html                           the results of every scenario in each night
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.record.run_directory import utc_now
from ci.errors import UsageError
from ci.nightly.outcome import Ending, Outcome
from linearizability.history import history_file

FILE = "nightly.json"
UNCOMMITTED = " and uncommitted changes"
"""The words that follow the commit of a night with uncommitted changes."""
GIB = 1 << 30


@dataclass
class Night:
    """The results of one night, written to disk after each scenario, so that an interrupted night
    keeps its results."""

    file: Path
    settings: Mapping[str, Any]
    started: str = field(default_factory=utc_now)
    ended: str | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    robustness: dict[str, bool] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    exit_status: int | None = None

    def write(self) -> None:
        facts = {
            "version": 1,
            "started": self.started,
            "ended": self.ended,
            **self.settings,
            "exit_status": self.exit_status,
            "robustness": self.robustness,
            "left_out": self.left_out,
            "outcomes": [outcome.as_dict() for outcome in self.outcomes],
        }
        unfinished = self.file.with_suffix(".unfinished")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps(facts, indent=2) + "\n")
        unfinished.replace(self.file)

    @classmethod
    def read(cls, file: Path) -> Night:
        """Return the night that `write` stored in a file. Raise UsageError, which names the file,
        for any other content."""
        try:
            facts = json.loads(file.read_text())
            return cls(
                file,
                {key: facts[key] for key in ("commit", "seed", "minutes", "targets")},
                facts["started"],
                facts["ended"],
                [Outcome.from_dict(outcome) for outcome in facts["outcomes"]],
                dict(facts["robustness"]),
                dict(facts["left_out"]),
                facts["exit_status"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{file} is not a record of a night ({type(error).__name__}: {error}); delete it,"
                " or name another directory with --runs"
            ) from error


@dataclass(frozen=True)
class Store:
    """The stored nights, histories and runs below one directory of runs."""

    runs: Path

    @property
    def home(self) -> Path:
        return self.runs / "nightly"

    def night_file(self, started: str) -> Path:
        return self.home / "nights" / re.sub(r"[:+]", "", started) / FILE

    def nights(self) -> list[Night]:
        """Return all stored nights, the oldest first. Raise UsageError for a record that is
        damaged."""
        return [Night.read(file) for file in sorted(self.home.glob(f"nights/*/{FILE}"))]

    def keep_history(self, run: Path, target: str, started: str) -> Path:
        """Link a run's history into the folder of its date and target, where Spark reads it. Return
        the new path. Raise HistoryError if the run has no history."""
        source = history_file(run)
        partition = f"date={started[:10]}/target={_plain(target)}"
        kept = self.home / "histories" / partition / f"{run.name}.parquet"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.unlink(missing_ok=True)
        try:
            os.link(source, kept)  # costs nothing
        except OSError:
            shutil.copy2(source, kept)  # a file system without hard links
        return kept

    def prune(self, keep_gib: float) -> list[str]:
        """Delete runs that nights have made until the rest fits into keep_gib GiB: passed runs
        first, the oldest of them first. Return the names of the deleted runs. Other runs are
        neither counted nor deleted."""
        kept = [run for run in self._by_worth() if run and (self.runs / run).is_dir()]
        sizes = {run: self._size(run) for run in kept}
        total, gone = sum(sizes.values()), []
        for run in kept:
            if total <= keep_gib * GIB:
                break
            shutil.rmtree(self.runs / run)
            for history in self.home.glob(f"histories/*/*/{run}.parquet"):
                history.unlink()
            total -= sizes[run]
            gone.append(run)
        return gone

    def _by_worth(self) -> Iterator[str]:
        """Yield the runs in the order in which they may be deleted: those that ended as expected
        first."""
        outcomes = [outcome for night in self.nights() for outcome in night.outcomes]
        for green in (True, False):
            for outcome in outcomes:
                if (outcome.ending is Ending.AS_EXPECTED) is green:
                    yield from (*outcome.earlier_runs, outcome.run)

    def _size(self, run: str) -> int:
        files = (self.runs / run).rglob("*")
        return sum(file.lstat().st_size for file in files if file.is_file())


def _plain(target: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", target)


def flaky_commands(nights: Sequence[Night]) -> set[str]:
    """Return the commands (with their seed) whose verdicts differ between runs of the same code:
    within one night, or between nights of one commit that had no uncommitted changes. Leave out
    runs that a known defect of the target explains, since it need not show every time."""
    seen: dict[tuple[str, str], set[str]] = {}
    for night in nights:
        commit = str(night.settings.get("commit"))
        project = night.started if commit.endswith(UNCOMMITTED) else commit
        for outcome in (each for each in night.outcomes if not each.known):
            seen.setdefault((project, outcome.command), set()).update(outcome.verdicts)
    return {command for (_, command), verdicts in seen.items() if len(verdicts) > 1}
