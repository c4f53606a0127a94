"""Count the operations that a run has recorded so far."""

from __future__ import annotations

from collections import Counter
from typing import Any

from chaos.values.protocols import Completion, Operation, Outcome, Send


class Counts:
    """The numbers of operations (by outcome, kind and error), records and faults so far, for the
    progress line and run.json."""

    def __init__(self) -> None:
        self.by_outcome = dict.fromkeys(Outcome, 0)
        self.by_operation: dict[str, int] = {}
        self.errors: Counter[tuple[str, str]] = Counter()
        """(operation, error) -> how often that error has occurred."""
        self.details: dict[tuple[str, str], str] = {}
        """(operation, error) -> the first sentence that a client reported with that error."""
        self.records_acknowledged = 0
        self.records_read = 0
        self.faults = 0

    def add(self, operation: Operation, completion: Completion) -> None:
        outcome, records = completion.outcome, completion.records
        name = type(operation).__name__
        self.by_operation[name] = self.by_operation.get(name, 0) + 1
        self.by_outcome[outcome] += 1
        if completion.error is not None:
            self.errors[name, completion.error] += 1
            if completion.detail:
                self.details.setdefault((name, completion.error), completion.detail)
        if isinstance(operation, Send):
            if outcome is Outcome.OK:
                self.records_acknowledged += len(records)
            else:
                self.records_acknowledged += sum(r.outcome is Outcome.OK for r in records)
        elif records:
            self.records_read += len(records)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON values for run.json."""
        return {
            **{outcome.value: number for outcome, number in self.by_outcome.items()},
            "records_acknowledged": self.records_acknowledged,
            "records_read": self.records_read,
            "faults": self.faults,
            "by_operation": dict(self.by_operation),
        }
