"""Choose how long to wait for the answers and the states of a target that may never come."""

from __future__ import annotations

from collections import Counter

from conformance.invariants.put_off import kind_of
from conformance.terms import TERMS

IMPATIENT_TIMEOUT_S = 5.0
HURRIED_TIMEOUT_S = 1.0
LEAST_AWAITED_S = 10.0
"""The shortest wait for a state that the target has not reached in time before. Many states come
only when a session is over (6 s at least): a shorter wait would fail every later case on a correct
target that a busy machine made late once."""
LEAST_AT_ONCE_S, AT_ONCE_FACTOR = 2.0, 5.0
"""The shortest wait for a state that follows from a change by itself, without the end of any
session: 2 s, or five times what the slowest such state has taken on this target."""
MISSED_DIVISOR = 4.0
"""The divisor of the wait for a state, each time that the state did not come."""
RETURN_S_MAX = 120.0
"""The longest wait, in seconds, that a slow restart of the target can cause."""

Memory = tuple[set[str], bool, Counter[tuple[str, str]]]


class Patience:
    """Chooses how long to wait for a response of each API: less, once the target left one request
    unanswered, and less for all APIs while it has answered nothing since.

    Without it, a target that never answers one API would cost ANSWER_TIMEOUT_S in every case, and
    one that falls silent ANSWER_TIMEOUT_S for each API of a case. A response restores the normal
    time-out of its API. In the same way, a state that the target did not reach in time is awaited
    more briefly, until the target reaches it.
    """

    def __init__(self) -> None:
        self._unanswered: set[str] = set()
        self._is_silent = False
        self.is_hurried = False
        """Whether the examination must end now."""
        self.answered: set[str] = set()
        """The APIs that were answered since this set was last emptied."""
        self._return_s = 0.0
        self._at_once_s = 0.0  # the time of the slowest state that follows from a change by itself
        self._case = ""
        self._missed: Counter[tuple[str, str]] = Counter()
        """(case, state) -> how many times in a row the target has not reached it in time in this
        case, or in any ("")."""

    def note_return(self, took_s: float) -> None:
        """Note how long the target took to answer again when the running case restarted it; no more
        than RETURN_S_MAX counts."""
        self._return_s = min(took_s, RETURN_S_MAX)

    def settling_s(self, usual_s: float) -> float:
        """Return how many seconds to wait for a state of the target: the usual ones, scaled by the
        owner's terms, or, after a restart, as long as the restart took, if that is longer: a busy
        machine is as slow at loading the target's data."""
        return max(usual_s * TERMS.timeout_scale, self._return_s)

    def begin(self, case: str) -> None:
        """Note which case runs now; it may have run already, in another version of its API."""
        self._case = case

    def awaited_s(self, state: str, usual_s: float, least_s: float | None = None) -> float:
        """Return how many seconds to wait for a state, such as "the group becomes Empty". Shorten
        usual_s for each time that the target missed the state in this case, or in a row in all
        cases, but not below least_s (LEAST_AWAITED_S by default; a usual_s that is lower stays as
        it is). Then lengthen the result as `settling_s` does."""
        least_s = LEAST_AWAITED_S if least_s is None else least_s
        missed = max(self._missed[case, kind_of(state)] for case in ("", self._case))
        shortened_s = max(usual_s / MISSED_DIVISOR**missed, min(usual_s, least_s))
        return self.settling_s(shortened_s)

    def least_at_once_s(self) -> float:
        return max(LEAST_AT_ONCE_S, AT_ONCE_FACTOR * self._at_once_s)

    def note_at_once(self, took_s: float) -> None:
        self._at_once_s = max(self._at_once_s, took_s)

    def note_missed(self, state: str) -> None:
        for case in {"", self._case}:
            self._missed[case, kind_of(state)] += 1

    def note_reached(self, state: str) -> None:
        """Note that the target reached the state, so that other cases wait for it as long as usual.
        In the running case misses still count: it may be reached at the beginning of a case, and
        missed later."""
        del self._missed["", kind_of(state)]

    def timeout_s(self, api: str, usual_s: float) -> float:
        if self.is_hurried:
            return min(usual_s, HURRIED_TIMEOUT_S)
        is_impatient = self._is_silent or api in self._unanswered
        chosen_s = min(usual_s, IMPATIENT_TIMEOUT_S) if is_impatient else usual_s
        return chosen_s * TERMS.timeout_scale

    def note_answer(self, api: str) -> None:
        self.answered.add(api)
        self._unanswered.discard(api)
        self._is_silent = False

    def note_silence(self, api: str) -> None:
        self._unanswered.add(api)
        self._is_silent = True

    def memory(self) -> Memory:
        """Return what the target has left unanswered or missed until now, for `restore`."""
        return set(self._unanswered), self._is_silent, Counter(self._missed)

    def restore(self, memory: Memory) -> None:
        """Forget what the target has left unanswered or missed since `memory` was called: others
        may have been the cause."""
        self._unanswered, self._is_silent, self._missed = memory

    def hurry(self) -> None:
        """Shorten all time-outs, since the examination must end now."""
        self.is_hurried = True

    def forget(self) -> None:
        """Restore all time-outs, for another target."""
        self.is_hurried = False
        self.note_return(0.0)
        self._at_once_s = 0.0
        self._unanswered.clear()
        self._missed.clear()
        self.begin("")
        self.answered.clear()
        self._is_silent = False


PATIENCE = Patience()
"""The time-outs of the whole examination, since a target that is silent in one case is so in
others."""
