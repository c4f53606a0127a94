"""The keys and certificates of a listener, and those that a node trusts, as Kafka's PEM settings.

Source: KIP-651; SslConfigs.java, DefaultSslEngineFactory.java. The same settings serve a listener
and the connections that the node opens to the same listener of other nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.security.listener_settings import CLIENT_AUTH, HOSTNAMES, ListenerSettings
from reference_impl.core.security.principal_rules import RULES, Rule, rules_of

PEM = "PEM"


@dataclass(frozen=True)
class Trust:
    """The certificates that are trusted, in PEM, given as text or as a file."""

    certificates: str | None
    location: str | None


@dataclass(frozen=True)
class Tls:
    """The key and the certificates of a listener in PEM, given as text or as one file, and the
    certificates that it trusts."""

    key: str | None = field(repr=False)
    chain: str | None
    location: str | None
    password: str | None = field(repr=False)
    trust: Trust | None = None
    """None means the certificates that the system trusts."""
    client_auth: str = "none"
    """Whether the listener asks clients for a certificate: none, requested or required."""
    rules: tuple[Rule, ...] = (Rule(),)
    """The rules that make a client's name of the subject of its certificate."""
    checks_hostname: bool = True
    """Whether the node demands that the certificate of another node names its host."""

    @property
    def has_key(self) -> bool:
        """Return whether there is a key with its certificates."""
        return self.location is not None or (self.key is not None and self.chain is not None)


def tls_of_listener(settings: ListenerSettings, *, has_sasl: bool) -> Tls:
    """Return the keys of a listener with TLS. Raise BadConfig if it has no key, or one that is not
    in PEM. has_sasl: whether clients also log in. Then only the listener's own ssl.client.auth
    counts (KIP-684)."""
    tls = _tls(settings, has_keystore=True)
    if has_sasl and settings.own(CLIENT_AUTH) is None:
        tls = replace(tls, client_auth="none")
    if not tls.has_key:
        raise BadConfig(
            f"listener {settings.name} asks for TLS and has no key: set ssl.keystore.location, or"
            " ssl.keystore.key and ssl.keystore.certificate.chain"
        )
    return tls


def tls_of_client(settings: ListenerSettings) -> Tls:
    """Return the keys with which the node connects to this listener of other nodes. Without a key
    it has no certificate to show. Raise BadConfig for a store that is not in PEM."""
    keys = ("ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.keystore.location")
    return _tls(settings, has_keystore=any(map(settings.text, keys)))


def _tls(settings: ListenerSettings, *, has_keystore: bool) -> Tls:
    if has_keystore:
        _check_type(settings, "ssl.keystore.type", "key store (openssl pkcs12)")
    return Tls(
        settings.text("ssl.keystore.key") or None,
        settings.text("ssl.keystore.certificate.chain") or None,
        settings.text("ssl.keystore.location") or None,
        settings.text("ssl.key.password") or None,
        _trust(settings),
        settings.text(CLIENT_AUTH),
        rules_of(settings.text(RULES)),
        settings.text(HOSTNAMES) != "",
    )


def _trust(settings: ListenerSettings) -> Trust | None:
    certificates = settings.text("ssl.truststore.certificates") or None
    location = settings.text("ssl.truststore.location") or None
    if certificates is None and location is None:
        return None
    _check_type(settings, "ssl.truststore.type", "trust store (keytool -exportcert -rfc)")
    if certificates is not None and location is not None:
        raise BadConfig(
            f"ssl.truststore.location and ssl.truststore.certificates of listener {settings.name}"
            " are both set; set one of them"
        )
    return Trust(certificates, location)


def _check_type(settings: ListenerSettings, key: str, store: str) -> None:
    kind = settings.text(key)
    if kind != PEM:
        raise BadConfig(
            f"{key}={kind} of listener {settings.name}: this broker reads PEM; convert the {store}"
            f" and set {key}=PEM"
        )
