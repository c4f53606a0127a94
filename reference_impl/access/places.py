"""Addresses that carry the Access for connecting to them."""

from __future__ import annotations

from reference_impl.access.settings import PLAINTEXT, Access


class Bootstrap(str):
    """Addresses of brokers, host:port[,host:port…], with the Access for them.

    Text derived from it is an ordinary str without the Access. Connecting with that fails at once,
    since such a listener does not accept PLAINTEXT.
    """

    access: Access

    def __new__(cls, addresses: str, access: Access) -> Bootstrap:
        made = super().__new__(cls, addresses)
        made.access = access
        return made


class Endpoint(tuple[str, int]):
    """The address of one broker with the Access for it. It equals the plain (host, port)."""

    access: Access

    def __new__(cls, host: str, port: int, access: Access) -> Endpoint:
        made = super().__new__(cls, (host, port))
        made.access = access
        return made


def access_of(place: str | tuple[str, int]) -> Access:
    """Return the Access that an address carries, or PLAINTEXT for an ordinary str or tuple."""
    return place.access if isinstance(place, Bootstrap | Endpoint) else PLAINTEXT
