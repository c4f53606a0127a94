"""A record's timestamp has the type that message.timestamp.type names.

With `message.timestamp.type=LogAppendTime` the broker sets the time when it appends, and says so;
with `CreateTime` it keeps the sender's. Retention, look-ups by time and stream processors rely on
it. Records that were appended before a change of the setting keep their timestamps.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.ALTERED,
    place=2,
    meaning="the timestamp is not of the type that the topic asks for",
    picture="LogAppendTime: two records keep the sender's timestamp",
    claims=("REC-3",),
)
