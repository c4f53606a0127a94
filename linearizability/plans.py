"""Execute lazy frames ("plans") by the engine of polars that suits the size of the history.

The judges make hundreds of small plans. Polars streams by default, which is right for millions of
rows; but then threads hand pieces of each plan to each other, which takes most of the time for a
short history (thousands of switches). The in-memory engine, which works through a plan step by
step, takes two thirds of the time. For more than about 300,000 rows it takes longer, and more
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, TypeVar

import polars as pl

SHORT_ROWS = 100_000
"""The number of rows up to which a history is short."""

Engine = Literal["auto", "in-memory"]
Rows = TypeVar("Rows")

_engine: ContextVar[Engine] = ContextVar("engine", default="auto")
"""The chosen engine. It is a setting of the context and not of the process, since another thread
may judge a long history."""


@contextmanager
def for_rows(rows: int) -> Iterator[None]:
    """Choose the engine for a history of this many rows inside the `with` block."""
    before = _engine.set("in-memory" if rows <= SHORT_ROWS else "auto")
    try:
        yield
    finally:
        _engine.reset(before)


Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
Found = TypeVar("Found")
_shared: ContextVar[dict[Any, tuple[Any, Any]] | None] = ContextVar("shared", default=None)


def engine() -> Engine:
    """Return the engine that is chosen in this context (`for_rows`)."""
    return _engine.get()


def whole(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with each column in one contiguous piece if the in-memory engine is chosen:
    after a filter has left an empty piece, its `pl.format` panics (polars 2.1)."""
    return frame.rechunk() if engine() == "in-memory" else frame


@contextmanager
def sharing() -> Iterator[None]:
    """Keep what `once` finds inside the `with` block, and the frames that it is found in. A block
    inside another shares with it."""
    before = _shared.set({} if (held := _shared.get()) is None else held)
    try:
        yield
    finally:
        _shared.reset(before)


def once(find: Callable[[Frame], Found], frame: Frame) -> Found:
    """Return what the function finds in this frame. Inside `sharing` it is called once for each
    frame, so that rules can share what they find."""
    held = _shared.get()
    if held is None:
        return find(frame)
    key = find, id(frame)
    if key not in held:
        held[key] = frame, find(frame)  # a frame that is held keeps its identity
    found: Found = held[key][1]
    return found


def collect(plan: pl.LazyFrame) -> pl.DataFrame:
    """Return the rows of a plan, executed by the engine of this context. If the in-memory engine
    panics, execute it again with the default engine."""
    return _carried_out(lambda by: plan.collect(engine=by))


def needed(events: pl.LazyFrame, suspects: pl.DataFrame) -> pl.LazyFrame:
    """Return the events, or none of them if there are no suspects: what they would be compared with
    is expensive, and most histories have nothing to compare."""
    return events if suspects.height else events.head(0)


def collect_all(plans: Iterable[pl.LazyFrame]) -> list[pl.DataFrame]:
    """Return the rows of several plans, in their order, executed as `collect` does. Parts that
    plans have in common are computed once."""
    wanted = list(plans)
    return _carried_out(lambda by: pl.collect_all(wanted, engine=by))


def _carried_out(plan: Callable[[Engine], Rows]) -> Rows:
    try:
        return plan(engine())
    except pl.exceptions.PanicException:
        if engine() == "auto":
            raise
        return plan("auto")  # the plan itself has made empty pieces: see `whole`
