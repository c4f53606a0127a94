"""The place of a node in the quorum: its ids, addresses and time-outs, which never change, and the
functions by which the quorum notifies the rest of the node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.cluster import AUTO_JOIN
from reference_impl.core.security.listeners import Endpoint


@dataclass(frozen=True, slots=True)
class Settings:
    """The time-outs and limits of a node in the quorum."""

    election_timeout_ms: int
    election_backoff_ms_max: int
    fetch_timeout_ms: int
    request_timeout_ms: int
    retry_backoff_ms: int
    fetch_bytes_max: int
    """The bytes of the log that a follower fetches at once (KIP-1219)."""
    snapshot_bytes_max: int
    """The bytes of a snapshot that a follower fetches at once."""
    append_linger_ms: int
    """The milliseconds for which a leader collects decisions before it writes them to the log; 0
    writes each at once."""
    joins_by_itself: bool = False
    """Whether a controller that is not a voter asks the leader to become one (KIP-1186)."""

    @classmethod
    def of(cls, config: BrokerConfig) -> Settings:
        """Return the settings that the keys `controller.quorum.*` of a configuration give."""

        def number(key: str) -> int:
            return config.number(f"controller.quorum.{key}")

        return cls(
            number("election.timeout.ms"),
            number("election.backoff.max.ms"),
            number("fetch.timeout.ms"),
            number("request.timeout.ms"),
            number("retry.backoff.ms"),
            number("fetch.max.bytes"),
            number("fetch.snapshot.max.bytes"),
            number("append.linger.ms"),
            joins_by_itself=config.flag(AUTO_JOIN) and config.membership().is_controller,
        )

    @property
    def quorum_patience_ms(self) -> int:
        """Return the milliseconds after which a leader resigns if no majority has fetched from it
        (KAFKA-15489)."""
        return self.fetch_timeout_ms * 3 // 2


@dataclass(frozen=True, slots=True)
class Member:
    """The identity of a node in the quorum: its ids, addresses and settings, which never change."""

    node_id: int
    directory_id: UUID
    """The id of the directory that holds the metadata log."""
    cluster_id: str
    settings: Settings
    listener: str = ""
    """The listener on which controllers ask each other."""
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    """The addresses of this node's controller, by listener."""
    bootstrap: Sequence[Endpoint] = ()
    """Controllers that know who leads, for a node that knows nobody yet."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The functions by which the quorum notifies the rest of the node."""

    moved: Callable[[], None]
    """Called when the state or its deadline has changed, or the leader collects a decision: it
    begins the duties that do not run yet."""
    changed: Callable[[], None]
    """Called when the log, its high watermark or the leader has changed."""
    caught_up: Callable[[], None]
    """Called once, when the listeners have been given everything that was committed when this node
    started."""
