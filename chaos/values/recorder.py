"""Define the Protocol of the recorder, which writes the history of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from chaos.values.protocols import Completion, Operation, Performed


class Recorder(Protocol):
    """Collects the history during the run, and may already write parts of it."""

    topic_ids: dict[str, str]
    topic_defaults: dict[str, str]

    @property
    def records_acknowledged(self) -> int: ...

    def next_op_id(self) -> int: ...

    def invoked(
        self,
        op_id: int,
        process: int,
        operation: Operation,
        t_invoke_ns: int,
        context: Mapping[str, Any],
    ) -> None:
        """Record that an operation begins. If it never completes, its outcome in the history is
        INFO. context: further columns of its rows."""
        ...

    def record(
        self,
        op_id: int,
        process: int,
        operation: Operation,
        completion: Completion,
        t_invoke_ns: int,
        t_complete_ns: int | None,
        context: Mapping[str, Any],
    ) -> None: ...

    def nemesis(
        self, performed: Performed, t_invoke_ns: int, t_complete_ns: int | None = None
    ) -> None: ...
