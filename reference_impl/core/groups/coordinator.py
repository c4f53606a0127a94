"""The group coordinator. Groups are not served yet: no group API is in the table of handlers."""

from __future__ import annotations
from collections.abc import Iterator
from typing import Any
from reference_impl.core.effects import Effect

TIMER = "group"


class GroupCoordinator:
    def __init__(self, broker: Any) -> None: ...
    def start(self) -> Iterator[Effect]:
        yield from ()

    def stop(self) -> Iterator[Effect]:
        yield from ()

    def forget_topic(self, name: str) -> None: ...
    def timer_fired(self, key: Any) -> Iterator[Effect]:
        yield from ()
