"""Decode the messages beside a failure, so that a reader sees fields and bytes together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.connection import api_key
from reference_impl.wire import Malformed, decode_request, decode_response

SIZE_BYTES = 4


@dataclass(frozen=True)
class Shown:
    """A message with its bytes and decoded fields, as a page shows it."""

    title: str
    hex: str
    decoded: str


def shown(messages: Sequence[Mapping[str, Any]]) -> Iterator[Shown]:
    """Yield each message with its fields, if its bytes are whole and can be decoded. A response
    belongs to the request before it."""
    asked: Mapping[str, Any] | None = None
    for message in messages:
        is_request = message["direction"] == "request"
        if is_request:
            asked = message
        api = f" {asked['api']} v{asked['version']}" if asked and "version" in asked else ""
        title = f"{message['direction']}{api}, {message['bytes']} bytes"
        yield Shown(title, message["hex"], _decoded(message, asked))


def _decoded(message: Mapping[str, Any], asked: Mapping[str, Any] | None) -> str:
    data = bytes.fromhex(message["hex"])
    if len(data) < message["bytes"] or asked is None:
        return ""
    try:
        if message["direction"] == "request":
            return repr(decode_request(data[SIZE_BYTES:])[1])
        return repr(decode_response(data, api_key(asked["api"]), asked["version"])[1])
    except (Malformed, KeyError, ValueError, IndexError):
        return ""
