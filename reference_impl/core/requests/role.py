"""The fields that a broker and a controller have in common, for requests that both may handle."""

from __future__ import annotations

from typing import Protocol

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.security.authorization.access import Access
from reference_impl.core.security.sasl.tokens import Tokens


class Role(Protocol):
    """A broker, whose image contains only committed records, or a controller, whose image also
    contains its uncommitted decisions."""

    node_id: int
    config: BrokerConfig
    """The configuration in force."""
    started_with: BrokerConfig
    access: Access
    tokens: Tokens

    @property
    def image(self) -> MetadataImage:
        """The cluster's metadata, as this role knows it."""
