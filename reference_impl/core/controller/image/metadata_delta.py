"""Deltas: the changes of the cluster between two moments, which brokers put in force.

Source: MetadataDelta.java, TopicsDelta.java, ConfigurationsDelta.java. The net change counts: a
topic that was created and removed in between is in no delta. Parts that are read from the image at
each use (ACLs, quotas, credentials of SCRAM, groups' configurations) are only marked as changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from uuid import UUID

from reference_impl.core.controller.image.image_records import changes_to
from reference_impl.core.controller.image.metadata_image import MetadataImage, TopicImage
from reference_impl.wire import Struct


class Part(Enum):
    """The parts of a cluster's metadata. `metadata/publishing.py` has the order in which those that
    a broker acts upon are put in force."""

    CONFIGS = auto()
    REMOVED_TOPICS = auto()
    NEW_TOPICS = auto()
    PARTITIONS = auto()
    ACLS = auto()
    CLIENT_QUOTAS = auto()
    SCRAM_USERS = auto()
    DELEGATION_TOKENS = auto()
    PRODUCER_IDS = auto()
    FEATURES = auto()
    BROKERS = auto()
    CONTROLLERS = auto()


class MetadataDelta:
    """Brings an image up to date in place, and keeps what has changed in it since the delta was
    made."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.parts: set[Part] = set()
        self.new_topics: dict[UUID, None] = {}
        self.removed_topics: dict[UUID, TopicImage] = {}
        self.partitions: dict[UUID, dict[int, None]] = {}
        """The partitions that are new or changed, by topic id; the inner dict is an ordered set of
        indexes."""
        self.configs: dict[tuple[int, str], None] = {}
        """The resources whose configuration has changed: type and name."""
        self.delegation_tokens: dict[str, None] = {}
        """The ids of the tokens that are new, changed or gone."""

    def apply(
        self, records: Sequence[Struct], end_offset: int, *, is_snapshot: bool = False
    ) -> None:
        """Apply these records of the metadata log, which end at this offset, to the image. The
        records of a snapshot describe the whole cluster, so remove everything that they do not name
        (MetadataDelta.finishSnapshot)."""
        for record in changes_to(self.image, records) if is_snapshot else records:
            part, note = _NOTES.get(type(record).__name__, (None, None))
            if note is not None:
                note(self, record)
            self.image.apply(record)
            if part is not None:
                self.parts.add(part)
        self.image.end_offset = end_offset

    def _new_topic(self, record: Struct) -> None:
        self.new_topics[record.topic_id] = None

    def _partition(self, record: Struct) -> None:
        self.partitions.setdefault(record.topic_id, {})[record.partition_id] = None

    def _cleared_elr(self, record: Struct) -> None:
        names = [record.topic_name] if record.topic_name else list(self.image.topics)
        for name in names:
            topic = self.image.topics[name]
            self.partitions.setdefault(topic.topic_id, {}).update(dict.fromkeys(topic.partitions))

    def _removed_topic(self, record: Struct) -> None:
        self.partitions.pop(record.topic_id, None)
        if record.topic_id in self.new_topics:
            del self.new_topics[record.topic_id]
        else:
            self.removed_topics[record.topic_id] = self.image.topics_by_id[record.topic_id]

    def _config(self, record: Struct) -> None:
        self.configs[record.resource_type, record.resource_name] = None

    def _delegation_token(self, record: Struct) -> None:
        self.delegation_tokens[record.token_id] = None


_Note = Callable[[MetadataDelta, Struct], None] | None
_NOTES: dict[str, tuple[Part, _Note]] = {
    "TopicRecord": (Part.NEW_TOPICS, MetadataDelta._new_topic),
    "PartitionRecord": (Part.PARTITIONS, MetadataDelta._partition),
    "PartitionChangeRecord": (Part.PARTITIONS, MetadataDelta._partition),
    "RemoveTopicRecord": (Part.REMOVED_TOPICS, MetadataDelta._removed_topic),
    "ConfigRecord": (Part.CONFIGS, MetadataDelta._config),
    "DelegationTokenRecord": (Part.DELEGATION_TOKENS, MetadataDelta._delegation_token),
    "RemoveDelegationTokenRecord": (Part.DELEGATION_TOKENS, MetadataDelta._delegation_token),
    "AccessControlEntryRecord": (Part.ACLS, None),
    "RemoveAccessControlEntryRecord": (Part.ACLS, None),
    "UserScramCredentialRecord": (Part.SCRAM_USERS, None),
    "RemoveUserScramCredentialRecord": (Part.SCRAM_USERS, None),
    "ClientQuotaRecord": (Part.CLIENT_QUOTAS, None),
    "FeatureLevelRecord": (Part.FEATURES, None),
    "ProducerIdsRecord": (Part.PRODUCER_IDS, None),
    "ClearElrRecord": (Part.PARTITIONS, MetadataDelta._cleared_elr),
    "RegisterBrokerRecord": (Part.BROKERS, None),
    "UnregisterBrokerRecord": (Part.BROKERS, None),
    "BrokerRegistrationChangeRecord": (Part.BROKERS, None),
    "FenceBrokerRecord": (Part.BROKERS, None),
    "UnfenceBrokerRecord": (Part.BROKERS, None),
    "RegisterControllerRecord": (Part.CONTROLLERS, None),
}
"""Each record that the image applies: the part that it changes, and what the delta notes."""
