"""Judge what became of a frame: what no target may do, whatever the frame contains.

A frame that its schema cannot read must end the connection (`RequestContext.parseRequest`). A frame
that can be read is answered, or ends the connection. An answer follows its schema, has the
request's correlation id, and names what the request names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from conformance.case import Deviation
from conformance.connection import api_key, check_answer
from conformance.fuzz.volley import ANSWER_S, Outcome
from conformance.invariants import check_moments
from reference_impl.wire import (
    Malformed,
    Struct,
    decode_request_header,
    decode_response,
    request_definition,
)
from reference_impl.wire.codec.straight import TAGS

LENIENT = ("not UTF-8", "tags must ascend", "negative length", "tag ")
PATIENT_MS = 500
"""A request that asks to wait longer than this may be left without an answer."""
MAY_WAIT = ("Fetch", "ShareFetch")
WAITING_S = 0.1
"""The seconds to wait for the answer to a request that may be left without one."""


def why_wrong(
    frame: bytes,
    outcome: Outcome,
    advertised: Mapping[str, tuple[int, int]],
    *,
    compares: bool = True,
) -> str | None:
    """Return what is wrong with the outcome of a frame, or None. compares: whether the answer must
    also agree with its request (`conformance.echoes`, `conformance.invariants`)."""
    if outcome.kind == "closed":
        return None
    if outcome.kind == "refused":
        return "the target accepts no connection any more"
    if outcome.kind == "no frame":
        return "an answer of an impossible size"
    try:
        api, version, correlation_id, asked = read_request(frame, advertised)
    except Malformed as why:
        return _of_unreadable(outcome, why)
    if outcome.kind == "silent":
        return None if _may_wait(api, asked) else "neither answered nor closed"
    try:
        answered, answer = decode_response(outcome.answer, api_key(api), version)
    except Malformed as why:
        return f"the answer cannot be read: {why}"
    if answered != correlation_id:
        return f"the answer has correlation id {answered} instead of {correlation_id}"
    if asked is None or not compares:
        return None
    try:
        check_answer(api, version, asked, answer)
        if api == "Fetch":  # a suspect is sent again alone, while nobody writes
            check_moments(version, asked, answer, lambda _: answer)
    except Deviation as why:
        return f"the answer contradicts its request: {why}"
    return None


def _of_unreadable(outcome: Outcome, why: Malformed) -> str | None:
    if outcome.kind == "answered" and _is_read_leniently(why):
        return None
    if outcome.kind == "silent":
        return f"the connection stays open, though the request cannot be read: {why}"
    return f"answered, though the request cannot be read: {why}"


def _is_read_leniently(why: Malformed) -> bool:
    """Return whether Apache Kafka 4.3.1 reads such a request nevertheless. Its generated readers
    check neither the order nor the sizes of tagged fields, take 2^31 of them for none, replace
    bytes that are not UTF-8, and take any negative length of what may be null for null."""
    return (
        TAGS in why.path
        or any(text in why.problem for text in LENIENT)
        or any(int(number) >= 2**31 for number in re.findall(r"\d+", why.problem))
    )


def read_request(
    frame: bytes, advertised: Mapping[str, tuple[int, int]]
) -> tuple[str, int, int, Struct | None]:
    """Return API, version of the answer, correlation id and body of a request; the body is None for
    an ApiVersions of an unknown version, which is answered in v0 (KIP-511). Raise Malformed if the
    target must close the connection."""
    header, start = decode_request_header(frame)
    api = next((name for name in advertised if api_key(name) == header.api_key), None)
    if api is None:
        raise Malformed(f"API key {header.api_key} is not served", "api_key", "RequestHeader")
    first, last = advertised[api]
    definition = request_definition(header.api_key)
    known = definition.valid_versions
    if not max(first, known[0]) <= header.api_version <= min(last, known[-1]):
        if api == "ApiVersions":
            return api, 0, header.correlation_id, None
        raise Malformed(f"{api} v{header.api_version} is not served", "version", "RequestHeader")
    body, _ = definition.decode_prefix(memoryview(frame)[start:], header.api_version)
    return api, header.api_version, header.correlation_id, body


def patience_s(frame: bytes, advertised: Mapping[str, tuple[int, int]]) -> float:
    """Return how many seconds to wait for the answer to a frame: ANSWER_S, or WAITING_S for a
    request that may be left without an answer."""
    try:
        api, _, _, asked = read_request(frame, advertised)
    except Malformed:
        return ANSWER_S
    return WAITING_S if _may_wait(api, asked) else ANSWER_S


def _may_wait(api: str, asked: Struct | None) -> bool:
    """Return whether the target may leave the request without an answer for now: it asks to wait
    for records longer than PATIENT_MS, or for no answer."""
    if asked is None:
        return False
    if api == "Produce":
        return bool(asked.acks == 0)
    return api in MAY_WAIT and asked.max_wait_ms > PATIENT_MS
