"""JSON lines: one event a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from linearizability.history import HistoryError


def forms(text: str, source: str) -> Iterator[tuple[int, Any]]:
    """(line, value) of each line that is not blank; HistoryError names one that is no JSON."""
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            yield line, json.loads(content)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
            raise HistoryError(
                f"{source}: line {line}: not a complete JSON object ({why}); write one event a line"
            ) from error
