"""The common part of a broker and a controller, for requests that both may get."""

from __future__ import annotations

from typing import Protocol

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.security.authorization.access import Access
from reference_impl.core.security.sasl.tokens import Tokens


class Role(Protocol):
    """A broker, which knows what is committed, or a controller, whose image runs ahead."""

    node_id: int
    config: BrokerConfig
    """The configuration in force."""
    started_with: BrokerConfig
    access: Access
    tokens: Tokens

    @property
    def image(self) -> MetadataImage:
        """The cluster, as this role knows it."""
