"""Run the self-test: valid histories of the model, and each of them broken in every known way.

    result = run_self_test(range(200))
    result.validity       # VALID: no false alarm, and every planted anomaly was caught
    print(result.table())

False alarms are anomalies that any checker reports of a valid history. A planted anomaly is caught
if its checker reports it as one of the expected kinds (`clauses`); reports of other checkers about
it are not counted.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import parent_process
from multiprocessing.connection import wait
from random import Random
from threading import Thread

import polars as pl

from linearizability.checkers.base import Scope
from linearizability.checkers.table import CHECKERS
from linearizability.engine import local
from linearizability.engine.opinion import anomalies_of
from linearizability.ingest import resolved
from linearizability.self_test.clause import Mutator
from linearizability.self_test.clauses import MUTATORS
from linearizability.self_test.model.histories import NUMBERS_APART, joined, rows_with_truth
from linearizability.self_test.model.world import Row
from linearizability.self_test.rounds import in_rounds
from linearizability.verdict import Validity

LONG_NS = 10**15
"""A time in nanoseconds that is longer than any history of the model."""
SEEDS_AT_ONCE = 100
"""The number of histories to judge in one call, so that they fit into little memory."""
BATCHES_OF_A_PROCESS = 10
"""The number of batches after which new processes replace the old ones (`rounds`)."""
COLUMNS = ("checker", "judged", "false alarms", "planted", "caught", "mutators")


@dataclass
class SelfTest:
    """The results of the self-test, by checker."""

    seeds: int = 0
    judged: Counter[str] = field(default_factory=Counter)
    false_alarms: Counter[str] = field(default_factory=Counter)
    planted: Counter[str] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    """A sentence for each anomaly that was missed, for each checker that did not finish, and for
    false alarms, up to three of a checker in each batch of histories."""

    def add(self, more: SelfTest) -> None:
        """Add the results of other seeds."""
        self.seeds += more.seeds
        for mine, theirs in (
            (self.judged, more.judged),
            (self.false_alarms, more.false_alarms),
            (self.planted, more.planted),
            (self.caught, more.caught),
        ):
            mine.update(theirs)
        self.problems += more.problems

    @property
    def validity(self) -> Validity:
        """The verdict on the judges: INVALID if a problem was found; UNKNOWN if none was but no
        history had room for some mutator; else VALID."""
        if self.problems:
            return Validity.INVALID
        idle = [n for n in MUTATORS if not self.planted[n]]
        return Validity.UNKNOWN if idle else Validity.VALID

    def table(self) -> str:
        """Return one line per checker, then the sum, then what went wrong."""
        lines: list[tuple[str, ...]] = [COLUMNS]
        for name in CHECKERS:
            mutators = ", ".join(mutate.__name__ for mutate in MUTATORS.get(name, ()))
            counts = (self.judged, self.false_alarms, self.planted, self.caught)
            lines.append((name, *(str(c[name]) for c in counts), mutators or "none"))
        counts_of_all = (self.judged, self.false_alarms, self.planted, self.caught)
        lines.append((f"{self.seeds} seeds", *(str(c.total()) for c in counts_of_all), ""))
        widths = [max(len(line[n]) for line in lines) for n in range(len(COLUMNS))]
        text = [
            "  ".join(
                cell.rjust(width) if 0 < n < len(COLUMNS) - 1 else cell.ljust(width)
                for n, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*text, *self.problems])


def run_self_test(
    seeds: Iterable[int], progress: Callable[[int], None] = lambda _seeds: None, processes: int = 1
) -> SelfTest:
    """Judge the valid histories of these seeds, and the broken ones that mutators make of them;
    return the results. With several processes, raise BrokenProcessPool if one of them dies.
    progress: called with the number of seeds done, first with 0. The result is the same for any
    number of processes."""
    result = SelfTest()
    batches = list(_batches(seeds))
    progress(0)
    if processes <= 1 or len(batches) <= 1:
        for some in map(_of_batch, batches):
            result.add(some)
            progress(result.seeds)
        return result
    rounds = in_rounds(
        _of_batch,
        batches,
        processes,
        of_a_process=BATCHES_OF_A_PROCESS,
        initializer=_end_with_parent,
    )
    with closing(rounds):
        for _, future in rounds:
            result.add(future.result())
            progress(result.seeds)
    return result


def command(first_seed: int, seeds: int = 1) -> str:
    """Return the command that tests these seeds again."""
    return f"touchstone check --self-test --first-seed {first_seed} --seeds {seeds}"


def _end_with_parent() -> None:
    """Start a thread that ends this process of the pool when the process that started it dies."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _of_batch(seeds: list[int]) -> SelfTest:
    result = SelfTest(seeds=len(seeds))
    known = {seed: rows_with_truth(seed) for seed in seeds}
    _judge_valid(known, result)
    _judge_broken(known, result)
    return result


