"""The actions that a client asks of its host, performed strictly in the order in which `step`
returns them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reference_impl.client.errors import ClientError
from reference_impl.client.values import TopicPartition
from reference_impl.links.effects import Effect


@dataclass(frozen=True, slots=True)
class WakeAt(Effect):
    """Deliver Woken at this time of the monotonic clock, instead of an earlier WakeAt."""

    monotonic_ms: int


@dataclass(frozen=True, slots=True, eq=False)
class Complete(Effect):
    """Tell the caller that this call has succeeded, with its answer."""

    call_id: int
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Fail(Effect):
    """Tell the caller that this call has failed, with the error."""

    call_id: int
    error: ClientError


class Change(StrEnum):
    """The kinds of change of a consumer's partitions (ConsumerRebalanceListener)."""

    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"
    """The partitions are lost: another member may have them already, so nothing can be committed
    for them."""


@dataclass(frozen=True, slots=True)
class PartitionsChanged(Effect):
    """Tell the application about a change of its partitions. If it subscribed with a listener, the
    consumer waits for ChangeHandled."""

    change: Change
    partitions: tuple[TopicPartition, ...]
