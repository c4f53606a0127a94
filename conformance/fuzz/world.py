"""The topics and names that fuzzed frames use. A portable frame means the same on another
cluster."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from conformance.cases.framing.subject import Subject
from conformance.wire import NONCE, Topic, Wire, batch
from reference_impl.wire import ErrorCode

ANY_NONCE = b"0" * 2 * len(NONCE)
ANY_TOPIC_ID = b"id of the topic!"
NEW_NAME = f"touchstone-{NONCE.hex()}-fuzz-000000"
WITNESS = b"a record of somebody else"


class World(Subject):
    """The names and ids in the requests: as in a case, but the same in each run, except for the
    process's nonce."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(wire)
        self.name = f"touchstone-{NONCE.hex()}-fuzz"
        self.member = "dG91Y2hzdG9uZS1mdXp6LQ"
        self._renamed = 0

    @cached_property
    def of_batches(self) -> Topic:
        """The topic that gets the wrong batches. It keeps them, though their timestamps lie in the
        past."""
        return self._topic("batches", {"retention.ms": "-1"})

    @cached_property
    def topic(self) -> Topic:
        topic = self._topic("topic")
        self.wire.produce(topic, batch(b"a").encode())
        return topic

    @cached_property
    def witness(self) -> Topic:
        """A topic that no frame names: what it holds must stay."""
        topic = self._topic("witness")
        self.wire.produce(topic, batch(WITNESS).encode())
        return topic

    def _topic(self, kind: str, config: Mapping[str, str] | None = None) -> Topic:
        """Create a topic, or find the one that this process has created before."""
        name = f"{self.name}-{kind}"
        found = self.wire.topic_metadata(name)
        if found.error_code == ErrorCode.NONE:  # a mutant may have added partitions
            return self.wire.wait_for_topic(name, len(found.partitions))
        return self.wire.create_topic(name=name, config=config)

    def create(self) -> None:
        """Create all topics, unless this process has created them before."""
        for topic in (self.topic, self.witness, self.of_batches):
            assert topic.partitions >= 1

    def new_name(self) -> str:
        return NEW_NAME

    def renamed(self, frame: bytes) -> bytes:
        """Return the frame with a name of its own in the place of NEW_NAME, so that no frame meets
        the group or the topic of another."""
        if NEW_NAME.encode() not in frame:
            return frame
        self._renamed += 1
        name = NEW_NAME[:-6] + f"{self._renamed % 10**6:06d}"
        return frame.replace(NEW_NAME.encode(), name.encode())

    def portable(self, frame: bytes) -> bytes:
        """Return the frame with placeholders for the nonce of this process and the id of this
        topic, as a report names it."""
        return frame.replace(NONCE.hex().encode(), ANY_NONCE).replace(
            self.topic.id.bytes, ANY_TOPIC_ID
        )

    def at_home(self, frame: bytes) -> bytes:
        """Return a portable frame with the nonce of this process and the id of this topic in the
        places of its placeholders."""
        return frame.replace(ANY_NONCE, NONCE.hex().encode()).replace(
            ANY_TOPIC_ID, self.topic.id.bytes
        )
