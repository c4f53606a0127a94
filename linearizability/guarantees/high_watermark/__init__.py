"""A leader's high watermark does not go back.

Within one leader epoch the high watermark, the last stable offset and the log start only grow, and
no record is delivered beyond the high watermark that a later answer names.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.ORDER,
    place=5,
    meaning="an offset that a leader reported went back",
    picture="the high watermark goes back",
    claims=("REP-1",),
    kinds={"beyond-the-high-watermark": (Family.ORDER, "a leader went beyond its high watermark")},
)
