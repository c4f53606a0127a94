"""A group that asks for its position gets the offset that it committed last.

A group is told the position that it committed last: not an older one, not one nobody committed,
not none. And a member of an older generation commits nothing after a newer one has; nor does,
within a generation, a member whose place another one took (a process that was replaced under its
`group.instance.id`). While a transaction that has sent offsets is open, nobody is told any
(`require_stable`).
"""

from linearizability.guarantees.about import DAY_MS, About, Family

ABOUT = About(
    family=Family.DELIVERY,
    place=3,
    meaning="a group did not find the offset that it committed",
    picture="replaced",
    claims=("OFF-1", "GRP-2"),
    kinds={
        "old-generation-commits": (Family.DELIVERY, "a member of an older generation committed"),
        "two-owners": (Family.DELIVERY, "two members of one generation committed in turn"),
        "undecided-for-ever": (Family.WAITING, "an offset stays undecided, though nothing is open"),
    },
    clocks_ms={"forgotten-offset": 7 * DAY_MS},
)
