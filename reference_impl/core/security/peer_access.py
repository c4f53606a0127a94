"""The security settings of the connections that a node opens to the others.

Source: KafkaConfig.scala (getInterBrokerListenerNameAndSecurityProtocol, validateValues),
ChannelBuilders.java (clientChannelBuilder), JaasContext.java (loadServerContext). To brokers a node
connects as `inter.broker.listener.name` says, to controllers as the first of
`controller.listener.names`, in both cases with that listener's own settings:

    listener.name.internal.plain.sasl.jaas.config=…PlainLoginModule required
        username="node" password="secret"            what the node says as a client
        user_node="secret";                          the users that its own listener accepts
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reference_impl.core.configs.keys import BadConfig, split_list
from reference_impl.core.security.encryption import Tls, tls_of_client
from reference_impl.core.security.listener_settings import MECHANISMS, ListenerSettings
from reference_impl.core.security.listeners import protocols_of_listeners

TO_BROKERS = "sasl.mechanism.inter.broker.protocol"
TO_CONTROLLERS = "sasl.mechanism.controller.protocol"


@dataclass(frozen=True)
class PeerAccess:
    """The settings by which a node connects to one listener of other nodes. The default is
    PLAINTEXT."""

    listener: str = ""
    protocol: str = "PLAINTEXT"
    tls: Tls | None = None
    mechanism: str | None = None
    username: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True)
class AccessToPeers:
    """The settings by which a node connects to brokers, and those for controllers."""

    brokers: PeerAccess = PeerAccess()
    controllers: PeerAccess = PeerAccess()


def access_to_peers(
    brokers: str | None,
    controllers: str | None,
    given: Mapping[str, str],
    config: Mapping[str, str],
) -> AccessToPeers:
    """Return how a node connects to others. Raise BadConfig if a protocol demands settings that are
    missing or wrong. brokers, controllers: the listeners of both, None where a node asks none.
    config: the broker's keys with their defaults. given: what was set."""
    protocols = protocols_of_listeners(given, config)

    def access(listener: str | None, mechanism_key: str) -> PeerAccess:
        if listener is None:
            return PeerAccess()
        if listener not in protocols:
            raise BadConfig(
                f"listener.security.protocol.map has no protocol for {listener}, by which nodes"
                f" connect to each other; add it, for example {listener}:SSL"
            )
        settings = ListenerSettings(listener, given, config)
        return _access(settings, protocols[listener], mechanism_key, config[mechanism_key])

    return AccessToPeers(access(brokers, TO_BROKERS), access(controllers, TO_CONTROLLERS))


def _access(
    settings: ListenerSettings, protocol: str, mechanism_key: str, mechanism: str
) -> PeerAccess:
    listener = settings.name
    tls = tls_of_client(settings) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return PeerAccess(listener, protocol, tls)
    if mechanism not in MECHANISMS:
        raise BadConfig(
            f"{mechanism_key}={mechanism}: nodes cannot log in to {listener} by it; there are"
            f" {', '.join(MECHANISMS)}"
        )
    enabled = split_list(settings.text("sasl.enabled.mechanisms"))
    # A node that is no controller need not know what controllers accept.
    if mechanism_key == TO_BROKERS and mechanism not in enabled:
        raise BadConfig(
            f"{mechanism_key}={mechanism}: it is not among the sasl.enabled.mechanisms of listener"
            f" {listener}; add it there"
        )
    options = settings.login_module(mechanism).options
    username, password = options.get("username"), options.get("password")
    if not username or not password:
        raise BadConfig(
            f"{settings.key_of_module(mechanism)} has no username and password: nodes log in to"
            f' {listener} with them; add username="…" password="…"'
        )
    return PeerAccess(listener, protocol, tls, mechanism, username, password)
