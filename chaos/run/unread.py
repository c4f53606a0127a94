"""Try the partitions again that no final read has read to the end, long enough for a judgement.

A final read that fails makes a run UNKNOWN, since nothing tells why it failed. The tries, which the
history contains one by one, tell it: the guarantee `readable_partitions` judges them.
"""

from __future__ import annotations

from collections.abc import Iterable

from chaos.run.workers import Actor, Shared
from chaos.values.operations import TryRead
from chaos.values.protocols import ClientFactory, ClientSettings, Completion, Outcome

TRIED_S, TRIES_MIN, PAUSE_S = 60.0, 8, 2.0
"""The seconds for which a partition is tried at least, how often at least, and the seconds between
two rounds. (The judge demands somewhat less: `readable_partitions`.)"""
TRIED_MAX = 3
"""The most partitions to try again and again: a try without an answer takes several seconds."""
OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"

Places = Iterable[tuple[str, int]]


def unread_in(completion: Completion) -> list[tuple[str, int]]:
    """Return the partitions that a ReadAll has not read to the end from their leaders, according to
    its rows."""
    return [
        (record.topic, record.partition)
        for record in completion.records
        if record.extra.get("f") == "read_all"
        and record.extra.get("replica") is None
        and record.outcome is not Outcome.OK
    ]


async def try_unread(shared: Shared, places: Places, factory: ClientFactory, process: int) -> None:
    """Try to read each of these partitions once. Then try those that could not be read, TRIED_MAX
    at most, again and again: until they are read, or for TRIED_S and TRIES_MIN times, or until the
    run is abandoned. factory: makes the raw client; process: the number of the process."""
    actor = Actor(shared, process, ClientSettings(), factory, True)
    began, tries = shared.world.monotonic(), 1
    reached: dict[tuple[str, int], int | None] = dict.fromkeys(places)
    try:
        left = await _unread_of(actor, reached, list(reached))
        left = left[:TRIED_MAX]
        while left and (shared.world.monotonic() - began < TRIED_S or tries < TRIES_MIN):
            if await shared.abandoned.wait(PAUSE_S):
                return
            left = await _unread_of(actor, reached, left)
            tries += 1
    finally:
        await actor.close()


async def _unread_of(
    actor: Actor, reached: dict[tuple[str, int], int | None], places: list[tuple[str, int]]
) -> list[tuple[str, int]]:
    """Try each of the partitions once, on from the offset in `reached`, which is brought up to
    date. Return those that were not read."""
    left = []
    for place in places:
        completion = await actor.perform(TryRead(*place, reached[place]))
        if completion.outcome is Outcome.OK:
            continue
        is_gone = completion.error == OUT_OF_RANGE
        reached[place] = None if is_gone else completion.columns.get("asked_offset")
        left.append(place)
    return left
