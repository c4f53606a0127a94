"""Record a member's partitions and starting offsets in the history, besides its operations.

Each client's member reports the changes of its assignment here as they happen, and takes the rows
into the next completion. A member that receives a partition fetches the group's committed offset
and seeks to it explicitly, so that the history has both. If the fetch is not answered, the client
library chooses the position itself, and the row's outcome is info.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from chaos.values.protocols import GroupProtocol, GroupSettings
from chaos.world import World
from linearizability.history import F

Row = Mapping[str, Any]
Place = tuple[str, int]
COMMITTED = "committed"


def group_settings(group: GroupSettings) -> dict[str, Any]:
    """Return the column `settings` with its value (JSON: protocol, session timeout, maximum poll
    interval) for rows about a subscription or about owned partitions."""
    own = {
        "group.protocol": group.protocol.value,
        "session.timeout.ms": str(group.session_timeout_ms),
        "max.poll.interval.ms": str(group.max_poll_interval_ms),
    }
    return {"settings": json.dumps(own)}


def member_times(group: GroupSettings) -> dict[str, Any]:
    """Return the timeouts for a member's client in milliseconds, under Kafka's names. Under KIP-848
    they are without session timeout and heartbeat interval, which the broker sets."""
    times = {"max.poll.interval.ms": group.max_poll_interval_ms}
    if group.protocol is GroupProtocol.CONSUMER:
        return times
    heartbeat_ms = min(1_000, group.session_timeout_ms // 3)
    return times | {
        "session.timeout.ms": group.session_timeout_ms,
        "heartbeat.interval.ms": heartbeat_ms,
    }


class MembershipRows:
    """Collects the history rows about one member's partitions and positions until a completion
    takes them. The parameter `identity` of its methods has the columns member_id and generation."""

    def __init__(self, world: World, settings: Row) -> None:
        """Begin without rows. settings: the columns about the group's settings, as `group_settings`
        returns them, for each row."""
        self._world = world
        self._settings = settings
        self._rows: list[Row] = []
        self._owned: set[Place] = set()

    def assigned(
        self, starts: Mapping[Place, int | None] | None, places: Iterable[Place], identity: Row
    ) -> None:
        """Add a POSITION row for each partition that the member received, after an OWNED row for
        each partition that it owns now. starts: for each, the committed offset at which it begins
        (None: there is none), or None as a whole if the coordinator did not answer."""
        places = list(places)
        self._owned.update(places)
        self._note_owned(identity)
        for place in places:
            told: Row = {"type": "info"}
            if starts is not None and place in starts:
                told = {"asked_offset": starts[place], "offset": starts[place]}
            self._note(F.POSITION, place, {**identity, "asked": COMMITTED, **told})

    def revoked(self, places: Iterable[Place], identity: Row) -> None:
        """Note that these partitions no longer belong to the member: add an OWNED row for each
        partition that it still owns, or one without a partition if it owns none."""
        self._owned.difference_update(places)
        self._note_owned(identity)

    def sought(self, place: Place, offset: int) -> None:
        """Note that the member itself has moved its position in a partition to this offset."""
        asked = {"asked": "offset", "asked_offset": offset, "offset": offset}
        self._note(F.POSITION, place, asked)

    def take(self) -> tuple[Row, ...]:
        """Return the rows noted so far, and clear the list."""
        rows, self._rows = tuple(self._rows), []
        return rows

    def clear(self) -> None:
        """Drop all rows and forget the owned partitions, because another membership begins."""
        self._rows, self._owned = [], set()

    def _note_owned(self, identity: Row) -> None:
        """Add an OWNED row for every partition that the member owns now, or one without a partition
        if it owns none. Under KIP-848 the rows have no generation: the member's epoch may have
        risen before its listener is called with an older assignment."""
        settings = json.loads(self._settings.get("settings", "{}"))
        if settings.get("group.protocol") == GroupProtocol.CONSUMER:
            identity = {**identity, "generation": None}
        for place in sorted(self._owned):
            self._note(F.OWNED, place, {**identity, **self._settings})
        if not self._owned:
            self._note(F.OWNED, None, {**identity, **self._settings})

    def _note(self, f: F, place: Place | None, columns: Row) -> None:
        topic, partition = place or (None, None)
        row = {"f": f.value, "topic": topic, "partition": partition, **columns}
        now_ns = (
            self._world.monotonic_ns()
        )  # often during an earlier operation than the one that returns the row
        self._rows.append(row | {"t_invoke_ns": now_ns, "t_complete_ns": now_ns})
