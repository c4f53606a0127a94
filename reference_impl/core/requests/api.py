"""The tables of APIs served (`handlers/__init__.py`), and their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reference_impl.core.effects import Effect
from reference_impl.core.events import Request
from reference_impl.wire import ApiKey, ErrorCode, Struct

Handler = Callable[[Any, Request], Iterator[Effect]]
"""The type of a handler. `Any` stands for Broker or Controller, which cannot be named here since
they hold the tables."""
Refuse = Callable[[Request, ErrorCode], Struct]
"""A function that returns the answer refusing a whole request with one error."""


@dataclass(frozen=True, slots=True)
class Api:
    """An API, and the versions of it that are served."""

    handle: Handler
    min_version: int
    max_version: int
    advertised_min_version: int | None = None
    """The lowest version that ApiVersions names, if it is below the lowest served one (Produce, for
    librdkafka: KAFKA-18659)."""
    refuse: Refuse | None = None
    """The function that refuses a request, for APIs whose answers are held until their records are
    replicated (core/waiting/held.py) or committed (core/handlers/forwarding.py)."""
    tells_of_no_decision: bool = False
    """Whether any controller may answer at once, active or not, because the answer depends on the
    quorum and on no decision of the active controller."""

    def serves(self, version: int) -> bool:
        """Return whether this version gets an answer."""
        return self.min_version <= version <= self.max_version


@dataclass(frozen=True, slots=True)
class Served:
    """The APIs that a node serves, by their keys: as a broker, as a controller, and as a member of
    the quorum (on the listener of a controller)."""

    broker: Mapping[int, Api]
    controller: Mapping[int, Api]
    quorum: Mapping[int, Api] = field(default_factory=dict)


ON_EVERY_LISTENER = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)


def tables_of(served: Served) -> tuple[dict[int, Api], dict[int, Api]]:
    """Return two tables of APIs: those of a controllers' listener, and all APIs, for a node's
    requests to itself. In the second, a broker's row replaces the controller's of the same API."""
    of_controllers: dict[int, Api] = {**served.controller, **served.quorum}
    of_controllers |= {key: served.broker[key] for key in ON_EVERY_LISTENER if key in served.broker}
    return of_controllers, {**of_controllers, **served.broker}
