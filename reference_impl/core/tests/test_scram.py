"""SCRAM against the RFCs' own example, and against a client that was written apart from it."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.clients.sasl import Scram, salted
from reference_impl.core.security.sasl.mechanisms import Denied
from reference_impl.core.security.sasl.scram import (
    SCRAM_MECHANISMS,
    Credential,
    ScramExchange,
    credential_of,
)

SHA_256 = SCRAM_MECHANISMS["SCRAM-SHA-256"]
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
PENCIL = credential_of(SHA_256, SALT, 4096, hashlib.pbkdf2_hmac("sha256", b"pencil", SALT, 4096))
NAMES = st.text(st.characters(min_codepoint=1, max_codepoint=127), min_size=1, max_size=20)


def exchange_with(credential: Credential | None, nonce: str = "more") -> ScramExchange:
    return ScramExchange(SHA_256, lambda user: credential if user == "user" else None, nonce)


def test_the_example_of_rfc_7677() -> None:
    exchange = exchange_with(PENCIL, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    first = exchange.answer(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert first.decode() == f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert exchange.user is None
    final = f"c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert exchange.answer(final.encode()) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert exchange.user == "user"


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"n,,n=user",
        b"n,,r=abc,n=user",
        b"y,,n=user,r=abc",
        b"p=tls-unique,,n=user,r=abc",
        b"n,,n=us=er,r=abc",
        b"n,,n=us,er,r=abc",
        b"n,,n=user,r=a b",
        b"n,,n=user,r=abc,nonsense",
        b"n,a=other,n=user,r=abc",
        b"n,,n=stranger,r=abc",
        "n,,n=us\u00e9r,r=abc".encode(),
        b"\xff\xfe",
    ],
)
def test_a_first_message_that_cannot_be_is_denied(token: bytes) -> None:
    exchange = exchange_with(PENCIL)
    with pytest.raises(Denied):
        exchange.answer(token)
    assert exchange.user is None


@pytest.mark.parametrize(
    "change",
    [
        (b",r=abc", b",r=abd"),
        (b",p=", b",p=AAAA"),
        (b",p=", b",q="),
        (b"c=biws", b"c=!"),
        (b"c=biws", b"c=eSws"),
    ],
    ids=["another nonce", "proof too long", "no proof", "no base 64", "another header"],
)
def test_a_final_message_that_cannot_be_is_denied(change: tuple[bytes, bytes]) -> None:
    client = Scram("SCRAM-SHA-256", "user", "pencil", nonce="abc")
    exchange = exchange_with(PENCIL)
    final = client.final(exchange.answer(client.first())).replace(*change)
    with pytest.raises(Denied):
        exchange.answer(final)
    assert exchange.user is None


@settings(max_examples=50)
@given(
    name=NAMES,
    password=st.text(max_size=20),
    wrong=st.text(max_size=20),
    mechanism=st.sampled_from(sorted(SCRAM_MECHANISMS)),
)
def test_who_knows_the_password_gets_in_and_nobody_else(
    name: str, password: str, wrong: str, mechanism: str
) -> None:
    salt, iterations = b"salt", 2  # few, for speed: the bound is that of AlterUserScramCredentials
    credential = credential_of(
        SCRAM_MECHANISMS[mechanism], salt, iterations, salted(mechanism, password, salt, iterations)
    )
    users = {name: credential}
    for tried in (password, wrong):
        client = Scram(mechanism, name, tried)
        exchange = ScramExchange(SCRAM_MECHANISMS[mechanism], users.get, "more")
        final = client.final(exchange.answer(client.first()))
        if tried == password:
            assert exchange.answer(final) == client.server_signature()
            assert exchange.user == name
        else:
            with pytest.raises(Denied):
                exchange.answer(final)
