"""Perform many batches of work in processes that are replaced now and then.

Allocators do not give back all memory of a large batch. `max_tasks_per_child` of
ProcessPoolExecutor is meant for that, but Python 3.11 may stand still once processes have ended by
it (CPython issue 115634), so a whole pool is replaced here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import active_children, get_context
from typing import TypeVar

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def in_rounds(
    work: Callable[[Batch], Result],
    batches: Iterable[Batch],
    processes: int,
    *,
    of_a_process: int,
    initializer: Callable[[], None] | None = None,
) -> Generator[tuple[Batch, Future[Result]], None, None]:
    """Yield each batch with the future of its result, in order. Each process does about
    `of_a_process` batches before all are replaced. Closing the iterator early ends the processes,
    without waiting for batches in progress. work, batches and results are pickled. initializer:
    called first in each process."""
    rest = iter(batches)
    while some := list(islice(rest, processes * of_a_process)):
        others = set(active_children())
        # Spawned: polars keeps threads, which a fork would lose.
        pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=initializer)
        try:
            yield from [(batch, pool.submit(work, batch)) for batch in some]
        except BaseException:
            for child in set(active_children()) - others:
                child.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
