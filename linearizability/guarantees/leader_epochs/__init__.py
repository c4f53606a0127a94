"""Leader epochs do not decrease along a log.

Each leader stamps what it appends with its epoch, and later leaders have higher ones. An epoch that
goes down along a log means that two leaders wrote, or that a follower did not truncate records that
it had to. A record that was sent and acknowledged while a leader led has the epoch of that leader:
by it readers and followers learn what was truncated. In one epoch only one node leads,
and a node that has led in a newer epoch never answers as the leader of an older one.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.ORDER,
    place=3,
    meaning="leader epochs go back along the log",
    picture="a lower epoch follows a higher one within one read",
    claims=("EPO-1",),
    kinds={
        "two-leaders": (Family.ORDER, "two nodes led in one epoch"),
        "node-in-older-epoch": (Family.ORDER, "a node led in an older epoch than before"),
    },
    columns=("leader_epoch",),
)
