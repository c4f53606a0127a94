"""Histories written by hand for `high_watermark`."""

from linearizability.hand_written.rows import RAW, SAYS, WHOLE, Invalid, Valid

VALID: Valid = {
    "the high watermark and the last stable offset grow": (
        [SAYS(1, last_stable_offset=0, log_start=0), SAYS(2, last_stable_offset=1)]
    ),
    "a new leader has a lower high watermark": [SAYS(2), SAYS(1, leader_epoch=1)],
    "two answers overlap in time": [SAYS(2, t_complete_ns=20), SAYS(1)],
    "the lower high watermark is another partition's": [SAYS(2), SAYS(1, partition=1)],
    "the last stable offset is above the high watermark in one answer": (
        [SAYS(1, last_stable_offset=2), SAYS(2)]
    ),
    "a follower has a lower high watermark": [SAYS(2), SAYS(1, replica=2)],
}

INVALID: Invalid = {
    "the high watermark goes back": ([SAYS(2), SAYS(1)], [("high-watermark-goes-back", (0, 1))]),
    "the last stable offset goes back": (
        [SAYS(2, last_stable_offset=2), SAYS(3, last_stable_offset=1)],
        [("last-stable-offset-goes-back", (0, 1))],
    ),
    "the log start goes back": (
        [SAYS(2, log_start=2), SAYS(2, log_start=1)],
        [("log-start-goes-back", (0, 1))],
    ),
    "a read returns a record above the high watermark": (
        [RAW(1, 3, op_id=0), WHOLE(3, op_id=0, leader_epoch=0, record_index=4), SAYS(3, op_id=1)],
        [("beyond-the-high-watermark", (0, 1))],
    ),
}
