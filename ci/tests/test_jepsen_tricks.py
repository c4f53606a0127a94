"""Histories that try to fool the judges: correct ones with odd shapes, broken ones that hide it.

The right verdict of each history follows from the text of the format and `docs/guarantees.md`; the
name gives the reason. They are judged together, each as a topic of its own, which is faster.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ci.tests.jepsen_histories import Event, lines
from ci.tests.jepsen_tricks_broken import BROKEN, Kinds
from ci.tests.jepsen_tricks_reading import VALID_READS
from ci.tests.jepsen_tricks_writing import VALID_WRITES
from linearizability.history import HistoryError
from linearizability.importers import jepsen
from linearizability.judging import check_frame
from linearizability.self_test.model.histories import joined
from linearizability.verdict import Validity

VALID = VALID_WRITES | VALID_READS


@cache
def verdicts() -> dict[str, Kinds]:
    """Return history -> its verdict."""
    histories = VALID | {name: history for name, (history, _) in BROKEN.items()}
    # A nemesis in one history would excuse the brokers of the others, too.
    alone = [name for name, h in histories.items() if any(e.get("process") == "nemesis" for e in h)]
    together = [name for name in histories if name not in alone]
    found: dict[str, Kinds] = {}
    for names in (together, *([name] for name in alone)):
        found |= judged({name: histories[name] for name in names})
    return found


def judged(histories: dict[str, list[Event]]) -> dict[str, Kinds]:
    """Return the kinds of anomalies found in histories that are joined to one."""
    found: dict[str, Kinds] = {name: set() for name in histories}
    imported = []
    with TemporaryDirectory() as folder:
        file = Path(folder) / "history.jsonl"
        for name, history in histories.items():
            file.write_text(lines(history))
            try:
                imported.append(list(jepsen.read(file).iter_rows(named=True)))
            except HistoryError as error:
                found[name].add(("refused", str(error)))
                imported.append([])
    verdict = check_frame(joined(imported))
    assert not [c.name for c in verdict.checkers.values() if c.validity is Validity.UNKNOWN]
    for checker, anomaly in verdict.anomalies:
        number = int(str(anomaly.scope["topic"]).rpartition("-")[2])
        found[list(histories)[number]].add((checker, anomaly.kind))
    return found


@pytest.mark.parametrize("name", VALID)
def test_a_correct_history_is_not_accused(name: str) -> None:
    assert verdicts()[name] == set()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_history_is_accused_of_what_it_does_alone(name: str) -> None:
    assert verdicts()[name] == BROKEN[name][1]