def _batches(seeds: Iterable[int]) -> Iterator[list[int]]:
    rest = iter(seeds)
    while some := list(islice(rest, SEEDS_AT_ONCE)):
        yield some


def _judge_valid(histories: dict[int, list[Row]], result: SelfTest) -> None:
    seeds = list(histories)
    for opinion in local.run(joined(histories.values()).lazy()):
        result.judged[opinion.name] += opinion.checked
        result.false_alarms[opinion.name] += opinion.anomaly_count
        for anomaly in opinion.anomalies[:3]:
            seed = seeds[_number(anomaly.scope.get("topic"), anomaly.operations)]
            said = f"false alarm: {opinion.name}, seed {seed}: {anomaly.message}"
            result.problems.append(f"{said}; repeat: {command(seed)}")
        if opinion.validity is Validity.UNKNOWN:
            again = command(min(seeds), len(seeds))
            result.problems.append(
                f"{opinion.name} did not finish: {opinion.reason}; repeat: {again}"
            )


def _judge_broken(known: dict[int, list[Row]], result: SelfTest) -> None:
    """Judge the mutated histories, and add the numbers and problems to `result`. Work rule by rule:
    all mutants of a batch at once would take gigabytes."""
    for name in MUTATORS:
        mutants = list(_planted(name, known))
        if not mutants:
            continue
        found = found_by(name, [rows for _, _, rows in mutants])
        result.planted[name] += len(mutants)
        for number, (seed, mutate, _) in enumerate(mutants):
            if found[number] & MUTATORS[name][mutate]:
                result.caught[name] += 1
            else:
                said = f"missed: {name}, seed {seed}, {mutate.__name__}"
                result.problems.append(f"{said}; repeat: {command(seed)}")


def _planted(name: str, known: dict[int, list[Row]]) -> Iterator[tuple[int, Mutator, list[Row]]]:
    """Yield (seed, mutator, rows) of the broken histories that the mutators of one checker make
    from these valid ones, by seed."""
    for seed, rows in known.items():
        for mutate in MUTATORS[name]:
            broken = mutate(rows, Random(f"{seed}:{mutate.__name__}"))
            if broken is not None:
                yield seed, mutate, broken


def found_by(name: str, mutants: Sequence[list[Row]]) -> Mapping[int, set[str]]:
    """Return the kinds of anomalies that the checker reports of each mutant, by its number: an
    empty set for a mutant without any."""
    rows = joined(mutants)
    if CHECKERS[name].scope is Scope.RUN:  # cycles in real time would lead through all of them
        rows = rows.with_columns(
            pl.col("t_invoke_ns", "t_complete_ns") + pl.col("op_id") // NUMBERS_APART * LONG_NS
        )
    found = anomalies_of(CHECKERS[name], resolved(rows.lazy()))
    kinds: dict[int, set[str]] = defaultdict(set)
    for kind, *where in found.select("kind", "topic", "op_ids").iter_rows():
        kinds[_number(*where)].add(kind)
    return kinds


def _number(topic: object, operations: Sequence[int]) -> int:
    """Return the number of the small history, within the joined one, that an anomaly belongs to."""
    if topic is None:  # an answer of a coordinator, which names no topic
        return min(operations) // NUMBERS_APART
    return int(str(topic).rpartition("-")[2])
