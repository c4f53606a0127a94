"""One sentence on the purpose of each configuration key, for DescribeConfigs (KIP-569).

The words are ours; what they say is in Kafka's documentation of broker and topic configurations.
"""

from __future__ import annotations

from reference_impl.core.configs.topic import TOPIC_CONFIGS

_TOPICS = {
    "cleanup.policy": "Whether old records are deleted by age and size (delete), only the newest of"
    " each key is kept (compact), both, or neither.",
    "compression.gzip.level": "The compression level of gzip where the broker compresses; -1: its"
    " default.",
    "compression.lz4.level": "The compression level of lz4, where the broker compresses.",
    "compression.type": "The codec in which batches are stored; producer keeps what arrives.",
    "compression.zstd.level": "The compression level of zstd, where the broker compresses.",
    "delete.retention.ms": "The time for which a tombstone stays after compaction, so that readers"
    " see it.",
    "file.delete.delay.ms": "The time for which a deleted segment's files stay on the disk.",
    "flush.messages": "The number of records after which a log is synced.",
    "flush.ms": "The time after which a log is synced to the disk.",
    "follower.replication.throttled.replicas": "Partition:broker pairs whose followers are"
    " throttled.",
    "index.interval.bytes": "The number of record bytes between two entries of an index.",
    "leader.replication.throttled.replicas": "Partition:broker pairs whose leaders are throttled.",
    "local.retention.bytes": "The bytes of a tiered log that stay on this broker; -2 means"
    " retention.bytes.",
    "local.retention.ms": "The time for which a tiered log stays on this broker; -2 means"
    " retention.ms.",
    "max.compaction.lag.ms": "The age of a record at which its log must be compacted.",
    "max.message.bytes": "The largest size of a compressed record batch.",
    "message.timestamp.after.max.ms": "The longest time by which a record's timestamp may be in the"
    " future.",
    "message.timestamp.before.max.ms": "The longest time by which a record's timestamp may be in"
    " the past.",
    "message.timestamp.type": "Whether a record's timestamp is set by its producer or by the"
    " append.",
    "min.cleanable.dirty.ratio": "The share of a log that must be dirty before it is compacted.",
    "min.compaction.lag.ms": "The age that a record must have before compaction may remove it.",
    "min.insync.replicas": "The number of in-sync replicas without which acks=all is refused.",
    "preallocate": "Whether a segment's file is created with its full size.",
    "remote.log.copy.disable": "Whether a tiered topic stops copying segments.",
    "remote.log.delete.on.disable": "Whether remote data is deleted when tiering is switched off.",
    "remote.storage.enable": "Whether segments are kept in tiered storage.",
    "follower.replication.throttled.rate": "The bytes per second of throttled replicas that a"
    " broker fetches as a follower.",
    "leader.replication.throttled.rate": "The bytes per second of throttled replicas that a broker"
    " sends as a leader.",
    "replication.quota.window.num": "The number of windows over which a rate is measured for"
    " throttled replicas.",
    "replication.quota.window.size.seconds": "The length of one window in which a rate is measured"
    " for throttled replicas.",
    "request.timeout.ms": "The longest time that a marker waits for its replicas.",
    "retention.bytes": "The partition size above which old segments are deleted; -1: no limit.",
    "retention.ms": "The age above which a segment is deleted; -1: no limit.",
    "segment.bytes": "The size at which a new segment begins.",
    "segment.index.bytes": "The largest size of an index; a full one begins a new segment.",
    "segment.jitter.ms": "The longest time by which a segment may be rolled earlier, so that not"
    " all are rolled at once.",
    "segment.ms": "The age at which a new segment begins, even if the old one is not full.",
    "unclean.leader.election.enable": "Whether a replica that is not in sync may lead, which may"
    " lose records.",
}

_GROUPS = {
    "consumer.assignment.interval.ms": "The shortest interval between two target assignments of"
    " this group.",
    "consumer.heartbeat.interval.ms": "The interval of heartbeats from members of this group.",
    "consumer.session.timeout.ms": "The time without a heartbeat after which this group removes a"
    " member.",
}

_CLIENT_METRICS = {
    "interval.ms": "The interval at which a client sends its metrics.",
    "match": "The clients to which the subscription applies, as name=pattern; empty: all.",
    "metrics": "The requested metrics, by the beginning of their names; *: all.",
}

