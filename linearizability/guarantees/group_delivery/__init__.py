"""A consumer group skips no visible record.

Members come and go, but the group as a whole reads the log without a gap: each visible record
between two that members received must have been delivered to some member, in a successful poll or
not. It is unknown which records an unanswered poll delivered. Such a poll may explain records that
are missing between those that the group received before it and those that it received after its
process was seen again (or a minute later, if it never was), and no others.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.DELIVERY,
    place=2,
    meaning="passed over by a consumer group",
    picture="the group skips a record that only the final read returns",
    claims=("OFF-1", "SEM-2"),
)
