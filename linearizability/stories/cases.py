"""Each anomaly with its facts from the history: its records, its time, and the fault at that time.

A lost record was there when it was acknowledged, and when a reader last received it, so a fault
after that is the cause. Any other anomaly happened between the sending of its records and their
acknowledgement, or during its operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from linearizability.excuses.fault_spans import Fault
from linearizability.guarantees.about import Family
from linearizability.stories.families import family_of
from linearizability.stories.scene import Place, Record, Row, Scene
from linearizability.verdict import Anomaly, CheckerVerdict


@dataclass(frozen=True)
class Case:
    """An anomaly with its facts from the history. when_ns: its beginning and end. episode: the
    number of the group of faults that explains it, or None if no fault does."""

    checker: str
    position: int
    anomaly: Anomaly
    family: Family
    records: tuple[Record, ...]
    places: tuple[Place, ...]
    when_ns: tuple[int, int]
    episode: int | None


def cases_of(checkers: Mapping[str, CheckerVerdict], scene: Scene) -> Iterator[Case]:
    """Yield every anomaly with its facts from the history, in the order of the verdict."""
    i = 0
    for name, opinion in checkers.items():
        for position, anomaly in enumerate(opinion.anomalies):
            records = scene.records.get(i, ())
            family = family_of(name, anomaly.kind)
            since, until = _when(anomaly, family, records, scene)
            yield Case(
                name,
                position,
                anomaly,
                family,
                records,
                _places(anomaly, records),
                (since, until),
                _episode(since, until, scene),
            )
            i += 1


def faults_of(case: Case, scene: Scene) -> Sequence[Fault]:
    """Return the faults that explain a case, or () if none does."""
    return () if case.episode is None else scene.episodes[case.episode]


def _places(anomaly: Anomaly, records: Sequence[Record]) -> tuple[Place, ...]:
    """Return the partitions that an anomaly is about."""
    topic, partition = anomaly.scope.get("topic"), anomaly.scope.get("partition")
    own = [(topic, partition)] if topic is not None and partition is not None else []
    return tuple(dict.fromkeys([*own, *(record.place for record in records)]))


def _when(
    anomaly: Anomaly, family: Family, records: Sequence[Record], scene: Scene
) -> tuple[int, int]:
    """Return when an anomaly began and ended, in nanoseconds of the history's clock: the whole
    history if it names no known operation."""
    rows = [scene.operations[op] for op in anomaly.operations if op in scene.operations]
    sends = [record.send for record in records if record.send is not None]
    if family is Family.LOSS and sends:
        since = min(_last_there(record) for record in records if record.send is not None)
        proofs = [_ended(row, scene) for row in rows if row["f"] != "send"]
        return since, min((t for t in proofs if t > since), default=scene.end_ns)
    if sends:
        return min(s["t_invoke_ns"] for s in sends), max(_ended(s, scene) for s in sends)
    running = [row for row in rows if not row["final"]] or rows
    if not running:
        return scene.start_ns, scene.end_ns
    since = min(row["t_invoke_ns"] for row in running)
    return since, max(_ended(row, scene) for row in running)


def _last_there(record: Record) -> int:
    """Return the last time at which a record was known to be in the log: when it was acknowledged
    (or sent), or when a reader last received it. The record must have a send or such a read."""
    known = [record.seen["t_invoke_ns"]] if record.seen is not None else []
    if record.send is not None:
        acked = record.send["t_complete_ns"]
        known.append(record.send["t_invoke_ns"] if acked is None else acked)
    return int(max(known))


def _ended(row: Row, scene: Scene) -> int:
    ended = row["t_complete_ns"]
    return scene.end_ns if ended is None else int(ended)


def _episode(since_ns: int, until_ns: int, scene: Scene) -> int | None:
    """Return the number of the first group of overlapping faults that were in progress at some time
    between the two, or None."""
    since, until = scene.seconds(since_ns), scene.seconds(until_ns)
    for number, faults in enumerate(scene.episodes):
        if faults[0].start_s <= until and max(fault.end_s for fault in faults) >= since:
            return number
    return None
