"""A group assigns each partition to one live member within a bounded time.

Whichever members join, leave or crash, a rebalance ends when all others have joined again, or with
the rebalance time-out (`max.poll.interval.ms`), and a crashed member is removed after its session
time-out (`session.timeout.ms`). Members join again when they poll. So the limit is the sum of the
session time-out, the longest time that a member spent between two polls (5 s at least, the
rebalance time-out at most), and 15 s. After so much time, in which members polled and there was no
fault, each partition must have a live owner, each member a partition (if there are more partitions
than processes), and waiting records must be delivered. In one generation a partition has only one
owner. A member that sends a heartbeat within its session time-out stays a member; one that is
silent for ten seconds longer, or has left, is none any more. A member of a classic group is told to
join again while another waits to join.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.WAITING,
    place=2,
    meaning="a group did not serve a partition in time",
    picture="no member takes over a crashed member's partition",
    claims=("GRP-2",),
    kinds={"assigned-twice": (Family.DELIVERY, "two members owned a partition in one generation")},
    clocks_ms={"session-cut-short": 1, "session-outlived": 1},
)
