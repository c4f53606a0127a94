"""Send a request to the active controller, wherever it is, until it is answered or the time is
over.

Source: NodeToControllerChannelManagerImpl.java, which sends again after NOT_CONTROLLER and after a
lost connection, to the controller that is active by then. So a request may be handled twice;
callers must send only requests for which that is harmless.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect
from reference_impl.core.refused import Refused
from reference_impl.core.waiting.waits import Answer, Later, Unanswered
from reference_impl.links.effects import Lane
from reference_impl.wire import ApiKey, ErrorCode, Struct

RETRY_BACKOFF_MS = 50
REQUEST_TIMEOUT_MS = 30_000
"""The milliseconds to wait for one controller's answer before asking the controller that is active
then."""


def ask_controller(
    broker: Broker, api_key: ApiKey, body: Struct, timeout_ms: int
) -> Generator[Effect, Any, Struct]:
    """Send a request to the active controller, and return its answer, which may hold an error. Send
    it again after NOT_CONTROLLER, after a lost connection, and if no answer has come within
    REQUEST_TIMEOUT_MS. Raise Refused(REQUEST_TIMED_OUT) if none has come within timeout_ms, and
    Unanswered(UNSUPPORTED_VERSION) if the controller does not support the request."""
    end_ms = broker.monotonic_ms + timeout_ms
    why = "no controller is known"
    while (left_ms := end_ms - broker.monotonic_ms) > 0:
        controller = broker.controller_id
        if controller is not None:
            try:
                patience_ms = min(left_ms, REQUEST_TIMEOUT_MS)
                answer = cast(
                    "Struct",
                    (yield Answer(controller, api_key, body, patience_ms, Lane.CONTROLLER)),
                )
                if getattr(answer, "error_code", ErrorCode.NONE) != ErrorCode.NOT_CONTROLLER:
                    return answer
                why = f"node {controller} is not the active controller"
            except Unanswered as unanswered:
                if unanswered.code is ErrorCode.UNSUPPORTED_VERSION:
                    raise
                why = str(unanswered)
        yield Later(min(RETRY_BACKOFF_MS, end_ms - broker.monotonic_ms))
    raise Refused(
        ErrorCode.REQUEST_TIMED_OUT, f"no active controller answered within {timeout_ms} ms: {why}"
    )
