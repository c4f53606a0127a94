"""Judge the result of a request: either its response, or the end of its connection with a logged
reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from reference_impl.robustness.fuzz.broker import MAX_FRAME_BYTES, Broker, Violation
from reference_impl.robustness.fuzz.frames import Frame
from reference_impl.robustness.process import PATIENCE_S, RawClient
from reference_impl.wire import (
    API_NAMES,
    ApiKey,
    FrameReader,
    Malformed,
    Struct,
    decode_request,
    decode_request_header,
    decode_response,
    not_served,
    request_definition,
)

MAY_WAIT = frozenset({ApiKey.FETCH, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.SHARE_FETCH})
"""The APIs that are answered only when some event happens, which may never happen, so that the
client does not wait long."""
WAITED_S = 0.1
SHOWN_BYTES = 1000


@dataclass
class Judge:
    """Reads and judges the broker's responses, and counts them."""

    broker: Broker
    counts: Counter[str] = field(default_factory=Counter)
    answered: Counter[tuple[str, int]] = field(default_factory=Counter)
    """(name of the listener, API key) -> the number of its answers."""

    def why_closed(self, frame: Frame) -> str | None:
        """Return why the broker must close the connection instead of answering, or None."""
        data = frame.data
        try:
            FrameReader(MAX_FRAME_BYTES).feed(len(data).to_bytes(4, "big"))
            header, start = decode_request_header(data)
            if header.api_version in frame.door.served.get(header.api_key, ()):
                definition = request_definition(header.api_key)
                definition.decode_prefix(memoryview(data)[start:], header.api_version)
            elif header.api_key != ApiKey.API_VERSIONS:
                return not_served(header.api_key, header.api_version)
        except Malformed as error:
            return str(error)
        return None

    def settle(self, client: RawClient, frames: Sequence[Frame]) -> list[Struct]:
        """Raise Violation unless the broker answers each frame, in order, up to one that must end
        the connection, and logs why it ends. Return the responses. Close the socket if no further
        request is possible on it."""
        answers: list[Struct] = []
        self.counts["requests"] += len(frames)
        said_nothing = False
        for frame in frames:
            why = self.why_closed(frame)
            if why is None and self._is_silent(frame):
                said_nothing = True
                continue
            try:
                raw = self._receive(client, frame)
            except TimeoutError:
                self._gave_up(frame)
                client.socket.close()
                break
            if raw is None:
                # A Produce with acks=0 before it may have failed, which ends the connection, too.
                self._check_reason(frame, None if said_nothing else why)
                client.socket.close()
                break
            if why is not None:
                raise Violation(
                    "the broker answered instead of closing the connection, as it must:"
                    f" {why}; {shown(frame.data)}"
                )
            answers.append(self._read(frame, raw))
        return answers

    def ends(self, client: RawClient) -> None:
        """Raise Violation unless the broker closes this connection in time, whatever it sends
        before that."""
        client.socket.settimeout(PATIENCE_S)
        try:
            while client.receive() is not None:
                self.counts["answers"] += 1
        except TimeoutError:
            raise Violation(f"a connection is still open after {PATIENCE_S} s") from None
        self.counts["closed"] += 1

    def _receive(self, client: RawClient, frame: Frame) -> bytes | None:
        client.socket.settimeout(WAITED_S if frame.api_key in MAY_WAIT else PATIENCE_S)
        return client.receive()

    def _gave_up(self, frame: Frame) -> None:
        if frame.api_key not in MAY_WAIT:
            name = API_NAMES.get(frame.api_key, str(frame.api_key))
            raise Violation(
                f"{name} v{frame.version} has no answer after {PATIENCE_S} s: {shown(frame.data)}"
            )
        self.counts["left waiting"] += 1

    def _check_reason(self, frame: Frame, why: str | None) -> None:
        """Raise Violation unless the log gives the reason why the connection ended: for a malformed
        request, the path of the field. Count the closed connection."""
        end = f" closed: {why}" if why is not None else None

        def is_there(lines: list[str]) -> bool:
            return any(line.endswith(end) if end else " closed: " in line for line in lines)

        if not self.broker.logged(is_there):
            wanted = why or "any reason"
            raise Violation(
                f"the broker closed the connection, but its log does not say {wanted!r}:"
                f" {shown(frame.data)}"
            )
        self.counts["closed"] += 1
        self.counts["closed as malformed"] += why is not None

    def _is_silent(self, frame: Frame) -> bool:
        """Return whether the request is a Produce with acks=0, which has no response."""
        if frame.api_key != ApiKey.PRODUCE:
            return False
        return bool(decode_request(frame.data)[1].acks == 0)

    def _read(self, frame: Frame, raw: bytes) -> Struct:
        """Return the response, decoded. Raise Violation if it is unreadable, has further bytes, or
        has another correlation id than the request."""
        version = frame.version
        if version not in frame.door.served.get(frame.api_key, ()):
            version = 0  # an ApiVersions of an unknown version is answered in version 0 (KIP-511)
        try:
            correlation_id, body = decode_response(raw, frame.api_key, version)
        except Malformed as error:
            raise Violation(f"the answer to {shown(frame.data)} is unreadable: {error}") from None
        if correlation_id != frame.correlation_id:
            raise Violation(
                f"the answer to {frame.correlation_id} has correlation id {correlation_id}"
            )
        self.counts["answers"] += 1
        self.answered[frame.door.name, frame.api_key] += 1
        return body


def shown(frame: bytes) -> str:
    """Return the first bytes of a frame in hexadecimal; the command that reproduces the case yields
    the rest."""
    rest = len(frame) - SHOWN_BYTES
    return frame[:SHOWN_BYTES].hex() + (f"… and {rest} bytes more" if rest > 0 else "")
