"""A node knows by its settings how to connect to others; a contradiction is one sentence."""

from __future__ import annotations

import pytest

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.security.encryption import Trust
from reference_impl.core.security.listener_settings import PLAIN_MODULE, SCRAM_MODULE
from reference_impl.core.security.principal_rules import name_of, rules_of

NODE = {
    "node.id": "1",
    "controller.quorum.voters": "1@b1:9093,2@b2:9093",
    "listeners": "SSL://:9092,CONTROLLER://:9093",
    "security.inter.broker.protocol": "SSL",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": "node.pem",
}
LOGIN = 'username="node" password="secret"'
WITH_SASL = {
    "node.id": "1",
    "controller.quorum.voters": "1@b1:9093,2@b2:9093",
    "listeners": "INTERNAL://:9092,CONTROLLER://:9093",
    "inter.broker.listener.name": "INTERNAL",
    "listener.security.protocol.map": "INTERNAL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.internal.plain.sasl.jaas.config": f"{PLAIN_MODULE} required user_a=b;",
    "listener.name.internal.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required {LOGIN};",
    "listener.name.controller.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {LOGIN};",
    "listener.name.controller.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
}


def test_a_protocol_is_the_name_of_a_listener_and_controllers_use_plaintext() -> None:
    peers = BrokerConfig.of(NODE).access_to_peers()
    assert (peers.brokers.listener, peers.brokers.protocol) == ("SSL", "SSL")
    assert peers.brokers.tls is not None
    assert peers.brokers.tls.location == "node.pem" and peers.brokers.tls.trust is None
    assert peers.brokers.tls.checks_hostname
    assert (peers.controllers.listener, peers.controllers.protocol) == ("CONTROLLER", "PLAINTEXT")


def test_a_node_logs_in_to_brokers_and_controllers_by_different_mechanisms() -> None:
    peers = BrokerConfig.of(WITH_SASL).access_to_peers()
    assert (peers.brokers.mechanism, peers.controllers.mechanism) == ("SCRAM-SHA-256", "PLAIN")
    assert {peers.brokers.username, peers.controllers.username} == {"node"}
    assert peers.brokers.password == "secret"
    assert "secret" not in repr(peers)


def test_a_broker_needs_no_key_for_controllers_and_may_trust_others_than_for_brokers() -> None:
    given = NODE | {
        "process.roles": "broker",
        "node.id": "3",
        "listeners": "SSL://:9092",
        "listener.security.protocol.map": "SSL:SSL,CONTROLLER:SSL",
        "listener.name.controller.ssl.keystore.location": "",
        "listener.name.controller.ssl.truststore.type": "PEM",
        "listener.name.controller.ssl.truststore.location": "ca.pem",
        "listener.name.controller.ssl.endpoint.identification.algorithm": "",
    }
    peers = BrokerConfig.of(given).access_to_peers()
    controllers = peers.controllers.tls
    assert controllers is not None and not controllers.has_key
    assert (controllers.trust, controllers.checks_hostname) == (Trust(None, "ca.pem"), False)
    assert peers.brokers.tls is not None and peers.brokers.tls.trust is None


