"""Leader epochs do not decrease along a log.

Each leader stamps what it appends with its epoch, and later leaders have higher ones. An epoch that
goes down along a log means that two leaders wrote, or that a follower did not truncate records that
it had to. A record that was sent and acknowledged while a leader led has the epoch of that leader:
by it readers and followers learn what was truncated. In one epoch only one node leads.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.ORDER,
    place=3,
    meaning="leader epochs go back along the log",
    picture="a lower epoch follows a higher one within one read",
    claims=("EPO-1",),
    kinds={"two-leaders": (Family.ORDER, "two nodes led in one epoch")},
    columns=("leader_epoch",),
)
