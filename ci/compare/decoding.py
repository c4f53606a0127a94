"""Decode the messages beside a failure, so that a reader sees fields and bytes together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.connection import api_key
from reference_impl.wire import Malformed, Struct, decode_request, decode_response

SIZE_BYTES = 4


@dataclass(frozen=True)
class Shown:
    """A message with its bytes and decoded fields, as a page shows it."""

    title: str
    hex: str
    body: Struct | None
    """The decoded message, if its bytes are whole and can be decoded."""

    @property
    def decoded(self) -> str:
        """Return the decoded message as text, or "" if it could not be decoded."""
        return "" if self.body is None else repr(self.body)


def shown(messages: Sequence[Mapping[str, Any]]) -> Iterator[Shown]:
    """Yield each message, decoded if possible. A response belongs to the request before it."""
    asked: Mapping[str, Any] | None = None
    for message in messages:
        is_request = message["direction"] == "request"
        if is_request:
            asked = message
        api = f" {asked['api']} v{asked['version']}" if asked and "version" in asked else ""
        title = f"{message['direction']}{api}, {message['bytes']} bytes"
        yield Shown(title, message["hex"], _body(message, asked))


def fields(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, value as Python shows it) of each field of a decoded message, such as
    `topics[0].error_code`. A list of plain values is one field."""
    if isinstance(value, Struct):
        for name in type(value).__slots__:
            yield from fields(getattr(value, name), f"{path}.{name}" if path else name)
    elif isinstance(value, list) and any(isinstance(each, Struct) for each in value):
        for place, each in enumerate(value):
            yield from fields(each, f"{path}[{place}]")
    elif path:
        yield path, repr(value)


def _body(message: Mapping[str, Any], asked: Mapping[str, Any] | None) -> Struct | None:
    data = bytes.fromhex(message["hex"])
    if len(data) < message["bytes"] or asked is None:
        return None
    try:
        if message["direction"] == "request":
            return decode_request(data[SIZE_BYTES:])[1]
        return decode_response(data, api_key(asked["api"]), asked["version"])[1]
    except (Malformed, KeyError, ValueError, IndexError):
        return None
