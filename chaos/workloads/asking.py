"""A process that requests the start and end offsets of logs from their leaders, again and again.

So the history shows which records a log loses at its start, and when, to within a few hundredths of
a second.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import cycle

from chaos.values.operations import AskEnds, Idle
from chaos.values.protocols import Completion, Operation

BETWEEN_S = 0.02


def ask_for_ever(topic: str, partitions: int) -> Generator[Operation, Completion, None]:
    """Ask for the start and end of each partition's log in turn, by Fetch and by ListOffsets, which
    must agree."""
    for looks_up in cycle((False, True)):
        for partition in range(partitions):
            yield AskEnds(topic, partition, looks_up)
            yield Idle(BETWEEN_S)
