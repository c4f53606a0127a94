"""Valid descriptions of listeners, and the sentence for everything else."""

from __future__ import annotations

import pytest

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.security.listener_settings import PLAIN_MODULE, SCRAM_MODULE
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.security.sasl import jaas

PLAIN = f'{PLAIN_MODULE} required user_ann="a, \\"b\\"; c=d" user_bob=secret;'
SASL = {
    "listeners": "IN://:9092,OUT://1.2.3.4:9093",
    "listener.security.protocol.map": "IN:PLAINTEXT,OUT:SASL_PLAINTEXT",
    "listener.name.out.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.out.plain.sasl.jaas.config": PLAIN,
    "listener.name.out.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
}
TLS = {
    "listeners": "OUT://:1",
    "listener.security.protocol.map": "OUT:SSL",
    "ssl.keystore.type": "PEM",
}


def test_a_listener_with_sasl_has_mechanisms_users_and_sessions() -> None:
    config = SASL | {
        "connections.max.reauth.ms": "5000",
        "listener.name.out.plain.connections.max.reauth.ms": "7000",
        "advertised.listeners": "OUT://example.org:1",
    }
    inside, outside = BrokerConfig.of(config).listeners()
    assert (inside.name, inside.endpoint, inside.sasl) == ("IN", Endpoint("", 9092), None)
    assert outside.endpoint == Endpoint("1.2.3.4", 9093)
    assert outside.advertised == Endpoint("example.org", 1)
    assert (str(outside.endpoint), str(Endpoint("::1", 9092))) == ("1.2.3.4:9093", "[::1]:9092")
    assert outside.sasl is not None
    assert outside.sasl.mechanisms == ("PLAIN", "SCRAM-SHA-256")
    assert outside.sasl.passwords == {"ann": 'a, "b"; c=d', "bob": "secret"}
    assert outside.sasl.session_ms == {"PLAIN": 7000, "SCRAM-SHA-256": 5000}
    assert "secret" not in repr(outside)


def test_the_default_is_one_plain_listener() -> None:
    (only,) = BrokerConfig.of({}).listeners()
    assert (only.name, only.endpoint.port, only.sasl, only.tls) == ("PLAINTEXT", 9092, None, None)


def test_a_protocol_may_be_a_name_and_controllers_are_left_alone() -> None:
    config = {
        "listeners": "PLAINTEXT://:1,SSL://:2,CONTROLLER://:3",
        "ssl.keystore.type": "PEM",
        "listener.name.ssl.ssl.keystore.location": "some.pem",
    }
    plain, tls = BrokerConfig.of(config).listeners()
    assert plain.tls is None
    assert tls.tls is not None
    assert tls.tls.location == "some.pem"


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"listeners": "A://:1"}, "A has no security protocol"),
        ({"listeners": "A:1"}, "PLAINTEXT://host:port"),
        ({"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"}, "PLAINTEXT is named twice"),
        ({"listeners": "CONTROLLER://:1"}, "there is none for clients"),
        ({"advertised.listeners": "B://h:1"}, "B is not among the listeners PLAINTEXT"),
        ({"listener.security.protocol.map": "A:TELNET"}, "A:TELNET is not one"),
        ({"listener.security.protocol.map": "A"}, "write each as NAME:PROTOCOL"),
        ({"listener.name.out.ssl.key.password": "x"}, "there is no such listener"),
        (SASL | {"listener.name.out.no.such.key": "x"}, "Unknown broker config name"),
        (SASL | {"listener.name.out.num.partitions": "1"}, "Unknown broker config name"),
        (SASL | {"listener.name.out.sasl.enabled.mechanisms": "GSSAPI"}, "GSSAPI is not served"),
        (SASL | {"listener.name.out.sasl.enabled.mechanisms": ""}, "names none"),
        (
            SASL | {"listener.name.out.sasl.enabled.mechanisms": "SCRAM-SHA-512"},
            "needs a login module",
        ),
        (
            SASL | {"listener.name.out.plain.sasl.jaas.config": f"{SCRAM_MODULE} required;"},
            "the login module of PLAIN must be",
        ),
        (SASL | {"listener.name.out.plain.sasl.jaas.config": "nonsense"}, "ended by a semicolon"),
        (SASL | {"listener.name.out.plain.connections.max.reauth.ms": "soon"}, "number"),
        (TLS, "has no key"),
        (TLS | {"ssl.keystore.type": "JKS"}, "this broker reads PEM"),
        (TLS | {"ssl.keystore.key": "k"}, "has no key"),
        (TLS | {"ssl.client.auth": "perhaps"}, "ssl.client.auth"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(config: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadConfig, match=sentence) as caught:
        BrokerConfig.of(config)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hush",
        "hush required",
        "M required a=hush",
        "M hush;",
        "M required hush;",
        "M required hush=;",
        "M required =hush;",
        'M required a="hush;',
        "M required a==hush;",
        "M required a=hush; N required;",
    ],
)
def test_a_login_module_that_is_none_is_refused_without_telling_secrets(text: str) -> None:
    with pytest.raises(BadConfig, match=r"some\.key: write it as") as caught:
        jaas.parsed("some.key", text)
    assert "hush" not in str(caught.value)


def test_java_writes_login_modules_in_many_ways() -> None:
    text = '  org.x.Module  REQUIRED\n  a=\'b c\'\n  d = "e\\"f"  g=h-1.2/3 ;  '
    module = jaas.parsed("some.key", text)
    assert module.name == "org.x.Module"
    assert module.options == {"a": "b c", "d": 'e"f', "g": "h-1.2/3"}
