"""The names and ids that the minimal requests of a case contain."""

from __future__ import annotations

import base64
import uuid
from functools import cached_property

from conformance.wire import Topic, Wire, batch


class Subject:
    """The names and ids in the requests of one case: unused ones, and a topic if one is needed."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.name = wire.new_name()
        self.member = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        """The member id: a UUID, since members choose their own ids (KIP-848)."""

    @cached_property
    def topic(self) -> Topic:
        """The topic, with one partition and one record."""
        topic = self.wire.create_topic()
        self.wire.produce(topic, batch(b"a").encode())
        return topic

    def new_name(self) -> str:
        """Return a name for something that one request creates, such as a topic or a group."""
        return self.wire.new_name()
