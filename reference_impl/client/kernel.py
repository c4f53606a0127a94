"""The common base of all parts of one client: the time of the event, randomness, timers, and the
effects.

A part never calls its host: it emits effects, and sets timers whose actions `run_due` runs when a
Woken comes. The host needs one timer only, for the earliest of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from reference_impl.client.effects import Complete, Fail, WakeAt
from reference_impl.client.errors import ClientError
from reference_impl.client.events import Event
from reference_impl.client.rules import CORRECT, ClientRules
from reference_impl.links.effects import Effect
from reference_impl.links.kernel import TimerKey


class Chance(Protocol):
    """The part of random.Random that a client uses. The host seeds it."""

    def random(self) -> float:
        """Return a number from 0 up to, but not including, 1."""

    def randrange(self, stop: int, /) -> int:
        """Return an integer from 0 up to, but not including, stop."""


class Kernel:
    """The time, the timers and the effects of one step, and the rules."""

    def __init__(self, chance: Chance, rules: ClientRules = CORRECT) -> None:
        self.chance = chance
        self.rules = rules
        self.now_ms = 0
        self.monotonic_ms = 0
        self._effects: list[Effect] = []
        self._timers: dict[TimerKey, tuple[int, Callable[[], None]]] = {}
        self._wake_at_ms: int | None = None
        self._open_calls: set[int] = set()

    def enter(self, event: Event) -> None:
        """Begin a step: set the clocks to the times of its event."""
        self.now_ms, self.monotonic_ms = event.now_ms, event.monotonic_ms

    def leave(self) -> tuple[Effect, ...]:
        """End a step and return its effects in order, the last of them a WakeAt if the earliest
        timer has changed."""
        earliest = min((due for due, _ in self._timers.values()), default=None)
        if earliest is not None and earliest != self._wake_at_ms:
            self.emit(WakeAt(earliest))
        self._wake_at_ms = earliest
        effects, self._effects = tuple(self._effects), []
        return effects

    def emit(self, effect: Effect) -> None:
        """Add an effect, which the host performs after the step."""
        self._effects.append(effect)

    # --- calls --------------------------------------------------------------------------------

    def open(self, call_id: int) -> None:
        """Note that a call was made."""
        self._open_calls.add(call_id)

    def is_open(self, call_id: int) -> bool:
        """Return whether a caller waits for this call."""
        return call_id in self._open_calls

    def abandon(self, call_id: int) -> None:
        """Forget a call whose caller no longer waits; completing or failing it then has no
        effect."""
        self._shut(call_id)

    def fail_after(self, delay_ms: int, call_id: int, error: ClientError) -> None:
        """Fail a call unless it is answered in time."""
        if self.is_open(call_id):
            self.after(delay_ms, ("call", call_id), lambda: self.fail(call_id, error))

    def _shut(self, call_id: int) -> bool:
        if call_id not in self._open_calls:
            return False
        self._open_calls.remove(call_id)
        self.cancel(("call", call_id))
        return True

    def complete(self, call_id: int, value: Any = None) -> None:
        """Answer a call, unless it has been answered already."""
        if self._shut(call_id):
            self.emit(Complete(call_id, value))

    def fail(self, call_id: int, error: ClientError) -> None:
        """Fail a call, unless it has been answered already."""
        if self._shut(call_id):
            self.emit(Fail(call_id, error))

    def fail_all(self, error: ClientError) -> None:
        """Fail every call that is still open, because the client is closed."""
        for call_id in sorted(self._open_calls):
            self.fail(call_id, error)

    # --- timers -------------------------------------------------------------------------------

    def after(self, delay_ms: int, key: TimerKey, action: Callable[[], None]) -> None:
        """Run the action after a delay, replacing a timer with the same key."""
        self._timers[key] = (self.monotonic_ms + delay_ms, action)

    def cancel(self, key: TimerKey) -> None:
        """Forget a timer, if there is one."""
        self._timers.pop(key, None)

    def has_timer_before(self, key: TimerKey, delay_ms: int) -> bool:
        """Return whether such a timer fires at least as early as after this delay."""
        found = self._timers.get(key)
        return found is not None and found[0] <= self.monotonic_ms + delay_ms

    def cancel_all(self) -> None:
        """Forget every timer: the client is closed."""
        self._timers.clear()

    def run_due(self) -> None:
        """Run the actions whose time has come, the earliest first."""
        self._wake_at_ms = None
        due = sorted(
            (due, order, key)
            for order, (key, (due, _)) in enumerate(self._timers.items())
            if due <= self.monotonic_ms
        )
        for when, _, key in due:
            found = self._timers.get(key)
            if found is not None and found[0] == when:  # an earlier action may have moved it
                del self._timers[key]
                found[1]()

    def jittered(self, delay_ms: int) -> int:
        """Return the delay with up to a fifth more or less, so that clients do not come back all at
        once (KIP-580)."""
        return int(delay_ms * (0.8 + 0.4 * self.chance.random()))
