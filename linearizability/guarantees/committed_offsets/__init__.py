"""A group that fetches its position gets the offset that it committed last.

OffsetFetch must return the position that the group committed last: not an older one, not one that
was never committed, and not none. After a commit of a newer generation, a member of an older
generation must not commit; nor must, within a generation, a member that was replaced under its
`group.instance.id`, or, while a group has members, a client that names none of them. While a
transaction that has sent offsets is open, OffsetFetch with `require_stable` must return none for
them.
"""

from linearizability.guarantees.about import DAY_MS, About, Family

ABOUT = About(
    family=Family.DELIVERY,
    place=3,
    meaning="a group did not find the offset that it committed",
    picture="OffsetFetch returns a commit that a later one had replaced",
    claims=("OFF-1", "GRP-2"),
    kinds={
        "old-generation-commits": (Family.DELIVERY, "a member of an older generation committed"),
        "commit-without-member": (Family.DELIVERY, "a commit without a member joined a live group"),
        "two-owners": (Family.DELIVERY, "two members of one generation committed in turn"),
        "undecided-for-ever": (Family.WAITING, "an offset stays undecided, though nothing is open"),
    },
    clocks_ms={"forgotten-offset": 7 * DAY_MS},
)
