"""The listeners of the cases about identities that come from elsewhere, as Kafka's own settings.

| listener | protocol       | a client is                                                      |
|----------|----------------|------------------------------------------------------------------|
| OAUTH    | SASL_PLAINTEXT | the subject of its token (OAUTHBEARER; unsecured tokens, KIP-255) |
| MTLS     | SSL            | the subject of its certificate, rewritten by rules (KIP-371)     |
"""

from __future__ import annotations

from conformance.target import certificates

MAPPED, UNMAPPED = "carol", "dave-2"
"""The common names of two clients with certificates; the rule concerns only names of letters."""
RULES = "RULE:^CN=([a-z]+),OU=touchstone$/$1@tls/U,DEFAULT"
_OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


_TOKENS = {"delegation.token.secret.key": "for nobody's eyes"}


def _certified() -> dict[str, str]:
    server = certificates.for_loopback()
    trusted = "".join(certificates.for_client(name).chain for name in (MAPPED, UNMAPPED))
    mtls = "listener.name.mtls"
    return {
        "listeners": "MTLS://127.0.0.1:0",
        "listener.security.protocol.map": "MTLS:SSL",
        f"{mtls}.ssl.keystore.type": "PEM",
        f"{mtls}.ssl.keystore.key": server.key,
        f"{mtls}.ssl.keystore.certificate.chain": server.chain,
        f"{mtls}.ssl.truststore.type": "PEM",
        f"{mtls}.ssl.truststore.certificates": trusted,
        f"{mtls}.ssl.client.auth": "required",
        f"{mtls}.ssl.principal.mapping.rules": RULES,
        **_TOKENS,
    }


IDENTIFIED = {
    "listeners": "OAUTH://127.0.0.1:0",
    "listener.security.protocol.map": "OAUTH:SASL_PLAINTEXT",
    "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.oauth.oauthbearer.sasl.jaas.config": (
        f'{_OAUTH} required unsecuredLoginStringClaim_sub="broker";'
    ),
    **_TOKENS,
}
"""The settings of the listener OAUTH, for
`@case(config=IDENTIFIED, requires=["settings-it-may-lack"])`."""
CERTIFIED = _certified()
"""The settings of the listener MTLS, for
`@case(config=CERTIFIED, requires=["settings-it-may-lack"])`."""
