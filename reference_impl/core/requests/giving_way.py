"""Do the work of a request in parts, between which other requests may have their turn.

One request may name a hundred thousand things. Kafka handles requests on several threads, this
broker on one. So a handler yields GiveWay after each element, at points where no change is half
made. Afterwards it must not rely on state that it read before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from reference_impl.core.effects import Effect, GiveWay
from reference_impl.core.events import Request

Element = TypeVar("Element")
Result = TypeVar("Result")


def for_each(
    request: Request, elements: Iterable[Element], work: Callable[[Element], Result]
) -> Generator[Effect, None, list[Result]]:
    """Do the work for each element, give way after each, and return the results.

    The elements must belong to the request or be a copy, because other requests may change the
    broker's state in between.
    """
    pause = GiveWay(request)
    results = []
    for element in elements:
        results.append(work(element))
        yield pause
    return results


def in_turns(
    request: Request, slices: Generator[None, None, Result]
) -> Generator[Effect, None, Result]:
    """Do work that yields after each part of it, give way there, and return its result. Raise what
    it raises."""
    pause = GiveWay(request)
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: Result = end.value
            return result
        yield pause


def counted(
    request: Request, elements: Iterable[Element]
) -> Generator[Effect, None, Counter[Element]]:
    """Return the number of times that the request names each element. Give way after each."""
    pause = GiveWay(request)
    times: Counter[Element] = Counter()
    for element in elements:
        times[element] += 1
        yield pause
    return times


def merged(
    request: Request, rows: Iterable[tuple[Element, Iterable[Result]]]
) -> Generator[Effect, None, dict[Element, list[Result]]]:
    """Return the partitions of each topic, with those of its later rows appended, in the order in
    which the topics are first named. Give way after each row. Kafka turns many requests into a map
    first, so a topic that is named twice is answered once."""
    pause = GiveWay(request)
    found: dict[Element, list[Result]] = {}
    for key, partitions in rows:
        found.setdefault(key, []).extend(partitions)
        yield pause
    return found
