"""The interface of a consumer's membership, whichever of the two group protocols it speaks.

`classic/` speaks the classic one: one of the members assigns the partitions, and all of them stop
for it. `consumer/` speaks that of KIP-848: the coordinator assigns them, and each member moves to
its assignment by itself. The configuration `group.protocol` chooses.

Source: AbstractCoordinator.java, AbstractMembershipManager.java; KIP-62 (poll interval).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from reference_impl.client.cluster.coordinators import Coordinators, KeyType
from reference_impl.client.config import Config
from reference_impl.client.errors import ClientError
from reference_impl.client.group.handover import Handover, Then
from reference_impl.client.group.offsets import GroupOffsets
from reference_impl.client.group.subscription import Subscription
from reference_impl.client.kernel import Kernel
from reference_impl.client.values import ConsumerGroupMetadata

POLL = ("poll",)


class GroupMember(ABC):
    """One consumer as a member of its group, whichever protocol the group speaks."""

    def __init__(
        self, kernel: Kernel, config: Config, subscription: Subscription, coordinators: Coordinators
    ) -> None:
        self._kernel = kernel
        self._config = config
        self._subscription = subscription
        self._coordinators = coordinators
        self._key = (KeyType.GROUP, config["group.id"])
        self._instance_id: str | None = config["group.instance.id"]
        self.offsets = GroupOffsets(kernel, config, coordinators, self.group_metadata, self.evicted)
        self._handover = Handover(kernel, config, subscription, self.offsets)
        self.error: ClientError | None = None
        """The error that the next poll must raise."""

    # --- who we are ---------------------------------------------------------------------------

    @abstractmethod
    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return our identity for the coordinator. `generation_id` is the generation of the classic
        protocol or the member epoch of KIP-848; it is negative while we are not a member."""

    @property
    def is_member(self) -> bool:
        """Return whether the coordinator has accepted us, as far as we know."""
        return self.group_metadata().generation_id >= 0

    @property
    @abstractmethod
    def is_known(self) -> bool:
        """Return whether the coordinator knows us, so that it would wait for us."""

    @property
    @abstractmethod
    def may_read(self) -> bool:
        """Return whether the held partitions belong to this member, and none of them is changing
        hands at this moment."""

    # --- what the consumer tells us -----------------------------------------------------------

    @abstractmethod
    def subscribed(self) -> None:
        """Handle a change of the subscription by the application."""

    def poll_begins(self) -> None:
        """Stop the timer of `max.poll.interval.ms` while the application polls."""
        self._kernel.cancel(POLL)

    def poll_ends(self) -> None:
        """Start the timer of `max.poll.interval.ms`, within which the next poll must come, if the
        coordinator knows us."""
        if self.is_known:
            self._kernel.after(self._config["max.poll.interval.ms"], POLL, self._is_silent)

    @abstractmethod
    def _is_silent(self) -> None:
        """Leave after no poll for `max.poll.interval.ms`, so that others can take our partitions
        (KIP-62)."""

    def change_handled(self) -> None:
        """Continue after the application has handled the last change of its partitions. Raise
        IllegalState if there was no change."""
        self._handover.change_handled()

    @abstractmethod
    def metadata_changed(self) -> None:
        """Handle new metadata, which may have topics that match, or more partitions."""

    @abstractmethod
    def evicted(self, code: int) -> None:
        """Handle an error that says that the coordinator does not count us as a member, or not in
        our generation."""

    def take_error(self) -> ClientError | None:
        """Return the error that occurred since the last poll, or None. Return a fatal error every
        time."""
        error = self.error
        if error is not None and not error.fatal:
            self.error = None
        return error

    # --- what goes on by itself ---------------------------------------------------------------

    @abstractmethod
    def run(self, is_polling: bool) -> None:
        """Take every step that is possible now. Changes that the application may notice are made
        only while it polls."""

    @abstractmethod
    def leave(self, then: Then) -> None:
        """Give everything up, leave the group, and call `then`. A static member keeps its place
        (KIP-345)."""
