"""All histories written by hand: checker -> title -> rows, and of invalid ones what is found."""

from __future__ import annotations

from linearizability.hand_written import (
    ends,
    groups,
    kept_logs,
    logs,
    readers,
    records,
    services,
    transactions,
)
from linearizability.hand_written.rows import Row

_FILES = (records, readers, transactions, ends, logs, kept_logs, services, groups)
VALID: dict[str, dict[str, list[Row]]] = {}
INVALID: dict[str, dict[str, tuple[list[Row], list[tuple[str, tuple[int, ...]]]]]] = {}
for _file in _FILES:
    VALID |= _file.VALID
    INVALID |= _file.INVALID
