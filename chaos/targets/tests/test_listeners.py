"""Test listeners that a configuration adds to those of a target."""

from __future__ import annotations

import pytest

from chaos.targets.clusters.listeners import by_name, with_listeners
from chaos.values.protocols import TargetError
from reference_impl.host.settings.properties import as_text

OWN = {
    "listeners": "CLIENT://127.0.0.1:1",
    "advertised.listeners": "CLIENT://127.0.0.1:2",
    "listener.security.protocol.map": "CLIENT:PLAINTEXT",
    "num.partitions": "1",
}


def test_without_listeners_the_configuration_wins_key_by_key() -> None:
    settings, added = with_listeners(OWN, {"num.partitions": "3"})
    assert settings == OWN | {"num.partitions": "3"}
    assert added == {}


def test_listeners_add_up_and_are_advertised_where_they_are() -> None:
    settings, added = with_listeners(
        OWN,
        {
            "listeners": "SASL://127.0.0.1:9, TLS://127.0.0.1:0",
            "listener.security.protocol.map": "SASL:SASL_PLAINTEXT,TLS:SSL",
        },
    )
    assert added["SASL"] == "127.0.0.1:9"
    port = int(added["TLS"].rpartition(":")[2])
    assert port > 0
    urls = f"SASL://127.0.0.1:9,TLS://127.0.0.1:{port}"
    assert settings["listeners"] == f"CLIENT://127.0.0.1:1,{urls}"
    assert settings["advertised.listeners"] == f"CLIENT://127.0.0.1:2,{urls}"
    assert settings["listener.security.protocol.map"] == (
        "CLIENT:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL"
    )


def test_a_listener_of_several_nodes_has_an_address_at_each() -> None:
    assert by_name([{"A": "h:1", "B": "h:2"}, {"A": "h:3"}]) == {"A": "h:1,h:3", "B": "h:2"}


@pytest.mark.parametrize("text", ["SASL", "SASL://", "SASL://host:", "://h:1", "A://:0"])
def test_a_listener_that_is_none_is_a_sentence(text: str) -> None:
    with pytest.raises(TargetError, match="write each as NAME://host:port"):
        with_listeners(OWN, {"listeners": text})


def test_values_of_several_lines_stay_one_value_for_java() -> None:
    assert as_text({"a": "b\nc\\d", "e": "f"}) == "a=b\\nc\\\\d\ne=f\n"
