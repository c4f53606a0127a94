"""Translate the actions of Jepsen's nemesis to faults and heals, since time limits for readers do
not apply during a fault.

An action consists of two consecutive events with one `f`: request and completion. (The nemesis is
one process.) Names are those of jepsen.nemesis.combined and of the older nemeses (start, stop). A
fault that is known to last does so until an action ends it, or for ever if that action failed. An
unknown action is a fault only from its request to its completion.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from linearizability.excuses.faults import HEAL, UNTIL
from linearizability.importers.events import Event

ENDS = {
    "resume": ("pause",),
    "reset-clock": ("bump-clock", "strobe-clock"),
    "reset": ("bump", "strobe"),
    "stop": ("start",),
}
STOP, START, KILL = "stop-", "start", "kill"
FAILED = ("exception", "error")
HARMLESS = ("check-clock-offsets", "check-offsets")


def faults(events: Iterable[Event]) -> Iterator[tuple[Event, str]]:
    """Yield (event, detail as JSON; see `history.COLUMNS`) for each event that began a fault, and
    as a heal for each that ended the last fault in progress. Other events are left out."""
    own = [event for event in events if event.process is None and event.f not in HARMLESS]
    ends = dict(ENDS)
    if any(event.f == KILL for event in own):
        ends[START] = (KILL,)
        ends["stop"] = ()
    asked: str | None = None
    active: set[str] = set()
    for event in own:
        is_done = event.f == asked
        asked = None if is_done else event.f
        ended = ended_by(event.f, ends)
        if ended is None:
            if not is_done:
                active.add(event.f)
                yield event, json.dumps({"fault": event.f, UNTIL: HEAL})
            elif not is_lasting(event.f, ends):
                active.discard(event.f)
                if not active:
                    yield event, json.dumps({"fault": HEAL})
        elif is_done and active and not has_failed(event):
            active -= set(ended)
            if not active:
                yield event, json.dumps({"fault": HEAL})


def is_lasting(f: str, ends: dict[str, tuple[str, ...]]) -> bool:
    """Return whether an action is known that ends this fault, so that the fault lasts until
    then."""
    return f == KILL or f.startswith(f"{START}-") or any(f in ended for ended in ends.values())


def has_failed(event: Event) -> bool:
    """Return whether an action of the nemesis ended by an exception, or reports that it was not
    possible."""
    return any(event.raw.get(key) for key in FAILED)


def ended_by(f: str, ends: dict[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """Return the faults that this action ends, or None if it is not such an action."""
    if f.startswith(STOP):
        return (f"{START}-{f.removeprefix(STOP)}",)
    return ends.get(f)
