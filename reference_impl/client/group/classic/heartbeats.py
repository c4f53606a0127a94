"""Send heartbeats, which show that the member is alive, and whose responses say when it must join
again.

Source: HeartbeatRequest.json; Heartbeat.java and the heartbeat thread of AbstractCoordinator.java.
"""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.client.cluster.coordinators import Coordinators, Key
from reference_impl.client.config import Config
from reference_impl.client.errors import COORDINATOR_MOVED
from reference_impl.client.kernel import Kernel
from reference_impl.client.values import ConsumerGroupMetadata
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

HEARTBEAT = ("heartbeat",)
SESSION = ("session",)


class Heartbeats:
    """Sends a heartbeat every `heartbeat.interval.ms`, from the answer to JoinGroup on."""

    def __init__(
        self,
        kernel: Kernel,
        config: Config,
        coordinators: Coordinators,
        key: Key,
        member: Callable[[], ConsumerGroupMetadata],
        on_error: Callable[[int], None],
    ) -> None:
        self._kernel = kernel
        self._coordinators = coordinators
        self._key = key
        self._member = member
        self._on_error = on_error
        self._interval_ms: int = config["heartbeat.interval.ms"]
        self._session_timeout_ms: int = config["session.timeout.ms"]

    def start(self) -> None:
        """Start heartbeats, as we are a member."""
        self._kernel.after(self._interval_ms, HEARTBEAT, self._beat)
        self._renew_session()

    def stop(self) -> None:
        """Stop heartbeats, as we are not a member or about to join again."""
        self._kernel.cancel(HEARTBEAT)
        self._kernel.cancel(SESSION)

    def _renew_session(self) -> None:
        self._kernel.after(self._session_timeout_ms, SESSION, self._session_over)

    def _session_over(self) -> None:
        """Find the coordinator again, because it has not answered for a whole session time-out: it
        has removed this member, or is no longer the coordinator."""
        self._coordinators.forget(self._key)
        self._renew_session()

    def _beat(self) -> None:
        self._kernel.after(self._interval_ms, HEARTBEAT, self._beat)
        member = self._member()
        body = request_definition(ApiKey.HEARTBEAT).new(
            group_id=member.group_id,
            generation_id=member.generation_id,
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
        )

        def answered(answer: Struct) -> None:
            if self._member() != member:
                return  # the answer is about an earlier membership
            if answer.error_code == ErrorCode.NONE:
                self._renew_session()
            elif answer.error_code in COORDINATOR_MOVED:
                self._coordinators.forget(self._key)
            else:
                self._on_error(answer.error_code)

        def failed(_: object) -> None:
            """Ignore the failure, since the next heartbeat is due soon."""

        self._coordinators.ask(self._key, ApiKey.HEARTBEAT, body, answered, failed, failed)
