"""The stable names for plugins and tests of other projects: in the wheel, `from touchstone.kit
import …`.

These names do not change when the modules behind them move. Each is imported on first use, since
the base installation lacks the dependencies of the checkers and of chaos.
"""

from importlib import import_module
from typing import Any

PLACES = {
    **dict.fromkeys(("case", "each", "expect", "expect_that", "Unsupported"), "conformance.case"),
    **dict.fromkeys(("Wire", "batch", "eventually", "request"), "conformance.wire"),
    "ErrorCode": "reference_impl.wire",
    **dict.fromkeys(
        (
            *("Abort", "Assign", "Begin", "ClientSettings", "Cluster", "Commit", "Completion"),
            *("Nemesis", "Operation", "Outcome", "Poll", "ReadAll", "Send", "Target"),
            *("TargetError", "TopicSpec", "Workload"),
        ),
        "chaos.values.protocols",
    ),
    **dict.fromkeys(
        ("Fault", "Heal", "Isolate", "Kill", "Pause", "Shutdown", "Split"), "chaos.values.faults"
    ),
    "Sight": "chaos.record.shown",
    "parse_target": "chaos.targets",
    "Appends": "chaos.workloads.appends",
    "Transactions": "chaos.workloads.transactions",
    **dict.fromkeys(
        ("Checker", "Cut", "Needs", "Scope", "count", "describe"), "linearizability.checkers.base"
    ),
    "HistoryError": "linearizability.errors",
    "history": "linearizability.history",
    "Validity": "linearizability.verdict",
}
"""Name -> the module that defines it, or that it is. Each has a dot, as the build of the wheel
renames only such texts."""


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"the kit has no {name}; it has {', '.join(sorted(PLACES))}")
    module = import_module(PLACES[name])
    return getattr(module, name, module)
