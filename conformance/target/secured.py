"""The listeners with SASL and TLS that the cases of SEC use, as Kafka's own settings.

| listener | protocol       | mechanisms               | sessions                   |
|----------|----------------|--------------------------|----------------------------|
| SASL     | SASL_PLAINTEXT | PLAIN, both of SCRAM     | without end                |
| BRIEF    | SASL_PLAINTEXT | PLAIN, SCRAM-SHA-256     | end after BRIEF_SESSION_MS |
| TLS      | SSL            |                          |                            |
| SASL_TLS | SASL_SSL       | PLAIN                    | without end                |

Users of PLAIN are in the configuration; those of SCRAM are made by the cases.
"""

from __future__ import annotations

from conformance.target import certificates

BRIEF_SESSION_MS = 1500
PASSWORDS = {"alice": "alice-secret", "bob": "bob-secret"}
"""User -> password, for PLAIN."""

_MODULES = "org.apache.kafka.common.security"
_PLAIN = (
    f"{_MODULES}.plain.PlainLoginModule required "
    + " ".join(f'user_{name}="{password}"' for name, password in PASSWORDS.items())
    + ";"
)
_SCRAM = f"{_MODULES}.scram.ScramLoginModule required;"
_MECHANISMS = {
    "SASL": ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    "BRIEF": ("PLAIN", "SCRAM-SHA-256"),
    "SASL_TLS": ("PLAIN",),
}
_PROTOCOLS = {
    "SASL": "SASL_PLAINTEXT",
    "BRIEF": "SASL_PLAINTEXT",
    "TLS": "SSL",
    "SASL_TLS": "SASL_SSL",
}


def _settings() -> dict[str, str]:
    """Return the settings of all four listeners on loopback; the target chooses the ports when it
    starts."""
    found = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in _PROTOCOLS),
        "listener.security.protocol.map": ",".join(map(":".join, _PROTOCOLS.items())),
    }
    for listener, mechanisms in _MECHANISMS.items():
        prefix = f"listener.name.{listener.lower()}"
        found[f"{prefix}.sasl.enabled.mechanisms"] = ",".join(mechanisms)
        for mechanism in mechanisms:
            module = _PLAIN if mechanism == "PLAIN" else _SCRAM
            found[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = module
            if listener == "BRIEF":
                lifetime = f"{prefix}.{mechanism.lower()}.connections.max.reauth.ms"
                found[lifetime] = str(BRIEF_SESSION_MS)
    certificate = certificates.for_loopback()
    for listener in ("tls", "sasl_tls"):
        prefix = f"listener.name.{listener}.ssl.keystore"
        found[f"{prefix}.type"] = "PEM"
        found[f"{prefix}.key"] = certificate.key
        found[f"{prefix}.certificate.chain"] = certificate.chain
    return found


SECURED = _settings()
"""The settings for `@case(config=SECURED)`; `examined.cluster.listeners` has the address of each
listener."""
