"""A log has no holes.

Each record is given the next offset. A raw read without compaction shows no hole; an ordinary
reader may see one only in a partition with transactions, whose markers it is not given. A complete
raw read goes up to the high watermark that it names.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.ORDER,
    place=4,
    meaning="the log has holes",
    picture="in a raw read",
    claims=("LOG-1",),
)
