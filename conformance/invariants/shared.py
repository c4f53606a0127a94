"""Helpers that the invariants of several areas share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.case import expect_that
from reference_impl.wire import Struct

NONE = 0
NOT_ASKED = -(2**31)
"""The value of authorized operations if they were not requested (KIP-430)."""
READ, DESCRIBE, OPERATIONS_LAST = 3, 8, 15
"""The bits of two AclOperations, and the highest defined bit."""


def rows(above: Struct, path: str) -> Iterator[Struct]:
    """Yield every struct at the end of a path of lists, such as "topics partitions". Yield none
    from a list that is null."""
    name, _, deeper = path.partition(" ")
    for row in getattr(above, name) or ():
        if deeper:
            yield from rows(row, deeper)
        else:
            yield row


def once_each(values: Iterable[object], what: str) -> None:
    """Require that each value occurs once."""
    found = list(values)
    expect_that(len(set(found)) == len(found), what, "each once", found)


def endpoint(node_id: int, host: str | None, port: int) -> None:
    """Require a node id, and an address to which a client can connect."""
    valid = node_id >= 0 and bool(host) and 0 < port < 1 << 16
    expect_that(valid, "node", "an id, a host and a port", (node_id, host, port))


def permissions(bits: int, what: str, *, asked: bool, seen: bool = True) -> None:
    """Require authorized operations if, and only if, they were asked for, and then only known ones,
    DESCRIBE among them. seen: whether the response shows the resource itself; if not, the bits may
    also be 0. what: the name of the field."""
    if not asked:
        expect_that(bits == NOT_ASKED, what, f"{NOT_ASKED}, since not asked for", bits)
        return
    known = 0 <= bits < 1 << (OPERATIONS_LAST + 1) and bits % (1 << READ) == 0
    expect_that(known, what, "bits of operations that exist", bits)
    describes = bool(bits >> DESCRIBE & 1)
    expect_that(describes or (not seen and bits == 0), what, "DESCRIBE among them", bits)
