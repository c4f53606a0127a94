"""Python bindings to porcupine, which searches for an order of operations that explains their
results.

    builder = OperationsBuilder()
    builder.add(0, 10, RegisterKind.WRITE, client=0, a=1)
    builder.add(20, 30, RegisterKind.READ, client=1, c=0)
    check("register", builder.build()).verdict          # Validity.INVALID: the read is stale

A model named by a string is searched by porcupine (the executable); a PythonModel by the
pure-Python kernel of this folder. README.md has the tour.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linearizability.porcupy.executable import check_by_executable, find_executable
from linearizability.porcupy.kernel import check_by_kernel
from linearizability.porcupy.operations import NEVER, OK, UNKNOWN, Op, Operations, OperationsBuilder
from linearizability.porcupy.python_models import (
    PARTITION_LOG,
    REGISTER,
    LogKind,
    PythonModel,
    RegisterKind,
)
from linearizability.porcupy.result import Annotation, PartitionResult, Result

__all__ = [
    "NEVER",
    "OK",
    "PARTITION_LOG",
    "REGISTER",
    "UNKNOWN",
    "Annotation",
    "LogKind",
    "Op",
    "Operations",
    "OperationsBuilder",
    "PartitionResult",
    "PythonModel",
    "RegisterKind",
    "Result",
    "check",
    "find_executable",
]


def check(
    model: str | PythonModel,
    operations: Operations,
    *,
    timeout_s: float = 60,
    memory_mib: int = 1024,
    html: Path | None = None,
    annotations: Sequence[Annotation] = (),
) -> Result:
    """Judge the operations of every key by `model`. Raise ValueError if a limit is not positive, if
    `html` is given for a model in Python, or if the executable finds the request invalid, for
    example because it has no such model.

    A search that runs out of time or memory, crashes, or has no executable is UNKNOWN, never a
    pass. `html`: the file for a drawing of the first INVALID partition (only with the executable,
    and up to 2,000 operations). `annotations`: the faults that it shows.
    """
    if timeout_s <= 0 or memory_mib <= 0:
        raise ValueError("check: timeout_s and memory_mib must be positive")
    if isinstance(model, PythonModel):
        if html is not None:
            raise ValueError("check: only the executable draws; name the model by a string")
        return check_by_kernel(model, operations, timeout_s=timeout_s, memory_mib=memory_mib)
    return check_by_executable(
        model,
        operations,
        timeout_s=timeout_s,
        memory_mib=memory_mib,
        html=html,
        annotations=annotations,
    )
