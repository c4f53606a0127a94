"""All histories written by hand: checker -> title -> rows, and of invalid ones what is found."""

from __future__ import annotations

from linearizability.checkers.tests import (
    histories_of_ends,
    histories_of_groups,
    histories_of_kept_logs,
    histories_of_logs,
    histories_of_readers,
    histories_of_records,
    histories_of_services,
    histories_of_transactions,
)
from linearizability.checkers.tests.rows import Row

_FILES = (
    histories_of_records,
    histories_of_readers,
    histories_of_transactions,
    histories_of_ends,
    histories_of_logs,
    histories_of_kept_logs,
    histories_of_services,
    histories_of_groups,
)
VALID: dict[str, dict[str, list[Row]]] = {}
INVALID: dict[str, dict[str, tuple[list[Row], list[tuple[str, tuple[int, ...]]]]]] = {}
for _file in _FILES:
    VALID |= _file.VALID
    INVALID |= _file.INVALID
