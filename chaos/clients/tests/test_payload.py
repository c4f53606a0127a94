"""Test that payloads of this run are recognised, and all others are told apart from them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.clients.payload import (
    Carried,
    checksum_of,
    decode,
    encode,
    nonce_of,
    record_for,
    value_of,
)
from chaos.values.protocols import Send

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


@given(st.integers(0, 2**62), st.integers(0, 10_000))
def test_a_dressed_record_comes_back_and_its_key_is_not_named(value: int, size: int) -> None:
    carried = record_for(Send("t", 0, (value,), filling=(size,)), 0, NONCE)
    assert value_of(carried, NONCE) == (value, {"checksum": checksum_of(carried)})
    assert len(carried.value or b"") == 20 + size


@pytest.mark.parametrize(
    "altered",
    [
        lambda carried: carried._replace(key=carried.key + b"x"),
        lambda carried: carried._replace(key=None),
        lambda carried: carried._replace(headers=carried.headers[1:]),
        lambda carried: carried._replace(headers=carried.headers[::-1]),
        lambda carried: carried._replace(value=carried.value[:-1]),
        lambda carried: carried._replace(value=None),
    ],
)
def test_a_dressed_record_that_lost_anything_is_none_of_ours(
    altered: Callable[[Carried], Carried],
) -> None:
    carried = record_for(Send("t", 0, (7,), filling=(100,)), 0, NONCE)
    assert len(carried.headers) == 3
    value, extra = value_of(altered(carried), NONCE)
    assert value is None
    assert extra["detail"]
    assert extra["checksum"] != checksum_of(carried)


@pytest.mark.parametrize("tombstone", [False, True])
def test_a_named_key_and_headers_go_together(tombstone: bool) -> None:
    send = Send("t", 0, (7,), ("a key",), (tombstone,), filling=(50,))
    carried = record_for(send, 0, NONCE)
    assert (carried.value is None) is tombstone and len(carried.headers) == 3 + tombstone
    told = {"key": "a key", "tombstone": tombstone, "checksum": checksum_of(carried)}
    assert value_of(carried, NONCE) == (7, told)
    assert value_of(carried._replace(headers=carried.headers[1:]), NONCE)[0] is None


@pytest.mark.parametrize("tombstone", [False, True])
def test_a_named_key_is_told_and_so_is_a_tombstone(tombstone: bool) -> None:
    carried = record_for(Send("t", 0, (7,), ("a key",), (tombstone,)), 0, NONCE)
    assert (carried.value is None) is tombstone
    told = {"key": "a key", "tombstone": tombstone, "checksum": checksum_of(carried)}
    assert value_of(carried, NONCE) == (7, told)
    value, extra = value_of(carried._replace(key=b"another"), NONCE)
    assert (value, extra["key"]) == (None, "another")
