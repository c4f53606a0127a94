"""Payloads: ours are known, everything else is told from ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.clients.payload import decode, encode, nonce_of

NONCE = nonce_of("run")


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_value_comes_back(value: int) -> None:
    assert decode(encode(value, NONCE), NONCE) == (value, None)


@given(st.integers(0, 2**63 - 1), st.integers(0, 19), st.integers(1, 255))
def test_any_altered_byte_is_found(value: int, position: int, change: int) -> None:
    payload = bytearray(encode(value, NONCE))
    payload[position] ^= change
    found, problem = decode(bytes(payload), NONCE)
    assert found is None
    assert problem is not None and "checksum" in problem


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        (None, "no value"),
        (b"", "0 bytes"),
        (encode(1, NONCE) + b"x", "21 bytes"),
        (encode(1, nonce_of("another")), "another run"),
    ],
)
def test_what_is_not_ours_says_why(payload: bytes | None, problem: str) -> None:
    found, said = decode(payload, NONCE)
    assert found is None
    assert said is not None and problem in said
