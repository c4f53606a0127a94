"""The keys that can be set for one listener, and their values for it.

Source: KIP-226 (listener.name.NAME.…), KIP-85 (JAAS in a key), KIP-651 (keys in PEM); SslConfigs,
SaslConfigs, BrokerSecurityConfigs. A listener's own key (listener.name.NAME.KEY) overrides KEY.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.core.configs.keys import BadConfig, ConfigKey, ConfigType, table
from reference_impl.core.security.principal_rules import RULES
from reference_impl.core.security.sasl import jaas
from reference_impl.core.security.sasl.plain import PLAIN
from reference_impl.core.security.sasl.scram import SCRAM_MECHANISMS

MECHANISMS = (PLAIN, *SCRAM_MECHANISMS)
PREFIX = "listener.name."
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
CLIENT_AUTH, HOSTNAMES = "ssl.client.auth", "ssl.endpoint.identification.algorithm"

_I, _L, _S = ConfigType.INT, ConfigType.LONG, ConfigType.STRING
_LIST, _PASSWORD = ConfigType.LIST, ConfigType.PASSWORD
OF_LISTENERS = table(
    ConfigKey("connection.failed.authentication.delay.ms", _I, "100", 0),
    ConfigKey("connections.max.reauth.ms", _L, "0"),
    ConfigKey("sasl.enabled.mechanisms", _LIST, "GSSAPI"),
    ConfigKey("sasl.server.max.receive.size", _I, "524288", 1),
    ConfigKey(CLIENT_AUTH, _S, "none", one_of=("none", "requested", "required")),
    ConfigKey(HOSTNAMES, _S, "https", one_of=("https", "HTTPS", "")),
    ConfigKey("ssl.key.password", _PASSWORD, None),
    ConfigKey("ssl.keystore.certificate.chain", _PASSWORD, None),
    ConfigKey("ssl.keystore.key", _PASSWORD, None),
    ConfigKey("ssl.keystore.location", _S, None),
    ConfigKey("ssl.keystore.type", _S, "JKS"),
    ConfigKey(RULES, _S, "DEFAULT"),
    ConfigKey("ssl.truststore.certificates", _PASSWORD, None),
    ConfigKey("ssl.truststore.location", _S, None),
    ConfigKey("ssl.truststore.type", _S, "JKS"),
)
"""The keys that can be set for a single listener (with its prefix) or for all listeners
(without)."""
JAAS, REAUTH = "sasl.jaas.config", "connections.max.reauth.ms"
_OF_MECHANISMS = (JAAS, REAUTH)


class ListenerSettings:
    """The settings of one listener: its own value of a key, else the value for all listeners."""

    def __init__(self, name: str, given: Mapping[str, str], config: Mapping[str, str]) -> None:
        self.name = name
        self.prefix = f"{PREFIX}{name.lower()}."
        self._given, self._config = given, config

    def own(self, key: str) -> str | None:
        """Return the value that is set for this listener alone, or None."""
        return self._given.get(self.prefix + key)

    def text(self, key: str) -> str:
        """Return the value of a key for this listener, "" if it has neither value nor default."""
        own = self.own(key)
        return self._config.get(key, "") if own is None else own

    def login_module(self, mechanism: str) -> jaas.LoginModule:
        """Return the login module of a mechanism. Raise BadConfig if none is set, or it is not the
        module of this mechanism."""
        key = self.key_of_module(mechanism)
        text = self.own(f"{mechanism.lower()}.{JAAS}")
        if text is None:
            raise BadConfig(
                f"listener {self.name} has no {key}: {mechanism} needs a login module there"
            )
        module = jaas.parsed(key, text)
        expected = PLAIN_MODULE if mechanism == PLAIN else SCRAM_MODULE
        if module.name != expected:
            raise BadConfig(f"{key}: the login module of {mechanism} must be {expected}")
        return module

    def key_of_module(self, mechanism: str) -> str:
        """Return the key of a mechanism's login module, in full."""
        return f"{self.prefix}{mechanism.lower()}.{JAAS}"


def check_own_keys(given: Mapping[str, str], names: list[str]) -> None:
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
            if of_mechanism == REAUTH:
                OF_LISTENERS[REAUTH].check(text)
        elif own[0] in OF_LISTENERS:
            OF_LISTENERS[own[0]].check(text)
        else:
            raise BadConfig(f"Unknown broker config name: {key}")
