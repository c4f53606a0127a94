"""The state of one broker and the current moment, which all handlers share.

A handler is a generator over effects: `handle_x(broker, request)`. It reads and changes this state;
it never talks to the outside except through what it yields and through `Storage`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.dynamic import config_in_force
from reference_impl.core.controller.activation import activate
from reference_impl.core.controller.controller import Controller, Seat
from reference_impl.core.controller.features import check_levels
from reference_impl.core.controller.image.metadata_delta import MetadataDelta
from reference_impl.core.controller.image.metadata_image import MetadataImage, TopicImage
from reference_impl.core.controller.producer_id_blocks import allocate_block
from reference_impl.core.effects import Effect, Report
from reference_impl.core.events import Event, Request
from reference_impl.core.groups.group_log import TOPIC as GROUPS_TOPIC
from reference_impl.core.groups.service import GroupCoordinators
from reference_impl.core.groups.settings import GroupSettings
from reference_impl.core.groups.settings import Shared as GroupsShared
from reference_impl.core.log.cleaning.cleaner import Cleaner
from reference_impl.core.log.directories import stray_directories
from reference_impl.core.log.directories.data_directory import DataDirectory
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.metadata.publishing import put_in_force, reports
from reference_impl.core.moment import Moment
from reference_impl.core.partitions.fetch_sessions import FetchSessions
from reference_impl.core.partitions.keyed_topic import KeyedTopic
from reference_impl.core.partitions.partition import Holder, Partition
from reference_impl.core.partitions.purgatory import Purgatory
from reference_impl.core.partitions.replicas import Replicas
from reference_impl.core.quorum import duties
from reference_impl.core.quorum.elections.election_state import ElectionFile
from reference_impl.core.quorum.member import Hooks, Member, Settings
from reference_impl.core.quorum.metadata_log import METADATA, MetadataLog, log_config
from reference_impl.core.quorum.metadata_transactions import Committed
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.quorum.snapshots.formatting import first_records
from reference_impl.core.quorum.voters.configured import configured_voters
from reference_impl.core.quotas.replication import FOLLOWER, LEADER, ReplicationQuota
from reference_impl.core.quotas.throttling import Throttles
from reference_impl.core.replication.copying import Copying
from reference_impl.core.replication.fetching import Follower, Followers
from reference_impl.core.requests.api import Api, Served, tables_of
from reference_impl.core.rules import Rules
from reference_impl.core.security.authorization.access import Access
from reference_impl.core.security.connection_listeners import ConnectionListeners
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.security.principals import Principals
from reference_impl.core.security.sasl.authentication import Authentication
from reference_impl.core.security.sasl.tokens import Tokens
from reference_impl.core.storage import Storage
from reference_impl.core.telemetry import Telemetry
from reference_impl.core.transactions.coordinator import Shared as TransactionsShared
from reference_impl.core.transactions.markers import MarkerWriter
from reference_impl.core.transactions.producer_ids import ProducerIds, Reserved
from reference_impl.core.transactions.service import TransactionCoordinators
from reference_impl.core.transactions.transaction_log import TOPIC as TRANSACTIONS_TOPIC
from reference_impl.core.waiting.waits import Outbox
from reference_impl.links.effects import Lane


class Broker:
    """The state of one broker after it has started."""

    is_stopping = False
    """Whether this broker is shutting down. It ends as soon as other brokers lead the partitions
    that it leads now, or the controller refuses that or does not answer in time."""

    def __init__(
        self,
        config: BrokerConfig,
        storage: Storage,
        directory: str,
        advertised: Endpoint,
        rules: Rules,
        apis: Served,
        moment: Event,
        also_advertised: Mapping[str, Endpoint] | None = None,
    ) -> None:
        self.started_with = self.config = config
        self.node_id = config.node_id
        self.connection_listeners = ConnectionListeners(
            config.listeners(), config.controller_listeners(), also_advertised or {}, advertised
        )
        self.rules = rules
        self.apis = apis.broker
        self.membership = config.membership()
        self._controllers_apis, self._own_apis = tables_of(apis)
        self.moment = Moment(moment)
        self.incarnation_id, self.broker_epoch = self.random_uuid(), -1
        """The id of this process, and the epoch of its registration, -1 before it is registered."""
        self.is_registered = False
        """Whether the metadata in force contain the registration of this process. Until then the
        broker leads no partition."""
        self.data_directory = DataDirectory.open(
            storage, directory, self.node_id, self.random_uuid, may_format=self.membership.is_alone
        )
        self.logs = LogDirectory(storage, directory, rules)
        self.sends_from_files = storage.sends_from_files
        self.cleaner = Cleaner(storage, self.logs, rules)
        self.outbox, self.purgatory = Outbox(), Purgatory()
        self.quorum = self._quorum(storage)
        self.image = MetadataImage()
        """The cluster, as of the newest metadata record that is committed."""
        self.principals = Principals()
        self.access = Access(config, self.image.acls, self.principals)
        first = first_records(storage, directory)
        seat = Seat(config, self.cluster_id, apis.controller, directory, first)
        self.controller = Controller(seat, self.quorum, self.moment, rules, self.access)
        self._is_built, self._has_caught_up = False, False
        self._delta = MetadataDelta(self.image)
        self._begin_quorum()
        self.replicas = Replicas(
            self.logs, self.config.topic_defaults, lambda: self.now_ms, self._holder()
        )
        self.proposals: dict[Partition, None] = {}
        """The partitions whose ISR the controller is still to be asked to change."""
        self.leader_quota = self._replication_quota(LEADER)
        self.followers = self._followers()
        self.tokens = Tokens(self.image.delegation_tokens, self.moment, config)
        self.authentication = Authentication(
            self.image.scram_users, self.tokens, self.principals, self.moment
        )
        self.telemetry = Telemetry(self.image, self.moment, self._now_in_force)
        self.throttles = Throttles(config, self.image.client_quotas, self.principals)
        self.fetch_sessions = FetchSessions(
            config.number("max.incremental.fetch.session.cache.slots"),
            rules.renewed,
            self.purgatory,
        )
        self.groups = self._group_coordinators()
        self.markers = MarkerWriter(rules, self.moment, self.replicas, self.groups, self.image)
        self.producer_ids = ProducerIds(self._reserve_producer_ids, self._is_reserved)
        self.transactions = self._transaction_coordinators()
        self._is_built = True
        self._apply_what_came()

    def _quorum(self, storage: Storage) -> Quorum:
        """Return this node's `Quorum` of the metadata log, without beginning it."""
        log = MetadataLog(
            self.logs,
            self.now_ms,
            log_config(self.started_with),
            configured_voters(self.membership),
        )
        return Quorum(
            Member(
                self.node_id,
                self.data_directory.directory_id,
                self.cluster_id,
                Settings.of(self.started_with),
                self.membership.controller_listener or "",
                {name: at for name, (at, _) in self.connection_listeners.of_controllers.items()},
                self.membership.bootstrap,
            ),
            log,
            ElectionFile(storage, log.log.directory, log.voters),
            self.moment,
            self.rules,
            Hooks(
                lambda: duties.begin(self.quorum, self.outbox),
                lambda: self.purgatory.note_change(*METADATA),
                lambda: self._caught_up(storage),
            ),
        )

    def _begin_quorum(self) -> None:
        """Read the metadata log as far as it is known to be committed, and put the node's dynamic
        configuration in force. If this node is the only voter, start its controller."""
        self.quorum.listen(self)
        self.quorum.start()
        if self.quorum.is_leader:
            activate(self.controller)
        self.config = config_in_force(self.started_with, self.image, self.node_id)

    def _caught_up(self, storage: Storage) -> None:
        """Set aside partitions that belong to no topic, and apply the metadata from now on: before,
        a topic that is missing in the image may be merely new (BrokerMetadataPublisher). Raise
        UnsupportedLevel, before anything is changed, if this version does not know a feature level
        of the cluster."""
        check_levels(self.image.features, self.logs.path)
        strays = list(
            stray_directories.set_aside(
                storage, self.logs.path, self.node_id, self.image.topics, self.random_uuid
            )
        )
        self.outbox.post("strays", (Report(stray) for stray in strays))
        self._has_caught_up = True
        if self._is_built:
            self._apply_what_came()

    def _holder(self) -> Holder:
        return Holder(
            self.node_id,
            self.rules.high_watermark,
            self.purgatory.note_change,
            lambda leader: self.rules.acts_as_leader(
                leader, self.node_id, is_registered=self.is_registered
            ),
            self.rules.maximal_isr,
            self._is_joining,
            lambda: self.monotonic_ms,
            heard_ms={},
            outsiders={},
        )

    def _is_joining(self, partition: Partition, replica: int) -> bool:
        """Return whether the leader will soon propose a replica for the ISR."""
        epoch = partition.followers[replica].broker_epoch
        may_join = self.rules.may_join_isr(self.image.brokers.get(replica), epoch)
        return may_join and self.is_caught_up(partition, replica)

    def is_caught_up(self, partition: Partition, replica: int) -> bool:
        """Return whether a follower of a partition that this broker leads may be in the ISR: it has
        every record of the leader's log, or had all of them within the last
        replica.lag.time.max.ms."""
        follower = partition.followers[replica]
        return self.rules.is_caught_up(
            follower.log_end_offset,
            partition.log.log_end_offset,
            self.monotonic_ms - follower.caught_up_ms,
            self.config.number("replica.lag.time.max.ms"),
        )

    def _followers(self) -> Followers:
        quota = self._replication_quota(FOLLOWER)
        follower = Follower(self.node_id, lambda: self.broker_epoch, self._now_in_force, quota)
        copying = Copying(self.rules, self.moment, self.logs)
        return Followers(follower, self.replicas, copying, self.moment, self.outbox)

    def _replication_quota(self, side: str) -> ReplicationQuota:
        return ReplicationQuota(side, self.node_id, self._now_in_force, self.image)

    def _group_coordinators(self) -> GroupCoordinators:
        settings = GroupSettings(self._now_in_force, self.image)
        shared = GroupsShared(self.image, self.moment, self.rules, settings, self.access)
        return GroupCoordinators(self._keyed_topic(GROUPS_TOPIC), shared, self.outbox)

    def _transaction_coordinators(self) -> TransactionCoordinators:
        shared = TransactionsShared(
            self.outbox,
            self.markers,
            self.moment,
            self.rules,
            self._now_in_force,
            self.producer_ids,
        )
        return TransactionCoordinators(self._keyed_topic(TRANSACTIONS_TOPIC), shared)

    def _reserve_producer_ids(self) -> Reserved | None:
        epoch = self.quorum.active_epoch
        if epoch is None:
            return None
        block = allocate_block(self.controller, self.node_id, self.broker_epoch)
        return Reserved(block, self.controller.image.end_offset, epoch)

    def _is_reserved(self, block: Reserved) -> bool:
        self.rules.check_still_decides(block.decided_in, self.quorum.active_epoch)
        return self.image.end_offset >= block.end_offset

    def _keyed_topic(self, name: str) -> KeyedTopic:
        return KeyedTopic(name, self.image, self.replicas, self.moment)

    def _now_in_force(self) -> BrokerConfig:
        """Return the configuration in force: the settings with which the broker was started,
        overridden by the changes made since."""
        return self.config

    # --- the current moment -------------------------------------------------------------------

    @property
    def now_ms(self) -> int:
        """The wall clock of the current event."""
        return self.moment.now_ms

    @property
    def monotonic_ms(self) -> int:
        """The monotonic clock of the current event, which does not jump when the machine's time is
        set."""
        return self.moment.monotonic_ms

    def random_bytes(self, count: int) -> bytes:
        """Return this many bytes (at most 64), drawn from the entropy of the current event and
        different at each call."""
        return self.moment.random_bytes(count)

    def random_uuid(self) -> UUID:
        """Return a random UUID (version 4)."""
        return self.moment.random_uuid()

    def advertised_to(self, request: Request) -> Endpoint:
        """Return this broker's address for the sender of the request: that of the listener it
        connected to (KIP-103)."""
        return self.connection_listeners.advertised_to(request.connection)

    def address_of(self, node_id: int, lane: Lane) -> Endpoint | None:
        """Return another node's address for requests of this lane: on lanes to controllers, the one
        that the quorum knows; on others, the one with which the broker has registered (KIP-595,
        KIP-631). Return None if it is unknown."""
        if lane.leads_to_controllers:
            return self.quorum.endpoint_of(node_id)
        broker = self.image.brokers.get(node_id)
        return (
            None if broker is None else broker.listeners.get(self.membership.between_brokers or "")
        )

    def apis_for(self, connection: int) -> Mapping[int, Api]:
        """Return the APIs that are served on a connection, which depend on its listener. This
        node's requests to itself have no connection, but a negative number in its place."""
        if connection < 0:
            return self._own_apis
        is_for_controllers = self.connection_listeners.is_for_controllers(connection)
        return self._controllers_apis if is_for_controllers else self.apis

    # --- metadata -----------------------------------------------------------------------------

    @property
    def cluster_id(self) -> str:
        """The id that the cluster got with its first data directory (KIP-78)."""
        return self.data_directory.cluster_id

    @property
    def is_unfenced(self) -> bool:
        """Return whether the controller counts this process among the brokers that serve clients,
        as far as this broker knows."""
        own = self.image.brokers.get(self.node_id)
        return own is not None and own.incarnation_id == self.incarnation_id and not own.fenced

    @property
    def controller_id(self) -> int | None:
        """The node whose controller is active, as far as this broker knows: it leads the quorum.
        None if the leader is unknown."""
        return self.quorum.leader_id

    def committed(self, batch: Committed) -> None:
        """Apply committed metadata records to the image. Put them in force if the broker is built
        and has caught up with the metadata log; otherwise they wait until both are so."""
        self._delta.apply(batch.records, batch.end_offset, is_snapshot=batch.is_snapshot)
        if self._is_built:
            self._apply_what_came()

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Let the controller of this node begin when it has become the active one."""
        if self._is_built and leader_id == self.node_id:
            activate(self.controller)

    @property
    def applied_end_offset(self) -> int:
        """The offset after the last metadata record that is in force here, 0 until this node has
        caught up."""
        return self.image.end_offset if self._has_caught_up else 0

    def _apply_what_came(self) -> None:
        if not self._has_caught_up:
            return
        delta, self._delta = self._delta, MetadataDelta(self.image)
        self.apply(delta)
        self.purgatory.note_change(*METADATA)

    def apply(self, delta: MetadataDelta) -> None:
        """Act upon what `delta` changed; the image has the change already."""
        put_in_force(self, delta)

    # --- partitions ---------------------------------------------------------------------------

    def led_partition(self, name: str, topic_id: UUID | None, index: int) -> Partition:
        """Return the partition, which this broker leads, or raise Refused with the reason. An empty
        `name` means the topic with `topic_id`."""
        return self.replicas.led(self.image, name, topic_id, index)

    def topic_configs(self, topic: TopicImage) -> Mapping[str, str]:
        """Return the configuration in force for a topic."""
        return {**self.config.topic_defaults, **topic.configs}

    def start(self) -> Iterator[Effect]:
        """Report what recovery found, and start the timers of transactions."""
        yield from reports(self.logs)
        for note in self.quorum.log.snapshots.notes:
            yield Report(note)
        yield from self.transactions.start()

    def stop(self) -> None:
        """Shut down cleanly: write everything to disk, and last the file that marks a clean
        shutdown, unless the next start must check the logs. Raise StorageError if the disk
        fails."""
        for key in self.replicas.leaving():
            self.replicas.remove(key)
        self.logs.close(broker_epoch=self.broker_epoch)
