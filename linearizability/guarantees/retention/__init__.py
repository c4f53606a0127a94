"""Only records that retention or DeleteRecords may remove are removed.

The log start moves only over what may go: what a DeleteRecords named that was asked for before, or
what is older than retention.ms by its own time, or whatever retention.bytes allows, of which so
much stays at least. Where the settings tell when segments close and when brokers look, nothing
stays longer than these allow and five seconds. A fault meanwhile excuses that until a minute
longer than a broker needs after the heal. Where a fault had moved the brokers' clocks so far, a
deletion that is too early by ours is no proof: the rule is unknown.
"""

from linearizability.guarantees.about import HOUR_MS, About, Family

ABOUT = About(
    family=Family.LOSS,
    place=2,
    meaning="deleted before the topic's settings allow it",
    picture="too early",
    claims=("RET-1", "RET-2"),
    kinds={"kept-too-long": (Family.WAITING, "kept longer than the topic's settings allow")},
    clocks_ms={"deleted-hours-too-early": HOUR_MS, "deleted-too-early": 1},
)
