"""A group assigns each partition to one live member within a bounded time.

Whoever joins, leaves or crashes: a rebalance ends when all others have joined again, or with the
rebalance time-out (`max.poll.interval.ms`), and a member that is gone is so after its session
(`session.timeout.ms`). Members join again as they poll, so the limit is the session, the longest
time that a member spent between two polls (5 s at least, the rebalance time-out at most), and 15
s. After a time so long, in which members polled and no fault was under way, each partition has a
live owner, each member a part (if there are more partitions than processes), and what is there is
given. In one generation a partition has one owner.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.WAITING,
    place=2,
    meaning="a group did not serve a partition in time",
    picture="no member takes over from one that crashed",
    claims=("GRP-2",),
    kinds={"assigned-twice": (Family.DELIVERY, "two members owned a partition in one generation")},
)
