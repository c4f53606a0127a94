"""The refusals of the running case: what the target answered with an error, and which connections
it closed. A setting of the target may explain them (conformance/target/explained.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from reference_impl.wire import Struct

JOINING = frozenset(
    {"JoinGroup", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"}
)
"""The APIs by which a member joins a group."""


@dataclass(frozen=True)
class Refusal:
    """An error in an answer, beside the request that got it. members: how many requests to join the
    same group the case had sent before, which bounds the members that the group can have."""

    error: int
    api: str
    version: int
    asked: Struct
    members: int = 0


@dataclass(frozen=True)
class Closure:
    """A connection that the target closed. idle_s: how long no byte had passed before the last
    request; request_bytes: the size of that request; open: the connections that the suite had."""

    idle_s: float
    request_bytes: int
    open: int


@dataclass
class Refusals:
    """Collects the refusals and the closures of one case, over all its connections."""

    answers: list[Refusal] = field(default_factory=list)
    closures: list[Closure] = field(default_factory=list)
    _joins: Counter[str] = field(default_factory=Counter)

    def asked(self, api: str, body: Struct) -> None:
        """Count a request that joins a group, by group; other requests are ignored."""
        if api in JOINING:
            self._joins[body.group_id] += 1

    def answered(self, api: str, version: int, asked: Struct, answer: Struct) -> None:
        """Remember the errors of an answer."""
        members = self._joins[asked.group_id] - 1 if api in JOINING else 0
        self.answers += [
            Refusal(error, api, version, asked, members) for error in set(_errors(answer))
        ]

    def closed(self, closure: Closure) -> None:
        """Remember that the target closed a connection."""
        self.closures.append(closure)

    def forget(self) -> None:
        """Drop what was collected for the last case."""
        self.answers.clear()
        self.closures.clear()
        self._joins.clear()


def _errors(above: Struct) -> Iterator[int]:
    """Yield each error code other than 0, at any depth."""
    for name in above._names:
        value = getattr(above, name)
        if name.endswith("error_code"):  # a new topic's configuration has its own (KIP-525)
            if value:
                yield int(value)
        elif isinstance(value, Struct):
            yield from _errors(value)
        elif isinstance(value, list) and value and isinstance(value[0], Struct):
            for row in value:
                yield from _errors(row)


REFUSALS = Refusals()
"""The refusals of the running case."""
