"""Find the coordinator of a group or a transactional id, and send it one request after another.

Source: FindCoordinatorRequest.json; KIP-699 (several keys in one request); FindCoordinatorHandler
and the pending requests of TransactionManager.java; AbstractCoordinator.java.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from reference_impl.client.cluster.network import Network, Node
from reference_impl.client.config import Config
from reference_impl.client.errors import ClientError, Refusal, is_retriable
from reference_impl.client.kernel import Kernel
from reference_impl.links.effects import Lane
from reference_impl.links.kernel import Backoff
from reference_impl.links.link import Failure, OnAnswer, OnFailure
from reference_impl.wire import ApiKey, Struct, request_definition

Found = Callable[[Node], None]
NotFound = Callable[[ClientError], None]


class KeyType(IntEnum):
    """The kinds of coordinators, with their numbers in FindCoordinator
    (FindCoordinatorRequest.CoordinatorType)."""

    GROUP = 0
    TRANSACTION = 1


Key = tuple[KeyType, str]


class Coordinators:
    """Finds coordinators, and remembers each until a broker denies being the coordinator or cannot
    be reached."""

    def __init__(self, kernel: Kernel, network: Network, config: Config) -> None:
        self._kernel = kernel
        self._network = network
        self._backoff = Backoff(kernel, config["retry.backoff.ms"], config["retry.backoff.max.ms"])
        self._known: dict[Key, Node] = {}
        self._waiting: dict[Key, list[tuple[Found, NotFound]]] = {}

    def known(self, key: Key) -> Node | None:
        """Return the coordinator, or None if it has not been found."""
        return self._known.get(key)

    def forget(self, key: Key) -> None:
        """Forget the known coordinator of this key, which was not the coordinator or could not be
        reached."""
        self._known.pop(key, None)

    def find(self, key: Key, found: Found, not_found: NotFound) -> None:
        """Call `found` with the coordinator, at once if it is known.

        Call `not_found` only after an answer that makes further attempts useless.
        """
        known = self._known.get(key)
        if known is not None:
            found(known)
            return
        waiting = self._waiting.setdefault(key, [])
        waiting.append((found, not_found))
        if len(waiting) == 1:
            self._look_for(key)

    def ask(
        self,
        key: Key,
        api_key: ApiKey,
        body: Struct,
        on_answer: OnAnswer,
        on_failure: OnFailure,
        not_found: NotFound,
        *,
        lane: Lane = Lane.COORDINATOR,
        timeout_ms: int | None = None,
        version_min: int = 0,
        version_max: int = 1 << 15,
    ) -> None:
        """Send a request to the coordinator of this key, once it is found. If it does not answer,
        forget it, since it may have moved, and call `on_failure`: the next request looks for the
        coordinator again. timeout_ms: None for request.timeout.ms."""

        def failed(failure: Failure) -> None:
            if not failure.is_unsupported:
                self.forget(key)
            on_failure(failure)

        def found(node: Node) -> None:
            self._network.ask(
                node,
                api_key,
                body,
                on_answer,
                failed,
                lane=lane,
                timeout_ms=timeout_ms,
                version_min=version_min,
                version_max=version_max,
            )

        self.find(key, found, not_found)

    def _look_for(self, key: Key) -> None:
        def again(_: Failure | None = None) -> None:
            self._kernel.after(
                self._backoff.fail(), ("find coordinator", *key), lambda: self._look_for(key)
            )

        def answered(answer: Struct) -> None:
            # [New in v4: KIP-699] One row per key; older versions answer in the message itself.
            row = answer.coordinators[0] if answer.coordinators else answer
            if is_retriable(row.error_code):
                again()
                return
            waiting = self._waiting.pop(key)
            if row.error_code:
                error = Refusal(row.error_code, f"looking for the coordinator of {key[1]}")
                for _, not_found in waiting:
                    not_found(error)
                return
            self._backoff.succeed()
            node = self._known[key] = Node(row.node_id, row.host, row.port)
            for found, _ in waiting:
                found(node)

        key_type, name = key
        body = request_definition(ApiKey.FIND_COORDINATOR).new(
            key=name, key_type=key_type, coordinator_keys=[name]
        )
        self._network.ask(
            self._network.least_loaded(),
            ApiKey.FIND_COORDINATOR,
            body,
            answered,
            again,
            version_min=1 if key_type is KeyType.TRANSACTION else 0,
        )


class OneAfterAnother:
    """Sends requests to coordinators, at most one at a time.

    If a request fails, it is over: its coordinator is forgotten, and after a while `is_busy` is
    False again, so that the caller can choose its next request.
    """

    def __init__(
        self,
        kernel: Kernel,
        config: Config,
        coordinators: Coordinators,
        not_found: Callable[[Key, ClientError], None],
    ) -> None:
        self._kernel = kernel
        self._coordinators = coordinators
        self._not_found = not_found
        self.backoff = Backoff(kernel, config["retry.backoff.ms"], config["retry.backoff.max.ms"])
        self.is_busy = False

    def ask(
        self,
        key: Key,
        api_key: ApiKey,
        fields: dict[str, object],
        on_answer: Callable[[Struct], None],
        *,
        version_min: int = 0,
        version_max: int = 1 << 15,
    ) -> None:
        """Send a request to the coordinator of this key, once it is found. Be busy until it is
        answered or has failed; `on_answer` is called only with an answer. If there is no
        coordinator, or it supports no suitable version, call the constructor's `not_found`."""
        self.is_busy = True

        def answered(answer: Struct) -> None:
            self.is_busy = False
            on_answer(answer)

        def not_found(error: ClientError) -> None:
            self.is_busy = False
            self._not_found(key, error)

        def failed(failure: Failure) -> None:
            if failure.is_unsupported:
                not_found(ClientError("UNSUPPORTED_VERSION", failure.reason, fatal=True))
            else:
                self.ask_elsewhere(key)

        self._coordinators.ask(
            key,
            api_key,
            request_definition(api_key).new(**fields),
            answered,
            failed,
            not_found,
            lane=Lane.DATA,
            version_min=version_min,
            version_max=version_max,
        )

    def ask_elsewhere(self, key: Key) -> None:
        """Forget the coordinator, and be busy during a back-off: this broker denies being it or has
        not answered, so the next request looks for it again."""
        self._coordinators.forget(key)
        self.pause(self.backoff.fail())

    def pause(self, delay_ms: int) -> None:
        """Be busy for this many milliseconds, so that the caller sends nothing."""

        def stop_waiting() -> None:
            self.is_busy = False

        self.is_busy = True
        self._kernel.after(delay_ms, ("one after another",), stop_waiting)
