"""Judge `unseen_writes` again, in plain loops over plain rows."""

from linearizability.twins.facts import Found, Row, is_decided, operations
from linearizability.twins.transactions import is_unseen


def unseen_writes(rows: list[Row]) -> Found:
    found: Found = set()
    for send in rows:
        acked = send["f"] == "send" and send["type"] == "ok" and send["acks"] == -1
        placed = send["offset"] is not None
        durable = send["outcome"] == "committed" or (send["outcome"] == "plain" and placed)
        if acked and durable and not is_decided(send) and is_unseen(rows, send):
            found.add(("unseen-write", operations(send), send["place"]))
    return found
