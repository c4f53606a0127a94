"""Requests that wait, and what they watch."""

from __future__ import annotations

from collections.abc import Generator

from reference_impl.core.effects import Effect
from reference_impl.core.events import Request
from reference_impl.core.partitions.purgatory import PartitionKey, Purgatory, Watch
from reference_impl.wire import ApiKey, Struct, request_definition


class Fickle:
    """A request whose partitions change while it waits, as those of a fetch session may."""

    def __init__(self) -> None:
        body = request_definition(ApiKey.FETCH).new()
        self.request = Request(1, ApiKey.FETCH, 12, 1, None, "", body)
        self.partitions: tuple[PartitionKey, ...] = (("t", 0), ("t", 1))

    def watch(self) -> Watch:
        return Watch.over(self.partitions)

    def answer(self, *, expired: bool) -> Generator[Effect, None, Struct | None]:
        yield from ()
        return None


def test_nothing_watches_for_a_request_that_is_gone_whatever_became_of_its_partitions() -> None:
    purgatory, parked = Purgatory(), Fickle()
    list(purgatory.park(parked, 1000))
    parked.partitions = (("other", 0),)
    list(purgatory.drop(1))
    assert len(purgatory) == 0
    purgatory.note_change("t", 0)
    purgatory.note_change("t", 1)
    assert list(purgatory.woken()) == []
