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

from reference_impl.core.configs.keys import BadConfig, ConfigKey, ConfigType, split_list, table
from reference_impl.core.security.sasl import jaas
from reference_impl.core.security.sasl.plain import PLAIN
from reference_impl.core.security.sasl.scram import SCRAM_MECHANISMS

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = (PLAIN, *SCRAM_MECHANISMS)
PREFIX = "listener.name."
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"

_I, _L, _S = ConfigType.INT, ConfigType.LONG, ConfigType.STRING
_LIST, _PASSWORD = ConfigType.LIST, ConfigType.PASSWORD
OF_LISTENERS = table(
    ConfigKey("connection.failed.authentication.delay.ms", _I, "100", 0),
    ConfigKey("connections.max.reauth.ms", _L, "0"),
    ConfigKey("sasl.enabled.mechanisms", _LIST, "GSSAPI"),
    ConfigKey("sasl.server.max.receive.size", _I, "524288", 1),
    ConfigKey("ssl.client.auth", _S, "none", one_of=("none",)),
    ConfigKey("ssl.key.password", _PASSWORD, None),
    ConfigKey("ssl.keystore.certificate.chain", _PASSWORD, None),
    ConfigKey("ssl.keystore.key", _PASSWORD, None),
    ConfigKey("ssl.keystore.location", _S, None),
    ConfigKey("ssl.keystore.type", _S, "JKS"),
)
"""The keys that can be set for a single listener (with its prefix) or for all listeners
(without)."""
_JAAS, _REAUTH = "sasl.jaas.config", "connections.max.reauth.ms"
_OF_MECHANISMS = (_JAAS, _REAUTH)


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
class Tls:
    """The key and the certificates of a listener in PEM, given as text or as one file."""

    key: str | None = field(repr=False)
    chain: str | None
    location: str | None
    password: str | None = field(repr=False)


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
    protocols = _protocols(config["listener.security.protocol.map"])
    if "listener.security.protocol.map" not in given:
        protocols |= {name: "PLAINTEXT" for name in controllers if name not in protocols}
    for name in told:
        if name not in bound and name not in controllers:
            raise BadConfig(
                f"advertised.listeners: {name} is not among the listeners {', '.join(bound)}"
            )
    _check_own_keys(given, [*bound, *(name for name in controllers if name not in bound)])
    found = [
        _listener(name, where, told.get(name), protocols, _Settings(name, given, config))
        for name, where in bound.items()
    ]
    return (
        tuple(listener for listener in found if listener.name not in controllers),
        tuple(listener for listener in found if listener.name in controllers),
    )


class _Settings:
    """The settings of one listener: its own value of a key, else the value for all listeners."""

    def __init__(self, name: str, given: Mapping[str, str], config: Mapping[str, str]) -> None:
        self.prefix = f"{PREFIX}{name.lower()}."
        self._given, self._config = given, config

    def own(self, key: str) -> str | None:
        return self._given.get(self.prefix + key)

    def text(self, key: str) -> str:
        own = self.own(key)
        return self._config.get(key, "") if own is None else own


def _listener(
    name: str,
    where: Endpoint,
    told: Endpoint | None,
    protocols: Mapping[str, str],
    settings: _Settings,
) -> Listener:
    protocol = protocols.get(name)
    if protocol is None:
        raise BadConfig(
            f"listeners: {name} has no security protocol; add it to listener.security.protocol.map,"
            f" for example {name}:SASL_SSL"
        )
    return Listener(
        name,
        where,
        told,
        _sasl(name, settings) if protocol.startswith("SASL") else None,
        _tls(name, settings) if protocol.endswith("SSL") else None,
    )


def _sasl(name: str, settings: _Settings) -> Sasl:
    mechanisms = tuple(split_list(settings.text("sasl.enabled.mechanisms")))
    passwords: dict[str, str] = {}
    session_ms = {}
    for mechanism in mechanisms:
        if mechanism not in MECHANISMS:
            raise BadConfig(
                f"sasl.enabled.mechanisms of listener {name}: {mechanism} is not served; there are"
                f" {', '.join(MECHANISMS)}"
            )
        key = f"{settings.prefix}{mechanism.lower()}.{_JAAS}"
        text = settings.own(f"{mechanism.lower()}.{_JAAS}")
        if text is None:
            raise BadConfig(f"listener {name} has no {key}: {mechanism} needs a login module there")
        module = jaas.parsed(key, text)
        expected = PLAIN_MODULE if mechanism == PLAIN else SCRAM_MODULE
        if module.name != expected:
            raise BadConfig(f"{key}: the login module of {mechanism} must be {expected}")
        if mechanism == PLAIN:
            users = {k: v for k, v in module.options.items() if k.startswith("user_")}
            passwords = {key.removeprefix("user_"): password for key, password in users.items()}
        own = settings.own(f"{mechanism.lower()}.{_REAUTH}")
        session_ms[mechanism] = int(settings.text(_REAUTH) if own is None else own)
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


def _tls(name: str, settings: _Settings) -> Tls:
    kind = settings.text("ssl.keystore.type")
    if kind != "PEM":
        raise BadConfig(
            f"ssl.keystore.type={kind} of listener {name}: this broker reads PEM; convert the key"
            " store (openssl pkcs12) and set ssl.keystore.type=PEM"
        )
    key = settings.text("ssl.keystore.key") or None
    chain = settings.text("ssl.keystore.certificate.chain") or None
    location = settings.text("ssl.keystore.location") or None
    if (key is None or chain is None) and location is None:
        raise BadConfig(
            f"listener {name} asks for TLS and has no key: set ssl.keystore.location, or"
            " ssl.keystore.key and ssl.keystore.certificate.chain"
        )
    return Tls(key, chain, location, settings.text("ssl.key.password") or None)


def _check_own_keys(given: Mapping[str, str], names: list[str]) -> None:
    """Raise BadConfig for a key of a listener that does not exist, or an unknown key or bad value
    of one that does."""
    prefixes = {name: f"{PREFIX}{name.lower()}." for name in names}
    for key, text in given.items():
        if not key.startswith(PREFIX):
            continue
        own = [key.removeprefix(p) for p in prefixes.values() if key.startswith(p)]
        if not own:
            raise BadConfig(f"{key}: there is no such listener; there are {', '.join(names)}")
        mechanism, _, of_mechanism = own[0].partition(".")
        if of_mechanism in _OF_MECHANISMS and mechanism.upper() in MECHANISMS:
            if of_mechanism == _REAUTH:
                OF_LISTENERS[_REAUTH].check(text)
        elif own[0] in OF_LISTENERS:
            OF_LISTENERS[own[0]].check(text)
        else:
            raise BadConfig(f"Unknown broker config name: {key}")


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
