"""Give clients access to a cluster: TLS and SASL, as the cluster's owner configures them.

`Access` holds the settings; `login` speaks SASL; `connect` opens a connection that is ready for
requests. A `Bootstrap` is a str of addresses, and an `Endpoint` one address, that carry their
Access with them, so that any function that gets one can connect. A plain str or tuple means
PLAINTEXT.
"""

from reference_impl.access.connecting import AccessError, connect, enter
from reference_impl.access.login import LoginRefused, login
from reference_impl.access.places import Bootstrap, Endpoint, access_of
from reference_impl.access.settings import MECHANISMS, PLAINTEXT, PROTOCOLS, Access, Token

__all__ = [
    "MECHANISMS",
    "PLAINTEXT",
    "PROTOCOLS",
    "Access",
    "AccessError",
    "Bootstrap",
    "Endpoint",
    "LoginRefused",
    "Token",
    "access_of",
    "connect",
    "enter",
    "login",
]
