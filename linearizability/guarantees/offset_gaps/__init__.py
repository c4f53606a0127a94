"""A log has no holes.

Each record gets the next offset. So a raw read of a log without compaction shows no hole. An
ordinary reader may see holes only in a partition with transactions, whose markers are not
delivered. A complete raw read must reach the high watermark that it names.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.ORDER,
    place=4,
    meaning="the log has holes",
    picture="an offset is missing from a raw read",
    claims=("LOG-1",),
)
