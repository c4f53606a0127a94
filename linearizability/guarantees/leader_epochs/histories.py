"""Histories written by hand for `leader_epochs`."""

from linearizability.hand_written.rows import RAW, Invalid, P, Valid

VALID: Valid = {
    "growing": [RAW(n, n, leader_epoch=epoch) for n, epoch in enumerate((0, 0, 4))],
    "unknown": [RAW(1, 0, leader_epoch=3), RAW(2, 1, leader_epoch=-1)],
    "other partitions": [RAW(1, 0, leader_epoch=3), RAW(2, 1, leader_epoch=1, partition=1)],
    "the leader that answered": [P(1, 0, leader_epoch=3), P(2, 1, leader_epoch=2)],
    "above a replica's high watermark": [
        RAW(1, 0, leader_epoch=3, replica=1, high_watermark=0),
        RAW(2, 1, leader_epoch=2),
    ],
}

INVALID: Invalid = {
    "within a read": (
        [RAW(1, 0, leader_epoch=2), RAW(2, 3, leader_epoch=1)],
        [("epoch-goes-back", (1000,))],
    ),
    "between reads": (
        [RAW(1, 0, leader_epoch=2), RAW(None, 1, leader_epoch=1, op_id=7, control="abort")],
        [("epoch-goes-back", (7, 1000))],
    ),
}
