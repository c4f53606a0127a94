"""Describe a group of anomalies in plain English: the writer, record, time, place and fault, and
the present content of the offset."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from linearizability.excuses.fault_spans import Fault
from linearizability.stories.cases import Case
from linearizability.stories.families import base_of, meaning_of
from linearizability.stories.model import Group
from linearizability.stories.scene import Record, Row, Scene
from linearizability.verdict import Anomaly, CheckerVerdict, Verdict

NAMES_MAX = 4
TIMED_NS = 1_000_000
"""The length of a history in nanoseconds below which it counts as untimed, because no real clock
was used."""


def headline(cases: Sequence[Case], records: int, *, is_cut: bool = False) -> str:
    """Return one line about a group: how many records (anomalies, if `records` is 0), where, and
    their meaning. cases: the most serious ones, the one to tell first. is_cut: whether the verdict
    keeps only some of their anomalies."""
    example = cases[0]
    count = f"{records:,} record{'s' * (records != 1)}" if records else _anomalies(len(cases))
    places = sorted({place for case in cases for place in case.places})
    where = f" of {_listed([f'{t}-{p}' for t, p in places])}" if places else ""
    least = "at least " if is_cut else ""
    return f"{least}{count}{where}: {meaning_of(example.checker, example.anomaly.kind)}"


def story(
    part: Sequence[Case],
    records: int,
    checkers: Mapping[str, CheckerVerdict],
    scene: Scene,
    faults: Sequence[Fault],
) -> str:
    """Return a group as one paragraph. part: its cases, the one to tell in full at the head.
    records: how many records its most serious cases name. faults: those that explain it."""
    example = part[0]
    sentences: list[str] = []
    if example.records:
        record = _most_telling(example.records)
        sentences += _sent(record, scene)
        sentences += _seen(record, scene)
    else:
        record = None
    sentences.append(_faults_then(example.when_ns[0], faults, scene))
    known = placed(example.anomaly)
    if record is not None:
        known = known.removeprefix(f"{place_of(example.anomaly)}: ")
    sentences.append(f"{example.checker} says: {known}.")
    if record is not None:
        sentences += _now(record, scene)
    elif example.anomaly.operations:
        sentences.append(_proof(example.anomaly.operations))
    if len(part) > 1:
        sentences.append(_extent(part, records, scene))
    sentences += _cut_short(part, checkers)
    return " ".join(sentence for sentence in sentences if sentence)


def counted(verdict: Verdict) -> str:
    """Return the number of anomalies that a verdict proves and the number of their causes, in
    words."""
    causes, kept = len(verdict.groups), sum(group.anomalies for group in verdict.groups)
    of = f" (of {verdict.anomaly_count:,} found)" if kept != verdict.anomaly_count else ""
    return f"{_anomalies(kept)}{of} with {causes:,} cause{'s' * (causes != 1)}"


def facts_of(group: Group) -> list[str]:
    """Return further facts about a group that its headline does not contain."""
    facts = [_anomalies(group.anomalies)]
    if group.fault is not None:
        facts.append(f"fault: {group.fault}")
    if group.like is not None:
        facts.append(f"like cause {group.like}")
    return facts


def context(
    anomaly: Anomaly, records: Sequence[Record], scene: Scene, faults: Sequence[Fault]
) -> str:
    """Return the facts that the sentence of an anomaly leaves out: partition and offset, the writer
    of the record or the process of the operation, the time, and the fault under way. Return "" if
    none of them is known."""
    parts = []
    if records:
        record = _most_telling(records)
        at = "" if record.offset is None else f"@{record.offset}"
        parts.append(f"{record.topic}-{record.partition}{at}")
        row = record.send or record.seen
    else:
        if place := place_of(anomaly):
            parts.append(place)
        row = next((scene.operations[o] for o in anomaly.operations if o in scene.operations), None)
    if row is not None and row["process"] >= 0:
        parts.append(f"{_verb(row)} {scene.role(row)}{_at(row['t_invoke_ns'], scene)}")
    if faults:
        parts.append(f"fault: {_labels(faults)}")
    return ", ".join(parts)


def placed(anomaly: Anomaly) -> str:
    """Return the sentence of an anomaly with its partition, if the sentence does not name it."""
    place = place_of(anomaly)
    is_named = re.search(rf"(?<![\w-]){re.escape(place)}(?!\d)", anomaly.message)
    return anomaly.message if is_named else f"{place}: {anomaly.message}"


def place_of(anomaly: Anomaly) -> str:
    """Return the partition as Kafka's tools write it (topic-0), or "" if the anomaly names none."""
    topic, partition = anomaly.scope.get("topic"), anomaly.scope.get("partition")
    return "" if topic is None or partition is None else f"{topic}-{partition}"


def _verb(row: Row) -> str:
    if row["f"] == "send":
        return "sent by"
    return "given to" if row["f"] == "poll" and row["offset"] is not None else "asked by"


def _most_telling(records: Sequence[Record]) -> Record:
    """Return the record about which the history has most facts. A record whose send is known comes
    first."""
    return max(records, key=lambda record: (record.send is not None, record.offset is not None))


def _sent(record: Record, scene: Scene) -> Iterator[str]:
    place, send = f"{record.topic}-{record.partition}", record.send
    if send is None:
        return
    what = "a record" if record.value is None else f"record {record.value}"
    inside = f" in transaction {send['txn']}" if send["txn"] is not None else ""
    yield (
        f"{_capital(scene.role(send))} sent {what} to {place}{inside}"
        f"{_at(send['t_invoke_ns'], scene)} (operation {send['op_id']});"
        f" {_answer(send, place, scene)}."
    )


