"""Histories written by hand for `hanging_transactions`."""

from linearizability.hand_written.rows import COMMIT, MARKER, RAW, SAYS, TXN, Invalid, Row, S, Valid

QUARTER = 15 * 60 * 1_000_000_000


ENDED = [S(1, 0, **TXN), RAW(1, 0), RAW(None, 1, **MARKER)]
"""A transaction with one record, and its marker."""


SECOND = 1_000_000_000


INIT: Row = {"f": "init_producer", "settings": '{"transaction.timeout.ms": "2000"}'}


BEGIN: Row = {"f": "begin", "txn": 1}


def STUCK(seconds: int) -> Row:
    """Return a leader's answer in the final phase, at this second, with the last stable offset
    0."""
    now = seconds * SECOND + 1_000
    return SAYS(1, last_stable_offset=0, final=True, t_invoke_ns=now, t_complete_ns=now)


def AT(second: int) -> Row:
    """Return the time columns of an operation that begins and ends at this second."""
    return {"t_invoke_ns": second * 10**9, "t_complete_ns": second * 10**9}


VALID: Valid = {
    "it went on": [*ENDED, SAYS(2, last_stable_offset=2)],
    "open": [S(1, 0, **TXN), RAW(1, 0), SAYS(1, last_stable_offset=0)],
    "asked before the read": [SAYS(2, last_stable_offset=0, t_invoke_ns=0), *ENDED],
    "a new leader knows nothing of the marker": [*ENDED, SAYS(1, last_stable_offset=0)],
    "the next of the same producer": [*ENDED, RAW(3, 2), SAYS(3, last_stable_offset=2)],
    "for a quarter of an hour": [
        S(1, 0, **TXN),
        SAYS(1, last_stable_offset=0, final=True, t_invoke_ns=QUARTER, t_complete_ns=QUARTER),
    ],
    "its markers may be on their way": [S(1, 0, **TXN), COMMIT, STUCK(0), STUCK(59)],
    "its end is not known": [S(1, 0, **TXN), COMMIT | {"type": "info"}, STUCK(0), STUCK(80)],
    "its producer may leave it open": [INIT, BEGIN, S(1, 0, **TXN), STUCK(0), STUCK(65)],
    "another producer's time-out is not known": [
        INIT,
        BEGIN,
        BEGIN | {"process": 5},
        S(1, 0, **TXN),
        STUCK(0),
        STUCK(200),
    ],
    "committed as late as it may be": [
        INIT,
        BEGIN,
        S(1, 0, **TXN, **AT(1)),
        COMMIT | AT(18),
        SAYS(1, last_stable_offset=1),
    ],
    "refused when it was too late": [
        INIT,
        BEGIN,
        S(1, 0, **TXN, **AT(1)),
        COMMIT | AT(60) | {"type": "fail"},
        SAYS(1, last_stable_offset=1),
    ],
    "its coordinator may be away": [
        S(1, 0, **TXN),
        SAYS(1, last_stable_offset=0, t_invoke_ns=2 * QUARTER, t_complete_ns=2 * QUARTER),
    ],
}

INVALID: Invalid = {
    "ended": (
        [*ENDED, SAYS(2, last_stable_offset=0, op_id=1001)],
        [("ended-but-open", (1000, 1001))],
    ),
    "its end was acknowledged": (
        [S(1, 0, **TXN), COMMIT, STUCK(0), STUCK(61)],
        [("open-for-too-long", (0, 3))],
    ),
    "for longer than its producer allows": (
        [INIT, BEGIN, S(1, 0, **TXN), STUCK(0), STUCK(80)],
        [("open-for-too-long", (2, 4))],
    ),
    "committed though it had timed out": (
        [INIT, BEGIN, S(1, 0, **TXN, **AT(1)), COMMIT | AT(60), SAYS(1, last_stable_offset=1)],
        [("committed-too-late", (2, 3))],
    ),
    "for longer than any": (
        [
            S(1, 0, **TXN),
            SAYS(
                1,
                last_stable_offset=0,
                final=True,
                t_invoke_ns=2 * QUARTER,
                t_complete_ns=2 * QUARTER,
            ),
        ],
        [("open-for-too-long", (0, 1))],
    ),
}
