"""The result of a run, and the error of a run that could not be made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.values.protocols import TargetError


class RunError(TargetError):
    """Raised if the run could not be made. The message is one sentence with what to do."""


@dataclass(frozen=True)
class RunResult:
    """The result of a run. counts: those of run.json. problems: the reasons why its verdict cannot
    be VALID. notes: other facts for the reader. recovered: whether the cluster was healthy again
    after the heal. reproduce: the command line that repeats the run."""

    directory: Path
    counts: Mapping[str, Any]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    interrupted: bool
    recovered: bool
    reproduce: str
