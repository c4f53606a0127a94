"""Put broken invariants off to the end of the running case.

Most cases send requests only to get to what they ask about: they create a topic, or join a group.
One wrong field in those answers would otherwise end most cases, and hide what is wrong beyond it.
So a case goes on, and its own failure comes first. A broken invariant fails a case that is about
the same API, and besides one other case of the examination, so that it is always told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from conformance.case import Deviation
from conformance.exchanges import EXCHANGES

_OWN_NAMES = re.compile(r"[\w.-]*touchstone-[\w.-]+|\bv\d+\b")
"""The names that cases make, and versions, in which two findings or states of one kind differ."""

Exchange = Sequence[Mapping[str, object]]


class Told(Protocol):
    """A set of kinds of broken invariants."""

    def __contains__(self, kind: object, /) -> bool: ...

    def add(self, kind: str, /) -> None: ...

    def clear(self) -> None: ...


class BrokenInvariant(Deviation):
    """A response contradicts its request or itself."""


def kind_of(what: str) -> str:
    """Return a description without the names and versions in which two cases differ."""
    return _OWN_NAMES.sub("", what)


class PutOff:
    """Collects the broken invariants of the running case, and remembers those that were told."""

    def __init__(self) -> None:
        self._api: str | None = None
        self._found: dict[str, tuple[bool, BrokenInvariant, Exchange]] = {}
        self._told: Told = set()

    def tell_others(self, told: Told) -> None:
        """Remember in `told`, which other processes see, what was told from now on."""
        self._told = told

    def begin(self, api: str) -> None:
        """Begin a case about this API."""
        self._api = api
        self._found.clear()

    def note(self, api: str, broken: BrokenInvariant) -> None:
        """Keep a broken invariant with the bytes that show it. Raise it if no case runs."""
        if self._api is None:
            raise broken
        kind = kind_of(broken.what)
        if kind not in self._found:
            self._found[kind] = (api == self._api, broken, EXCHANGES.told())

    def end(self, *, passed: bool) -> tuple[BrokenInvariant, Exchange] | None:
        """End the case. Return the first violation that fails it, with its exchange: one of the
        case's own requests, or one that `tell` has not noted. Return None if there is none, or if
        `passed` is false. passed: whether the case has otherwise passed, or is unsupported."""
        self._api = None
        for kind, (is_own, broken, exchange) in self._found.items() if passed else ():
            if is_own or kind not in self._told:
                return broken, exchange
        return None

    def tell(self, error: BaseException) -> None:
        """Remember that a case has failed by this error. If it is a BrokenInvariant, one of the
        same kind fails no case about another API from now on. Do not call this for a case that will
        run again, or that a setting makes unsupported."""
        if isinstance(error, BrokenInvariant):
            self._told.add(kind_of(error.what))

    def forget(self) -> None:
        """Begin another examination, which reports everything again."""
        self._api = None
        self._found.clear()
        self._told.clear()


PUT_OFF = PutOff()
"""The broken invariants of the running case."""
