"""Divide the reads of each process into sessions, in which records follow each other without a
gap."""

from __future__ import annotations

from collections import defaultdict


class Sessions:
    """The number of the session that each process is in, for each key of the Jepsen history (a
    "place"). No number is used twice."""

    def __init__(self) -> None:
        self._numbers = 0
        self._current: dict[int, dict[int, int]] = defaultdict(dict)
        self._subscribed: dict[int, list[int]] = {}

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def next_numbers(self, count: int) -> int:
        """Take this many numbers, and return the first of them."""
        self._numbers += count
        return self._numbers - count + 1

    def held(self, process: int) -> dict[int, int]:
        """Return place -> session for the places in which the process keeps its position. The dict
        is the process's own: changes to it count."""
        return self._current[process]

    def reset(self, process: int) -> None:
        self._current.pop(process, None)

    def begin(self, process: int, place: int) -> int:
        """Begin a new session of a process that sets its position in this place. Return the
        session's number."""
        number = self._current[process][place] = self.next_number()
        return number

    def is_subscribed(self, process: int) -> bool:
        return process in self._subscribed

    def subscribed(self, process: int) -> list[int]:
        """Return the places that the process has subscribed to. Return none unless subscribing was
        its last assignment."""
        return self._subscribed.get(process, [])

    def assign(self, process: int, places: list[int], *, subscribed: bool) -> None:
        """Note that the process was assigned these places. Keep its positions in places that stay
        assigned, and forget the others; a subscription forgets all."""
        held = self._current[process]
        self._current[process] = {p: held[p] for p in places if p in held}
        if subscribed:
            self._subscribed[process] = places
            self.reset(process)
        else:
            self._subscribed.pop(process, None)

    def of_operation(self, process: int, *, kept: bool) -> Positions:
        """Return the positions for the records of one operation: those of the process, or new ones
        if it is subscribed, since its group may have rebalanced. kept: the next operation continues
        from where this one ends."""
        if process in self._subscribed:
            return Positions(self, {})
        current = self._current[process]
        return Positions(self, current if kept else dict(current))


class Positions:
    """The session of each partition in which one operation reads."""

    def __init__(self, sessions: Sessions, current: dict[int, int]) -> None:
        self._sessions, self._current = sessions, current

    def session(self, place: int, is_anew: bool) -> int:
        """Return the session of a read in this partition. is_anew: whether to start a new one
        first."""
        if is_anew or place not in self._current:
            self._current[place] = self._sessions.next_number()
        return self._current[place]