def test_a_node_without_peers_needs_no_login() -> None:
    alone = {
        "listeners": "OUT://:1",
        "listener.security.protocol.map": "OUT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.out.plain.sasl.jaas.config": f"{PLAIN_MODULE} required user_a=b;",
    }
    assert BrokerConfig.of(alone).access_to_peers().brokers.protocol == "PLAINTEXT"
    with pytest.raises(BadConfig, match=r"sasl\.mechanism\.inter\.broker\.protocol=GSSAPI"):
        BrokerConfig.of(
            alone
            | {"listeners": "OUT://:1,CONTROLLER://:2"}
            | {
                "listener.security.protocol.map": "OUT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
                "controller.quorum.voters": "1@b1:2",
                "node.id": "1",
            }
        )


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (NODE | {"security.inter.broker.protocol": "TELNET"}, "it must be one of PLAINTEXT, SSL"),
        (NODE | {"security.inter.broker.protocol": "SASL_SSL"}, "no such listener for brokers"),
        (NODE | {"inter.broker.listener.name": "SSL"}, "are both given; set one of them"),
        (NODE | {"ssl.truststore.location": "ca.jks"}, "ssl.truststore.type=JKS of listener SSL"),
        (
            NODE
            | {
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": "a",
                "ssl.truststore.certificates": "b",
            },
            "are both set; set one of them",
        ),
        (NODE | {"ssl.endpoint.identification.algorithm": "dns"}, "it must be one of https"),
        (NODE | {"ssl.client.auth": "perhaps"}, "it must be one of none, requested, required"),
        (NODE | {"ssl.principal.mapping.rules": "RULE:a"}, "write each rule as DEFAULT"),
        (NODE | {"ssl.principal.mapping.rules": "RULE:(/x/"}, "the pattern \\( cannot be read"),
        (
            WITH_SASL | {"sasl.mechanism.controller.protocol": "GSSAPI"},
            "sasl.mechanism.controller.protocol=GSSAPI: nodes cannot log in to CONTROLLER by it",
        ),
        (
            WITH_SASL | {"listener.name.internal.sasl.enabled.mechanisms": "PLAIN"},
            "it is not among the sasl.enabled.mechanisms of listener INTERNAL",
        ),
        (
            WITH_SASL | {"sasl.mechanism.inter.broker.protocol": "PLAIN"},
            "internal.plain.sasl.jaas.config has no username and password",
        ),
        (
            WITH_SASL
            | {
                "process.roles": "broker",
                "node.id": "3",
                "listeners": "INTERNAL://:9092",
                "listener.security.protocol.map": "INTERNAL:SASL_PLAINTEXT",
            },
            "listener.security.protocol.map has no protocol for CONTROLLER",
        ),
    ],
)
def test_a_contradiction_is_one_sentence(config: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadConfig, match=sentence) as caught:
        BrokerConfig.of(config)
    assert "\n" not in str(caught.value) and "secret" not in str(caught.value)


def test_certificates_of_clients_are_asked_on_a_listener_with_sasl_only_by_its_own_key() -> None:
    given = WITH_SASL | {
        "listener.security.protocol.map": "INTERNAL:SASL_SSL,CONTROLLER:SASL_SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "node.pem",
        "ssl.client.auth": "required",
        "listener.name.controller.ssl.client.auth": "requested",
    }
    config = BrokerConfig.of(given)
    found = [*config.listeners(), *config.controller_listeners()]
    assert [each.tls.client_auth for each in found if each.tls] == ["none", "requested"]


@pytest.mark.parametrize(
    ("rules", "subject", "name"),
    [
        ("DEFAULT", "CN=a,OU=b", "CN=a,OU=b"),
        ("", "CN=a", "CN=a"),
        ("RULE:^CN=(.*?),OU=(.*?)$/$1@$2/", "CN=Ann,OU=Dev", "Ann@Dev"),
        ("RULE:^CN=(.*?),.*$/$1/L,DEFAULT", "CN=Ann,OU=Dev", "ann"),
        ("RULE:^CN=(.*?),.*$/$1/U , DEFAULT", "CN=Ann,OU=Dev", "ANN"),
        ("RULE:^CN=(.*?),.*$/$1/,DEFAULT", "CN=Ann", "CN=Ann"),
        ("RULE:CN=A/x/", "CN=Ann", None),
        (r"RULE:^CN=(.*)\/(.*)$/$2\/$3/", "CN=a/b", "b/$3"),
    ],
)
def test_the_first_rule_that_matches_names_the_client(
    rules: str, subject: str, name: str | None
) -> None:
    assert name_of(rules_of(rules), subject) == name