def _answer(send: Row, place: str, scene: Scene) -> str:
    """Return the outcome of a send, in words."""
    when = "" if send["t_complete_ns"] is None else _at(send["t_complete_ns"], scene)
    if send["type"] == "fail":
        return f"the broker refused it{when}"
    if send["type"] == "info":
        return f"nobody knows whether it was stored: no answer came{when and f' until{when[3:]}'}"
    at = "" if send["offset"] is None else f" as {place}@{send['offset']}"
    return f"the broker acknowledged it{at}{when}"


def _seen(record: Record, scene: Scene) -> Iterator[str]:
    seen = record.seen
    if seen is not None:
        yield (
            f"{_capital(scene.role(seen))} was last given it at offset {seen['offset']}"
            f"{_at(seen['t_invoke_ns'], scene)} (operation {seen['op_id']})."
        )


def _faults_then(since_ns: int, faults: Sequence[Fault], scene: Scene) -> str:
    """Return a sentence that names these faults, or says that the history, or that time, has none.
    It begins with "Then" if they began after `since_ns`."""
    if not scene.episodes:
        return "The history holds no fault."
    if not faults:
        return "No fault was under way then."
    end_s = max(fault.end_s for fault in faults)
    until = f"{end_s:.2f} s" if all(fault.is_healed for fault in faults) else "the end of the run"
    struck = _listed([f"{fault.label} struck at {fault.start_s:.2f} s" for fault in faults])
    then = "Then " if scene.seconds(since_ns) < faults[0].start_s else ""
    return f"{then}{struck}{',' * (len(faults) > 1)} and lasted until {until}."


def _labels(faults: Sequence[Fault]) -> str:
    """Return the faults by name, each once."""
    return _listed(list(dict.fromkeys(fault.label for fault in faults)))


def _now(record: Record, scene: Scene) -> Iterator[str]:
    """Yield sentences about what occupies the record's offset at the end, and where the record is
    instead. Yield none if it is where it should be and nowhere else."""
    place = f"{record.topic}-{record.partition}"
    if record.offset is None or record.offset in record.stands_at:
        if len(record.stands_at) > 1:
            yield f"In the end it stands at offsets {_listed(list(map(str, record.stands_at)))}."
        return
    if record.instead is not None:
        yield f"{place}@{record.offset} now holds {_found(record, scene)}."
    elif (read := scene.ends.get(record.place)) is not None:
        if record.offset >= read["high_watermark"]:
            yield (
                f"The log of {place} now ends before offset {read['high_watermark']} (read whole"
                f" by operation {read['op_id']}), so nothing stands at {record.offset}."
            )
        elif read["log_start"] is not None and record.offset < read["log_start"]:
            yield f"The log of {place} now begins at offset {read['log_start']}."
        else:
            yield (
                f"Nothing was read at {place}@{record.offset} when operation {read['op_id']} read"
                " the whole partition."
            )
    if record.stands_at:
        yield f"The record now stands at offset {_listed(list(map(str, record.stands_at)))}."


def _found(record: Record, scene: Scene) -> str:
    """Return words for the record that was found at this record's offset, and for its writer."""
    there, writer = record.instead, record.instead_send
    assert there is not None
    read = f"read by operation {there['op_id']}"
    if there["value"] is None:
        return f"a record that no client sent ({read})"
    if writer is None:
        return f"record {there['value']} ({read})"
    sent = f"which {scene.role(writer)} sent{_at(writer['t_invoke_ns'], scene)}"
    return f"record {there['value']}, {sent} (operation {writer['op_id']}, {read})"


def _extent(part: Sequence[Case], records: int, scene: Scene) -> str:
    """Return a sentence about the damage of one cause: its anomalies, also by checker, and, for
    several records, their number and the first and last time."""
    counts = Counter(case.checker for case in part)
    by = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    first = scene.seconds(min(case.when_ns[0] for case in part))
    last = scene.seconds(max(case.when_ns[0] for case in part))
    when = f", the first at {first:.2f} s and the last at {last:.2f} s" if _is_timed(scene) else ""
    of = f" of {records:,} records" if records > 1 else ""
    return f"This explains {_anomalies(len(part))}{of}{when if records > 1 else ''} ({by})."


def _proof(operations: Sequence[int]) -> str:
    """Return a sentence that names the operations that prove an anomaly without a record."""
    several = len(operations) > 1
    named = _listed([str(operation) for operation in operations])
    return f"Operation{'s' * several} {named} prove{'s' * (not several)} it."


def _cut_short(part: Sequence[Case], checkers: Mapping[str, CheckerVerdict]) -> Iterator[str]:
    """Yield a sentence for each checker of these cases of whose anomalies the verdict keeps only
    some. Yield none for second opinions (porcupine's, for example)."""
    for name in dict.fromkeys(case.checker for case in part):
        opinion = checkers[name]
        if name != base_of(name):
            continue  # a second opinion keeps only one example per window
        if opinion.anomaly_count > len(opinion.anomalies):
            yield (
                f"The verdict keeps {len(opinion.anomalies):,} of {opinion.anomaly_count:,} "
                f"anomalies of {name}, so there may be more."
            )


def _at(ns: int, scene: Scene) -> str:
    return f" at {scene.seconds(ns):.3f} s" if _is_timed(scene) else ""


def _is_timed(scene: Scene) -> bool:
    return scene.end_ns - scene.start_ns >= TIMED_NS


def _anomalies(count: int) -> str:
    return f"{count:,} anomal{'y' if count == 1 else 'ies'}"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _listed(names: Sequence[str]) -> str:
    """Return "a, b and c". If there are more than NAMES_MAX names, return the first ones and the
    number of the others."""
    if len(names) > NAMES_MAX:
        return f"{', '.join(names[:NAMES_MAX])} and {len(names) - NAMES_MAX} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
