"""All histories written by hand: checker -> title -> rows, and for invalid ones the anomalies that
must be found."""

from __future__ import annotations

from linearizability.guarantees import GUARANTEES, part
from linearizability.hand_written.rows import Invalid, Valid

VALID: dict[str, Valid] = {name: part(name, "histories").VALID for name in GUARANTEES}
INVALID: dict[str, Invalid] = {name: part(name, "histories").INVALID for name in GUARANTEES}
