"""Fuzz the readers of histories: JSON lines, EDN and Parquet, spoiled and damaged.

print(run_fuzz(range(200)).table())

Each file must either be refused in one sentence, or the judges must be given everything in it and
reach a verdict. The code that damages a file also says what the file contains (`told.py`,
`tables.py`), since the readers are under test. The limit for a file is CPU_S seconds.
"""

from __future__ import annotations

import faulthandler
import re
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from unittest import mock

import polars as pl

from linearizability import history
from linearizability.fuzz import tables, texts
from linearizability.fuzz.told import told_by_rows
from linearizability.history import HistoryError
from linearizability.importers import edn_lines, jepsen, plain_runs
from linearizability.judging import check
from linearizability.self_test.rounds import in_rounds
from linearizability.verdict import Validity

CPU_S = 10
HANGS_S = 300
"""The seconds after which a process is ended that does not react to its time limit."""
STDERR = 2
AT_ONCE = 50
SENTENCE_MAX = 700
CRASHED = re.compile(r"\w*(Error|Exception): |the history could not be judged")


@dataclass
class Fuzz:
    """The number of outcomes for each kind of file, and the problems found."""

    refused: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def add(self, more: Fuzz) -> None:
        self.refused.update(more.refused)
        self.judged.update(more.judged)
        self.problems += more.problems

    @property
    def files(self) -> int:
        return self.refused.total() + self.judged.total() + len(self.problems)

    @property
    def validity(self) -> Validity:
        """Return INVALID if there are problems, VALID if files of all three kinds were refused and
        judged, else UNKNOWN: then the fuzzer has not tried enough."""
        if self.problems:
            return Validity.INVALID
        kinds = {*self.refused, *self.judged}
        seen = len(kinds) == 3 and all(self.refused[k] and self.judged[k] for k in kinds)
        return Validity.VALID if seen else Validity.UNKNOWN

    def table(self) -> str:
        """Return a line per kind of file, then what went wrong."""
        lines = [f"{'files':<10}{'refused':>10}{'judged':>10}"]
        for kind in sorted({*self.refused, *self.judged}):
            lines.append(f"{kind:<10}{self.refused[kind]:>10,}{self.judged[kind]:>10,}")
        return "\n".join([*lines, *self.problems])


class Problem(Exception):
    """A damaged file was handled wrongly: refused by no good sentence, accepted with wrong rows, or
    not read and judged in time."""


def run_fuzz(
    seeds: Iterable[int], progress: Callable[[int], None] = lambda _files: None, processes: int = 1
) -> Fuzz:
    """Return the outcomes of the files of these seeds. progress: called after each batch of AT_ONCE
    seeds with how many are done. processes: how many work at once; with more than one, a process
    that ends is a problem of its batch."""
    result = Fuzz()
    batches = list(_batches(seeds))
    if processes <= 1:
        for some in map(_of_batch, batches):
            result.add(some)
            progress(result.files)
        return result
    rounds = in_rounds(_of_batch, batches, processes, of_a_process=20)
    with closing(rounds):
        for batch, future in rounds:
            try:
                result.add(future.result())
            except BrokenProcessPool:
                result.problems.append(f"seeds {batch[0]} to {batch[-1]}: a process was ended")
            progress(result.files)
    return result


def _batches(seeds: Iterable[int]) -> Iterator[list[int]]:
    rest = iter(seeds)
    while some := list(islice(rest, AT_ONCE)):
        yield some


def _of_batch(seeds: list[int]) -> Fuzz:
    result = Fuzz()
    with TemporaryDirectory(prefix="touchstone-fuzz-") as name:
        for seed in seeds:
            _of_seed(seed, Path(name), result)
    return result


def _of_seed(seed: int, folder: Path, result: Fuzz) -> None:
    rng = Random(f"fuzz:{seed}")
    is_table = seed % 3 == 0
    one: texts.Text | tables.File = tables.file(rng) if is_table else texts.text(rng)
    suffix = ".parquet" if isinstance(one, tables.File) else one.suffix
    path = folder / f"seed-{seed}{suffix}"
    path.write_bytes(one.content)
    try:
        with _bounded():
            refused = _table(path, one) if isinstance(one, tables.File) else _text(path, one)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = (
            str(error)
            if isinstance(error, Problem)
            else (f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")
        )
        result.problems.append(f"seed {seed} ({suffix[1:]}, {one.what}): {said:.300}")
        return
    finally:
        path.unlink()
    (result.refused if refused else result.judged)[suffix[1:]] += 1


@contextmanager
def _bounded() -> Iterator[None]:
    """Raise Problem if the code in the `with` block uses more than CPU_S of CPU time; end the whole
    process if the block takes longer than HANGS_S."""

    def late(_signal: int, _frame: FrameType | None) -> None:
        raise Problem(f"took more than {CPU_S} CPU s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    faulthandler.dump_traceback_later(HANGS_S, exit=True, file=STDERR)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _text(path: Path, one: texts.Text) -> bool:
    """Judge a file of text. Return True if it was refused. Raise Problem if it was accepted
    although it must be refused, if its rows are not those in the file, if a checker fails, or if
    reading it in two ways gives different rows."""
    rows = _rows_or_refusal(lambda: jepsen.read(path), path)
    of: AbstractContextManager[Any]
    if one.suffix == ".edn":
        other, of = "token by token", mock.patch.object(edn_lines, "event", lambda _line: None)
    else:  # too short for runs otherwise
        other, of = "run by run", mock.patch.object(plain_runs, "LINES_MIN", 1)
    with of:
        others = _rows_or_refusal(lambda: jepsen.read(path), path)
    if (rows is None) != (others is None) or not (
        rows is None or others is None or rows.equals(others)
    ):
        raise Problem(f"reading line by line gives other rows than reading {other}")
    if rows is None:
        return True
    if one.refused:
        raise Problem("the file was accepted although it is incomplete or contradicts itself")
    if one.told is not None and one.told != (found := told_by_rows(rows)):
        raise Problem(f"the file contains {one.told}, but the reader's rows contain {found}")
    _judge(path)
    return False


def _table(path: Path, one: tables.File) -> bool:
    rows = _rows_or_refusal(lambda: history.scan(path).collect(), path)
    if rows is None:
        return True
    if one.rows is None:
        raise Problem("the file was accepted although it is incomplete or contradicts itself")
    if not rows.equals(one.rows):
        raise Problem("its rows are not those in the file")
    _judge(path)
    return False


def _rows_or_refusal(read: Callable[[], pl.DataFrame], path: Path) -> pl.DataFrame | None:
    """Return the rows, or None if the file is refused with a good sentence. Raise Problem if the
    sentence does not name the file, is longer than one line, or is too long; other errors pass."""
    try:
        return read()
    except HistoryError as error:
        said = str(error)
    if path.name not in said or "\n" in said or len(said) > SENTENCE_MAX:
        raise Problem(f"the refusal is no sentence: {said}")
    return None


def _judge(path: Path) -> None:
    verdict = check(path, engine="local")
    for opinion in verdict.checkers.values():
        if opinion.validity is Validity.UNKNOWN and CRASHED.match(opinion.reason or ""):
            raise Problem(f"{opinion.name}: {opinion.reason}")
