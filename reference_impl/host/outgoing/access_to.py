"""The security settings for each destination of a client or a node."""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.access import PLAINTEXT, Access
from reference_impl.links.effects import Destination

AccessTo = Callable[[Destination], Access]


def always(access: Access) -> AccessTo:
    """Return a function that gives the same access to every destination."""
    return lambda _: access


IN_PLAINTEXT = always(PLAINTEXT)
