"""The judges of histories. Imports nothing else of the project.

    import linearizability
    verdict = linearizability.check("runs/…")      # a run directory or a history file
    linearizability.to_pandas(verdict)             # its anomalies, one row each
    linearizability.checkers_to_pandas(verdict)    # what each checker counted

These names are imported on first use: a Spark executor that lacks a package must still be able to
report that (`engine/probe.py`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linearizability.history import HistoryError
    from linearizability.judging import check, check_frame, checkers_to_pandas, to_pandas
    from linearizability.verdict import Anomaly, CheckerVerdict, Validity, Verdict

__all__ = [
    "Anomaly",
    "CheckerVerdict",
    "HistoryError",
    "Validity",
    "Verdict",
    "check",
    "check_frame",
    "checkers_to_pandas",
    "to_pandas",
]

_MODULES = {
    "HistoryError": "history",
    "Anomaly": "verdict",
    "CheckerVerdict": "verdict",
    "Validity": "verdict",
    "Verdict": "verdict",
}
"""Name -> the module that defines it, if that is not `judging`."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES.get(name, 'judging')}")
    return getattr(module, name)