_BROKERS = {
    "add.partitions.to.txn.retry.backoff.max.ms": "The longest time that a batch waits"
    " for the end of its producer's last transaction.",
    "add.partitions.to.txn.retry.backoff.ms": "The time that a batch waits before the"
    " coordinator is asked again whether its producer's last transaction has ended.",
    "advertised.listeners": "The addresses that clients are given to connect to, if not "
    "those of listeners.",
    "allow.everyone.if.no.acl.found": "Whether a resource without any ACL is open to all.",
    "authorizer.class.name": "The class that decides what a principal may do; empty: "
    "everyone may do everything.",
    "auto.create.topics.enable": "Whether a topic is created when a client first requests it.",
    "auto.leader.rebalance.enable": "Whether preferred replicas become leaders again, from time to"
    " time.",
    "background.threads": "Threads for background work; this broker has one thread for everything.",
    "broker.heartbeat.interval.ms": "The interval at which a broker sends heartbeats to the"
    " controller.",
    "broker.rack": "The rack of this broker, shown in Metadata.",
    "broker.session.timeout.ms": "The time without a heartbeat after which the controller fences a"
    " broker.",
    "connection.failed.authentication.delay.ms": "The time by which the response to "
    "a failed authentication is delayed.",
    "connections.max.idle.ms": "The idle time after which a connection is closed.",
    "connections.max.reauth.ms": "The time after which a client must authenticate again; 0: never.",
    "controlled.shutdown.enable": "Whether leadership is handed over before a shutdown.",
    "controller.listener.names": "The names of the controllers' listeners.",
    "controller.quorum.append.linger.ms": "The time for which the active controller collects its"
    " decisions before it writes them to the metadata log.",
    "controller.quorum.auto.join.enable": "Whether a controller becomes a voter by itself.",
    "controller.quorum.bootstrap.servers": "The controllers from which a node learns the voters.",
    "controller.quorum.election.backoff.max.ms": "The longest wait between elections.",
    "controller.quorum.election.timeout.ms": "The time for which an election waits for votes.",
    "controller.quorum.fetch.max.bytes": "The bytes of metadata records that a node fetches at"
    " once.",
    "controller.quorum.fetch.snapshot.max.bytes": "The bytes of a snapshot that a node fetches at"
    " once.",
    "controller.quorum.fetch.timeout.ms": "The time without a fetch from the leader after which"
    " voters elect another.",
    "controller.quorum.request.timeout.ms": "The time for which a voter waits for another's"
    " response.",
    "controller.quorum.retry.backoff.ms": "The time before a voter repeats a request.",
    "controller.quorum.voters": "The voters of the metadata quorum, as id@host:port.",
    "cordoned.log.dirs": "The data directories that get no new partitions; * for all of them.",
    "default.replication.factor": "The default number of replicas of a new topic.",
    "delegation.token.expiry.check.interval.ms": "The interval at which expired delegation tokens"
    " are removed.",
    "delegation.token.expiry.time.ms": "The time after which a delegation token must be renewed.",
    "delegation.token.max.lifetime.ms": "The lifetime of a delegation token, however often it is"
    " renewed.",
    "delegation.token.secret.key": "The secret by which brokers create and check delegation tokens,"
    " the same on all brokers; without it, tokens are disabled.",
    "delete.topic.enable": "Whether topics can be deleted.",
    "fetch.max.bytes": "The largest size of one Fetch response, whatever the request allows.",
    "group.consumer.assignment.interval.ms": "The shortest interval between two target assignments"
    " of a consumer group.",
    "group.consumer.assignor.offload.enable": "Whether assignors run on a thread of their own.",
    "group.consumer.assignors": "The assignors of consumer groups; the first is the default.",
    "group.consumer.heartbeat.interval.ms": "The interval of heartbeats from members of consumer"
    " groups.",
    "group.consumer.max.assignment.interval.ms": "The upper bound of the assignment interval.",
    "group.consumer.max.heartbeat.interval.ms": "The upper bound of the heartbeat interval.",
    "group.consumer.max.session.timeout.ms": "The upper bound of the session timeout.",
    "group.consumer.max.size": "The largest number of members of a consumer group.",
    "group.consumer.migration.policy": "The groups that may change their protocol while they have"
    " members.",
    "group.consumer.min.assignment.interval.ms": "The lower bound of the assignment interval.",
    "group.consumer.min.heartbeat.interval.ms": "The lower bound of the heartbeat interval.",
    "group.consumer.min.session.timeout.ms": "The lower bound of the session timeout.",
    "group.consumer.regex.refresh.interval.ms": "The interval at which subscription patterns are"
    " matched with all topics.",
    "group.consumer.session.timeout.ms": "The time without a heartbeat after which a consumer group"
    " removes a member.",
    "group.coordinator.append.linger.ms": "The time for which the coordinator collects records"
    " before it writes them.",
    "group.coordinator.rebalance.protocols": "The protocols of groups that are served.",
    "group.coordinator.threads": "Threads for groups; this broker has one thread for everything.",
    "group.initial.rebalance.delay.ms": "The time for which an empty group waits for more members.",
    "group.max.session.timeout.ms": "The longest session timeout that a member may ask for.",
    "group.max.size": "The largest number of members of a group.",
    "group.min.session.timeout.ms": "The shortest session timeout that a member may ask for.",
    "initial.broker.registration.timeout.ms": "The time for which a starting broker tries to"
    " register.",
    "inter.broker.listener.name": "The listener over which brokers talk to each other.",
    "listener.security.protocol.map": "The security protocol of each listener.",
    "listeners": "The addresses on which the broker listens, as NAME://host:port.",
    "leader.imbalance.check.interval.seconds": "The interval at which preferred replicas become"
    " leaders again.",
    "log.cleaner.backoff.ms": "The time that the cleaner waits when there is nothing to compact.",
    "log.cleaner.dedupe.buffer.size": "The memory for the keys of one cleaning.",
    "log.cleaner.enable": "Whether logs are compacted at all.",
    "log.cleaner.threads": "Threads that compact; this broker has one thread for everything.",
    "log.dir": "The data directory, if log.dirs is not set.",
    "log.dirs": "The data directories; this broker has one.",
    "log.flush.offset.checkpoint.interval.ms": "The interval at which the broker writes down how"
    " far logs are synced.",
    "log.flush.scheduler.interval.ms": "The interval at which the broker checks whether a log must"
    " be synced.",
    "log.initial.task.delay.ms": "The time after the start at which the broker first looks for old"
    " segments.",
    "log.retention.check.interval.ms": "The interval at which the broker looks for old segments.",
    "log.retention.hours": "The value of log.retention.ms in hours; a value in a finer unit"
    " overrides it.",
    "log.retention.minutes": "The value of log.retention.ms in minutes; log.retention.ms overrides"
    " it.",
    "log.roll.hours": "The value of log.roll.ms in hours; log.roll.ms overrides it.",
    "log.roll.jitter.hours": "The value of log.roll.jitter.ms in hours; log.roll.jitter.ms"
    " overrides it.",
    "max.connection.creation.rate": "The largest number of connections accepted per second.",
    "max.connections": "The largest number of connections; further ones wait.",
    "max.connections.per.ip": "The largest number of connections from one address.",
    "max.connections.per.ip.overrides": "The limits of single addresses, as ADDRESS:NUMBER.",
    "max.incremental.fetch.session.cache.slots": "The largest number of fetch sessions in the"
    " cache.",
    "max.request.partition.size.limit": "The most partitions on a page of DescribeTopicPartitions.",
    "internal.metadata.log.segment.bytes": "The same as metadata.log.segment.bytes, for tests.",
    "metadata.log.max.record.bytes.between.snapshots": "The bytes of committed metadata after which"
    " the next snapshot is written.",
    "metadata.log.max.snapshot.interval.ms": "The age of the last snapshot at which a new"
    " one is written, if metadata has been committed since; 0: no limit.",
    "metadata.log.segment.bytes": "The size at which a segment of the metadata log is closed.",
    "metadata.log.segment.ms": "The age at which a segment of the metadata log is closed.",
    "metadata.max.idle.interval.ms": "The interval at which the active controller writes a record"
    " that changes nothing; 0: never.",
    "metadata.max.retention.bytes": "The size of the metadata log and its snapshots above which the"
    " oldest are deleted.",
    "metadata.max.retention.ms": "The age above which the oldest snapshot is deleted, and the log"
    " before the next one.",
    "node.id": "The id of this node, unique in the cluster.",
    "num.io.threads": "Threads for requests; this broker has one thread for everything.",
    "num.network.threads": "Threads for sockets; this broker has one thread for everything.",
    "num.partitions": "The default number of partitions of a new topic.",
    "num.recovery.threads.per.data.dir": "Threads for recovery at the start.",
    "num.replica.fetchers": "Threads that fetch from one leader.",
    "offset.metadata.max.bytes": "The longest metadata text of a committed offset.",
    "offsets.commit.timeout.ms": "The time for which a response waits for the replicas of"
    " __consumer_offsets.",
    "offsets.retention.check.interval.ms": "The interval at which the broker looks for expired"
    " offsets.",
    "offsets.retention.minutes": "The time for which committed offsets are kept after their last"
    " use.",
    "offsets.topic.compression.codec": "The codec of __consumer_offsets; 0 means uncompressed.",
    "offsets.topic.num.partitions": "The partitions of __consumer_offsets.",
    "offsets.topic.replication.factor": "The replicas of __consumer_offsets.",
    "offsets.topic.segment.bytes": "The segment size of __consumer_offsets.",
    "process.roles": "Whether this process is a broker, a controller, or both.",
    "producer.id.expiration.check.interval.ms": "The interval at which the broker looks for idle"
    " producers.",
    "producer.id.expiration.ms": "The idle time after which a partition forgets a producer.",
    "queued.max.request.bytes": "The memory that incomplete requests may use together; "
    "-1: 512 MiB.",
    "queued.max.requests": "The largest number of requests that wait for a thread.",
    "quota.window.num": "The number of windows over which a rate is measured for quotas.",
    "quota.window.size.seconds": "The length of one window in which a rate is measured for quotas.",
    "replica.fetch.backoff.ms": "The time that a follower waits after a failed fetch.",
    "replica.fetch.max.bytes": "The bytes of one partition that a follower fetches at once.",
    "replica.fetch.min.bytes": "The bytes for which a leader waits before it answers a follower.",
    "replica.fetch.response.max.bytes": "The bytes that a follower fetches at once.",
    "replica.fetch.wait.max.ms": "The longest time that a follower's fetch waits for records.",
    "replica.lag.time.max.ms": "The time for which a follower may lag before it leaves the ISR.",
    "replica.selector.class": "The class that chooses the replica from which consumers read;"
    " empty: the leader.",
    "replica.socket.timeout.ms": "The time for which a follower waits for its leader's response.",
    "sasl.enabled.mechanisms": "The SASL mechanisms that clients may choose from.",
    "sasl.mechanism.controller.protocol": "The SASL mechanism by which nodes log in to"
    " controllers.",
    "sasl.mechanism.inter.broker.protocol": "The SASL mechanism by which brokers log in to each"
    " other.",
    "sasl.server.max.receive.size": "The largest size of one authentication message.",
    "security.inter.broker.protocol": "The protocol that brokers use among themselves, if"
    " inter.broker.listener.name is not set; it is the name of their listener, too.",
    "socket.receive.buffer.bytes": "The receive buffer of a client's socket; "
    "-1: the operating system decides.",
    "socket.request.max.bytes": "The largest size of a request; a larger one ends its connection.",
    "socket.send.buffer.bytes": "The send buffer of a client's socket; "
    "-1: the operating system decides.",
    "ssl.client.auth": "Whether clients must present a certificate.",
    "ssl.endpoint.identification.algorithm": "How the certificate of another node is compared with"
    " its host name; empty: not at all.",
    "ssl.key.password": "The password of the private key.",
    "ssl.keystore.certificate.chain": "The certificate of the broker and its chain, as PEM.",
    "ssl.keystore.key": "The private key of the broker, as PEM.",
    "ssl.keystore.location": "The file with the certificate and the key of the broker.",
    "ssl.keystore.type": "The format of ssl.keystore.location.",
    "ssl.principal.mapping.rules": "The rules that make a client's name of the subject of its"
    " certificate.",
    "ssl.truststore.certificates": "The certificates that are trusted, as PEM.",
    "ssl.truststore.location": "The file with the certificates that are trusted.",
    "ssl.truststore.type": "The format of ssl.truststore.location.",
    "super.users": "The principals that may do everything, separated by semicolons.",
    "telemetry.max.bytes": "The largest compressed size of the metrics that a client pushes at"
    " once.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "The interval at which"
    " the broker looks for transactions that last too long.",
    "transaction.max.timeout.ms": "The longest timeout that a transaction may ask for.",
    "transaction.partition.verification.enable": "Whether a transactional write first verifies"
    " that its transaction is open.",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "The interval at which the broker"
    " looks for idle transactional ids.",
    "transaction.state.log.min.isr": "The min.insync.replicas of __transaction_state.",
    "transaction.state.log.num.partitions": "The partitions of __transaction_state.",
    "transaction.state.log.replication.factor": "The replicas of __transaction_state.",
    "transaction.state.log.segment.bytes": "The segment size of __transaction_state.",
    "transactional.id.expiration.ms": "The idle time after which a transactional id is forgotten.",
    "unclean.leader.election.interval.ms": "The interval at which partitions without a leader get"
    " an unclean one, if their topics allow it.",
}

DOCUMENTATION = {
    **{
        key.synonym: f"The {key.name} of topics without an override. {_TOPICS[key.name]}"
        for key in TOPIC_CONFIGS.values()
        if key.synonym is not None
    },
    **_BROKERS,
    **_TOPICS,
    **_GROUPS,
    **_CLIENT_METRICS,
}
"""Key of a topic or a broker -> one sentence about it. A broker's key that has the same name as a
topic's has the same sentence."""
