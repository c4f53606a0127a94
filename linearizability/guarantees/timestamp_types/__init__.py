"""A record's timestamp has the configured type, and append times do not go back.

With `message.timestamp.type=LogAppendTime` the broker sets the time when it appends, and says so;
with `CreateTime` it keeps the sender's. Retention, look-ups by time and stream processors rely on
it. Records that were appended before a change of the setting keep their timestamps.

Within a leader epoch, a record that is appended later must not have a lower append time. A tenth of
a second is allowed, because the clocks of machines are corrected. Another leader's clock may be
behind. If a fault had set clocks back by as much, the verdict is unknown.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.ALTERED,
    place=2,
    meaning="the timestamp is not of the type that the topic asks for",
    picture="LogAppendTime: two records keep the sender's timestamp",
    claims=("REC-3",),
    kinds={
        "append-time-goes-back": (
            Family.ALTERED,
            "an append time is lower than that of an earlier record of the same leader",
        )
    },
    clocks_ms={"append-time-goes-back": 1},
)
