"""A consumer group skips no visible record.

Members come and go, but the group as a whole goes through the log without a gap: between two
records that members were given, each visible one was given to some member, in a successful poll or
not. What a member was given by a poll that was never answered, nobody knows: that may explain what
is missing between what the group was given before it and after its process was seen again (or a
minute later, if it never was), and nothing else.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.DELIVERY,
    place=2,
    meaning="passed over by a consumer group",
    picture="hidden by a final read",
    claims=("OFF-1", "SEM-2"),
)
