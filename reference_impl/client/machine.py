"""The common base of producer and consumer: one event goes in, effects come out, in order.

Source: KafkaProducer.java, KafkaConsumer.java: a call on a closed client is an IllegalState, and a
configuration key limits the time of each call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from reference_impl.client.calls import Call
from reference_impl.client.cluster.network import Network
from reference_impl.client.config import Config
from reference_impl.client.errors import ClientError, IllegalState, TimedOut
from reference_impl.client.events import Abandoned, Answered, Called, ConnectionLost, Event, Woken
from reference_impl.client.kernel import Chance, Kernel
from reference_impl.client.rules import CORRECT, ClientRules
from reference_impl.links.effects import Effect


class Machine(ABC):
    """The state machine of a producer or a consumer."""

    noun: ClassVar[str]
    """The machine's name in its error messages."""
    time_limit: ClassVar[str]
    """The configuration key that limits the time of a call."""
    unbounded: ClassVar[tuple[type[Call], ...]]
    """The calls whose time is limited in another way."""
    part_of_closing: ClassVar[tuple[type[Call], ...]] = ()
    """The calls that are still allowed while the client closes."""

    _performers: dict[type[Call], Callable[[int, Any], None]]

    def __init__(self, config: Config, chance: Chance, rules: ClientRules = CORRECT) -> None:
        self._config = config
        self._kernel = Kernel(chance, rules)
        self._network = Network(self._kernel, config)
        self._closing: int | None = None
        self._is_closed = False

    def step(self, event: Event) -> tuple[Effect, ...]:
        """Handle one event, and return all its effects in order. Raise ValueError for an event that
        clients do not have."""
        self._kernel.enter(event)
        match event:
            case Called(call_id=call_id, call=call):
                self._called(call_id, call)
            case Abandoned(call_id=call_id):
                self._kernel.abandon(call_id)
            case Answered(request_id=request_id, body=body):
                self._network.answered(request_id, body)
            case ConnectionLost(destination=destination, reason=reason):
                self._network.connection_lost(destination, reason)
            case Woken():
                self._kernel.run_due()
            case _:
                raise ValueError(f"a {self.noun} cannot handle {event}")
        if not self._is_closed:
            self._run()
        return self._kernel.leave()

    def _called(self, call_id: int, call: Call) -> None:
        self._kernel.open(call_id)
        try:
            is_closing = self._closing is not None and not isinstance(call, self.part_of_closing)
            if self._is_closed or is_closing:
                raise IllegalState(f"the {self.noun} is closed")
            performer = self._performers.get(type(call))
            if performer is None:
                raise IllegalState(f"a {self.noun} cannot perform {type(call).__name__}")
            performer(call_id, call)
        except ClientError as error:
            self._kernel.fail(call_id, error)
        if not isinstance(call, self.unbounded):
            limit_ms = self._config[self.time_limit]
            sentence = f"{type(call).__name__}: not done within {self.time_limit}={limit_ms}"
            self._kernel.fail_after(limit_ms, call_id, TimedOut(sentence))

    @abstractmethod
    def _run(self) -> None:
        """Continue every step that is possible now."""
