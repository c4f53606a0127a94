"""The security settings of librdkafka and of Apache's Java clients, under the names of each.

Sources: librdkafka CONFIGURATION.md; SslConfigs, SaslConfigs (KIP-651: keys in PEM). No secret
appears on a command line: librdkafka runs in this process, and the Java process reads its settings
from standard input.
"""

from __future__ import annotations

import json
from typing import Any

from reference_impl.access import Access

_MODULES = "org.apache.kafka.common.security"
_LOGIN_MODULES = {
    "PLAIN": f"{_MODULES}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_MODULES}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_MODULES}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{_MODULES}.oauthbearer.OAuthBearerLoginModule",
}
TOKEN_HANDLER = "KafkaClients$TokenByCommand"


def of_librdkafka(access: Access) -> dict[str, Any]:
    """Return the settings by which librdkafka connects and authenticates, or an empty dict for
    PLAINTEXT."""
    if not access.uses_tls and not access.uses_sasl:
        return {}
    found: dict[str, Any] = {"security.protocol": access.protocol}
    if access.uses_tls:
        found |= {
            "ssl.ca.location": access.ca,
            "ssl.certificate.location": access.certificate,
            "ssl.key.location": access.key,
            "ssl.key.password": access.key_password or None,
            "ssl.endpoint.identification.algorithm": "https" if access.checks_hostname else "none",
        }
    if access.uses_sasl:
        found["sasl.mechanisms"] = access.mechanism
    if access.token is not None:
        token = access.token

        def fresh(_: str) -> tuple[str, float]:
            made = token()
            return made.value, made.expires_s

        found["oauth_cb"] = fresh
    elif access.uses_sasl:
        found |= {"sasl.username": access.username, "sasl.password": access.password}
    return {
        key: value if key == "oauth_cb" else str(value)
        for key, value in found.items()
        if value is not None
    }


def of_java(access: Access) -> dict[str, Any]:
    """Return the settings by which Apache's Java clients connect and authenticate, or an empty dict
    for PLAINTEXT. Raise OSError if the certificate or key file cannot be read."""
    if not access.uses_tls and not access.uses_sasl:
        return {}
    found: dict[str, Any] = {"security.protocol": access.protocol}
    if access.uses_tls:
        found |= _tls_of_java(access)
    if access.uses_sasl:
        found["sasl.mechanism"] = access.mechanism
        found["sasl.jaas.config"] = _jaas(access)
    if access.token_command:
        found |= {
            "sasl.login.callback.handler.class": TOKEN_HANDLER,
            "touchstone.token.command": json.dumps([str(access.folder), *access.token_command]),
        }
    return found


def _tls_of_java(access: Access) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if access.ca is not None:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(access.ca)}
    if access.certificate is not None and access.key is not None:
        found |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": access.certificate.read_text(),
            "ssl.keystore.key": access.key.read_text(),
        }
        if access.key_password:
            found["ssl.key.password"] = access.key_password
    if not access.checks_hostname:
        found["ssl.endpoint.identification.algorithm"] = ""
    return found


def _jaas(access: Access) -> str:
    module = f"{_LOGIN_MODULES[access.mechanism or '']} required"
    if access.token is not None:
        return f"{module};"
    return f"{module} username={_quoted(access.username)} password={_quoted(access.password)};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
