"""Judge `poll_order` again, in plain loops over plain rows."""

from linearizability.twins.facts import Found, Row, operations
from linearizability.twins.readings import steps


def poll_order(rows: list[Row]) -> Found:
    return {
        (
            "poll-repeats" if row["offset"] == before["offset"] else "poll-goes-back",
            operations(before, row),
            row["place"],
        )
        for before, row in steps(rows)
        if row["offset"] <= before["offset"]
    }
