"""Addresses that carry their access along."""

from __future__ import annotations

from reference_impl.access.settings import PLAINTEXT, Access


class Bootstrap(str):
    """Addresses of brokers, host:port[,host:port…], and how to get in there.

    A text made from this one is an ordinary str again, without the access: what connects by it
    then fails at once, since such a listener takes no plain text.
    """

    access: Access

    def __new__(cls, addresses: str, access: Access) -> Bootstrap:
        made = super().__new__(cls, addresses)
        made.access = access
        return made


class Endpoint(tuple[str, int]):
    """The address of one broker, and how to get in there. It equals the plain (host, port)."""

    access: Access

    def __new__(cls, host: str, port: int, access: Access) -> Endpoint:
        made = super().__new__(cls, (host, port))
        made.access = access
        return made


def access_of(place: str | tuple[str, int]) -> Access:
    """Return the access that an address carries; PLAINTEXT for an ordinary str or tuple."""
    return place.access if isinstance(place, Bootstrap | Endpoint) else PLAINTEXT
