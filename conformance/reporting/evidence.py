"""The evidence of a failed case: the requirement, its source, the expected and the actual value."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.values.protocols import TargetError
from conformance.case import Case, Deviation, Unsupported
from conformance.connection import ConnectionClosed
from reference_impl.wire import CorruptRecord, Malformed

_SPEAK_FOR_THEMSELVES = (
    AssertionError,
    ConnectionClosed,
    CorruptRecord,
    Malformed,
    OSError,
    TargetError,
)
"""Errors whose message describes the target's behaviour well enough; any other exception means an
unexpected answer."""
_HERE = Path(__file__).parent.parent


@dataclass(frozen=True)
class Evidence:
    """The comparison that failed: what was compared, the expected and the actual value (all None if
    the case passed), and the messages before it (exchange)."""

    what: str | None = None
    expected: str | None = None
    actual: str | None = None
    exchange: tuple[Mapping[str, object], ...] = ()
    """The last messages before a failure."""

    @staticmethod
    def of(error: BaseException | None, stated: Case) -> Evidence:
        """Return the evidence in an exception of the case `stated`, without its exchange (see
        `beside`); an empty one for None. If the exception does not name what it expected, that is
        the case's requirement."""
        if error is None:
            return Evidence()
        if isinstance(error, Deviation):
            return Evidence(error.what, str(error.expected), str(error.actual))
        if isinstance(error, Unsupported):
            return Evidence(actual=str(error))
        return Evidence(expected=stated.requirement, actual=_actual(error))

    def beside(self, exchange: Iterable[Mapping[str, object]]) -> Evidence:
        """Return the same evidence with these messages."""
        return replace(self, exchange=tuple(exchange))

    def sides(self) -> tuple[str, str]:
        """Return (expected, actual), each as one line of text."""
        prefix = f"{self.what}: " if self.what is not None else ""
        expected = "the requirement above to hold" if self.what is None else self.expected
        return f"{prefix}{expected}", f"{prefix}{self.actual}"


def _actual(error: BaseException) -> str:
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, _SPEAK_FOR_THEMSELVES):
        return said
    return f"an answer that this case cannot read ({said}, at {_place(error)})"


def _place(error: BaseException) -> str:
    """Return file and number of the innermost line in the code of a case or of this suite, since a
    line in a library says less, or those of the innermost line at all if there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(_HERE)] or frames[-1:]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "an unknown line"
