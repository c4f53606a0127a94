"""The listeners of a broker: the address, security settings and advertised address of each.

Source: KIP-103 (several listeners), KIP-86 and KIP-226 (listener.name.NAME.…), KIP-85 (JAAS in a
key), KIP-651 (keys in PEM); SocketServerConfigs, SslConfigs, SaslConfigs, BrokerSecurityConfigs.

    listeners=PLAINTEXT://:9092,OUTSIDE://:9093
    listener.security.protocol.map=PLAINTEXT:PLAINTEXT,OUTSIDE:SASL_SSL
    listener.name.outside.sasl.enabled.mechanisms=PLAIN
    listener.name.outside.plain.sasl.jaas.config=…PlainLoginModule required user_ann="secret";
    listener.name.outside.ssl.keystore.type=PEM
    listener.name.outside.ssl.keystore.location=/etc/kafka/broker.pem

A listener's own key (listener.name.NAME.KEY) overrides KEY. Listeners named in
`controller.listener.names` belong to the controller and receive the requests of other nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reference_impl.core.configs.keys import BadConfig, split_list
from reference_impl.core.security.encryption import Tls, tls_of_listener
from reference_impl.core.security.listener_settings import (
    MECHANISMS,
    REAUTH,
    ListenerSettings,
    check_own_keys,
)
from reference_impl.core.security.sasl.plain import PLAIN

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


@dataclass(frozen=True)
class Endpoint:
    """The address at which a listener is bound, or that is advertised to clients."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return host:port, with IPv6 in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Sasl:
    """The authentication that a listener demands: its mechanisms, the passwords of PLAIN, and the
    limits of sessions, refusals and requests before it."""

    mechanisms: tuple[str, ...]
    passwords: Mapping[str, str] = field(repr=False)
    """User name -> password, for the mechanism PLAIN."""
    session_ms: Mapping[str, int]
    """Mechanism -> how many milliseconds a session lasts; 0 means without end (KIP-368)."""
    failure_delay_ms: int
    """The milliseconds for which a refusal is held back, to slow down the guessing of passwords
    (KIP-306)."""
    max_token_bytes: int
    """The most bytes that an unauthenticated client may send at once."""


@dataclass(frozen=True)
class Listener:
    """A socket on which a broker listens, with its security protocol."""

    name: str
    endpoint: Endpoint
    advertised: Endpoint | None = None
    """The address to give to clients; None if `advertised.listeners` does not name this
    listener."""
    sasl: Sasl | None = None
    tls: Tls | None = None
    """The key of the listener; None if its protocol is not encrypted, as `sasl` is None if its
    protocol has no authentication."""


def listeners_of(
    given: Mapping[str, str], config: Mapping[str, str]
) -> tuple[tuple[Listener, ...], tuple[Listener, ...]]:
    """Return the listeners of the broker and those of the controller, each in the order of
    `listeners`. Raise BadConfig if one is not valid. config: the broker's keys with their defaults.
    given: what was set, `listener.name.…` included."""
    controllers = split_list(config["controller.listener.names"])
    bound = names_and_endpoints("listeners", config["listeners"])
    told = names_and_endpoints("advertised.listeners", config["advertised.listeners"])
    protocols = protocols_of_listeners(given, config)
    for name in told:
        if name not in bound and name not in controllers:
            raise BadConfig(
                f"advertised.listeners: {name} is not among the listeners {', '.join(bound)}"
            )
    check_own_keys(given, [*bound, *(name for name in controllers if name not in bound)])
    found = [
        _listener(name, where, told.get(name), protocols, ListenerSettings(name, given, config))
        for name, where in bound.items()
    ]
    return (
        tuple(listener for listener in found if listener.name not in controllers),
        tuple(listener for listener in found if listener.name in controllers),
    )


def _listener(
    name: str,
    where: Endpoint,
    told: Endpoint | None,
    protocols: Mapping[str, str],
    settings: ListenerSettings,
) -> Listener:
    protocol = protocols.get(name)
    if protocol is None:
        raise BadConfig(
            f"listeners: {name} has no security protocol; add it to listener.security.protocol.map,"
            f" for example {name}:SASL_SSL"
        )
    has_sasl = protocol.startswith("SASL")
    return Listener(
        name,
        where,
        told,
        _sasl(name, settings) if has_sasl else None,
        tls_of_listener(settings, has_sasl=has_sasl) if protocol.endswith("SSL") else None,
    )


def _sasl(name: str, settings: ListenerSettings) -> Sasl:
    mechanisms = tuple(split_list(settings.text("sasl.enabled.mechanisms")))
    passwords: dict[str, str] = {}
    session_ms = {}
    for mechanism in mechanisms:
        if mechanism not in MECHANISMS:
            raise BadConfig(
                f"sasl.enabled.mechanisms of listener {name}: {mechanism} is not served; there are"
                f" {', '.join(MECHANISMS)}"
            )
        module = settings.login_module(mechanism)
        if mechanism == PLAIN:
            users = {k: v for k, v in module.options.items() if k.startswith("user_")}
            passwords = {key.removeprefix("user_"): password for key, password in users.items()}
        own = settings.own(f"{mechanism.lower()}.{REAUTH}")
        session_ms[mechanism] = int(settings.text(REAUTH) if own is None else own)
    if not mechanisms:
        raise BadConfig(
            f"listener {name} asks for SASL, and sasl.enabled.mechanisms names none; name one of"
            f" {', '.join(MECHANISMS)}"
        )
    return Sasl(
        mechanisms,
        passwords,
        session_ms,
        int(settings.text("connection.failed.authentication.delay.ms")),
        int(settings.text("sasl.server.max.receive.size")),
    )


def protocols_of_listeners(given: Mapping[str, str], config: Mapping[str, str]) -> dict[str, str]:
    """Return listener name -> security protocol. Where no map is given, listeners of controllers
    have PLAINTEXT. Raise BadConfig for a map that cannot be read. config: the broker's keys with
    their defaults. given: what was set."""
    protocols = _protocols(config["listener.security.protocol.map"])
    if "listener.security.protocol.map" not in given:
        controllers = split_list(config["controller.listener.names"])
        protocols |= {name: "PLAINTEXT" for name in controllers if name not in protocols}
    return protocols


def _protocols(text: str) -> dict[str, str]:
    found = {protocol: protocol for protocol in PROTOCOLS}
    for item in split_list(text):
        name, separator, protocol = item.partition(":")
        if not separator or protocol.upper() not in PROTOCOLS:
            raise BadConfig(
                f"listener.security.protocol.map: {item} is not one; write each as NAME:PROTOCOL,"
                f" with a protocol of {', '.join(PROTOCOLS)}"
            )
        found[name] = protocol.upper()
    return found


def names_and_endpoints(key: str, text: str) -> dict[str, Endpoint]:
    """Parse NAME://host:port,… into name -> endpoint; an empty host means all interfaces. Raise
    BadConfig if an item is not of this form, or a name occurs twice. key: the setting, for the
    message."""
    found: dict[str, Endpoint] = {}
    for name, endpoint in _parsed(key, text):
        if name in found:
            raise BadConfig(f"{key}={text}: {name} is named twice; give each listener its own name")
        found[name] = endpoint
    return found


def _parsed(key: str, text: str) -> Iterator[tuple[str, Endpoint]]:
    for url in split_list(text):
        name, separator, rest = url.partition("://")
        host, _, port = rest.rpartition(":")
        if not separator or not name or not port.isdigit() or int(port) > 65535:
            raise BadConfig(f"{key}={text}: write a listener as PLAINTEXT://host:port")
        yield name, Endpoint(host.strip("[]"), int(port))
