"""What Jepsen's nemesis did, as faults and heals: readers are not held to time while one lasts.

An action is two events of one `f`: asked for, and done; one after the other, for the nemesis is one
process. Names are those of jepsen.nemesis.combined and of the older nemeses (start, stop); what is
not known to end anything is a fault for ever, and so is what an action failed to end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from linearizability.importers.events import Event

HEAL = "Heal"
"""As our own histories call it (`waiting.is_heal`)."""
ENDS = {
    "resume": ("pause",), "reset-clock": ("bump-clock", "strobe-clock"),
    "reset": ("bump", "strobe"), "stop": ("start",),
}  # fmt: skip
STOP, START, KILL = "stop-", "start", "kill"
FAILED = ("exception", "error")
HARMLESS = ("check-clock-offsets", "check-offsets")


def faults(events: Iterable[Event]) -> Iterator[tuple[Event, str]]:
    """The events that were faults, and those by which the last one of them had ended, each with its
    JSON (`history.COLUMNS`, `detail`)."""
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
                yield event, json.dumps({"fault": event.f})
        elif is_done and active and not has_failed(event):
            active -= set(ended)
            if not active:
                yield event, json.dumps({"fault": HEAL})


def has_failed(event: Event) -> bool:
    """Whether an action ended by an exception, or says that it could not be done."""
    return any(event.raw.get(key) for key in FAILED)


def ended_by(f: str, ends: dict[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """The faults which this action ends; None: it is none that ends any."""
    if f.startswith(STOP):
        return (f"{START}-{f.removeprefix(STOP)}",)
    return ends.get(f)
