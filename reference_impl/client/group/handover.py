"""Partitions that a member gains or loses: commit, tell the application, stop reading, in this
order.

Source: ConsumerCoordinator.java (onJoinPrepare, onJoinComplete); ConsumerRebalanceListener.java;
KIP-429 (partitions that are lost are not committed for).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from reference_impl.client.config import Config
from reference_impl.client.effects import Change, PartitionsChanged
from reference_impl.client.errors import IllegalState
from reference_impl.client.group.offsets import GroupOffsets
from reference_impl.client.group.subscription import Subscription
from reference_impl.client.kernel import Kernel
from reference_impl.client.values import TopicPartition

Then = Callable[[], None]
"""A function to call after the application was told of a change and, if it has a listener, has
handled it."""


class Handover:
    """Changes of the partitions that one member holds, one after another."""

    def __init__(
        self, kernel: Kernel, config: Config, subscription: Subscription, offsets: GroupOffsets
    ) -> None:
        self._kernel = kernel
        self._commits: bool = config["enable.auto.commit"]
        self._subscription = subscription
        self._offsets = offsets
        self._is_giving_up = False
        """Whether partitions are being committed and revoked; until that is done, no other change
        begins."""
        self._after_change: Then | None = None

    @property
    def is_with_application(self) -> bool:
        """Return whether the application was told of a change and has not yet handled it."""
        return self._after_change is not None

    @property
    def is_under_way(self) -> bool:
        """Return whether a change has begun and is not over."""
        return self._is_giving_up or self.is_with_application

    def drop(self) -> None:
        """Drop the change in progress with the callbacks that wait for it."""
        self._after_change, self._is_giving_up = None, False

    def change_handled(self) -> None:
        """Continue after the application has handled the last change of its partitions. Raise
        IllegalState if there was no change."""
        if self._after_change is None:
            raise IllegalState("there is no change of partitions to be handled")
        then, self._after_change = self._after_change, None
        then()

    def give_up(self, partitions: Iterable[TopicPartition], is_member: bool, then: Then) -> None:
        """Commit all positions (`enable.auto.commit`, and only as a member), tell the application,
        release these partitions, and call `then`. A commit that fails stops nothing."""
        gone = tuple(sorted(partitions))
        self._is_giving_up = True
        self._subscription.revoke(gone)

        def let_go() -> None:
            self._is_giving_up = False
            self._subscription.hold(self._subscription.partitions.keys() - set(gone))
            then()

        def tell(_: object = None) -> None:
            self._tell(Change.REVOKED, gone, let_go)

        if self._commits and is_member:
            # A commit that fails means that records are read again: at least once, as promised.
            # The member epoch may change meanwhile (KIP-848), but nobody else gets what we hold.
            self._offsets.commit(self._subscription.positions(), tell, follows_epoch=True)
        else:
            tell()

    def lose(self, then: Then) -> None:
        """Release all partitions, report them as lost, since other members may have them by now,
        and call `then`."""
        lost = tuple(sorted(self._subscription.partitions))
        self._subscription.hold(())
        self._tell(Change.LOST, lost, then)

    def take(self, assigned: Collection[TopicPartition], new: Iterable[TopicPartition]) -> None:
        """Read the assigned partitions from now on, and report the new ones among them."""
        self._subscription.hold(assigned)
        self._tell(Change.ASSIGNED, tuple(sorted(new)), lambda: None)

    def _tell(self, change: Change, partitions: tuple[TopicPartition, ...], then: Then) -> None:
        if not partitions:
            then()
            return
        self._kernel.emit(PartitionsChanged(change, partitions))
        if self._subscription.is_listening:
            self._after_change = then
        else:
            then()
