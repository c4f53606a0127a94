"""One sentence on the purpose of each configuration key, for DescribeConfigs (KIP-569).

The words are ours; what they say is in Kafka's documentation of broker and topic configurations.
"""

from __future__ import annotations

from reference_impl.core.configs.topic import TOPIC_CONFIGS

_TOPICS = {
    "cleanup.policy": "What becomes of old records: delete them by age and size, keep the newest of"
    " each key (compact), both, or neither.",
    "compression.gzip.level": "How hard gzip tries, where the broker compresses; -1: its default.",
    "compression.lz4.level": "How hard lz4 tries, where the broker compresses.",
    "compression.type": "The codec in which batches are stored; producer keeps what arrives.",
    "compression.zstd.level": "How hard zstd tries, where the broker compresses.",
    "delete.retention.ms": "How long a tombstone outlives its cleaning, so that readers see it.",
    "file.delete.delay.ms": "How long a file that is not needed any more stays on the disk.",
    "flush.messages": "After how many records a log is synced to the disk.",
    "flush.ms": "After which time a log is synced to the disk.",
    "follower.replication.throttled.replicas": "Partition:broker pairs whose followers are slowed.",
    "index.interval.bytes": "How many bytes of records lie between two entries of an index.",
    "leader.replication.throttled.replicas": "Partition:broker pairs whose leaders are slowed.",
    "local.retention.bytes": "How much of a tiered log stays here; -2 means retention.bytes.",
    "local.retention.ms": "How long a tiered log stays here; -2 means retention.ms.",
    "max.compaction.lag.ms": "How old a record may become before its log must be compacted.",
    "max.message.bytes": "How large a record batch may be, compressed.",
    "message.timestamp.after.max.ms": "How far a record's timestamp may lie in the future.",
    "message.timestamp.before.max.ms": "How far a record's timestamp may lie in the past.",
    "message.timestamp.type": "Whose time a record carries: its producer's, or that of the append.",
    "min.cleanable.dirty.ratio": "Which part of a log must be dirty for it to be compacted.",
    "min.compaction.lag.ms": "How old a record must be before compaction may remove it.",
    "min.insync.replicas": "How many replicas must be in sync for acks=all to be accepted.",
    "preallocate": "Whether a segment's file is made in its full size.",
    "remote.log.copy.disable": "Whether a tiered topic stops copying segments.",
    "remote.log.delete.on.disable": "Whether remote data goes when tiering is switched off.",
    "remote.storage.enable": "Whether segments are kept in tiered storage.",
    "request.timeout.ms": "How long a marker waits for its replicas.",
    "retention.bytes": "How large a partition may grow before old segments go; -1: no limit.",
    "retention.ms": "How old a segment may grow before it goes; -1: no limit.",
    "segment.bytes": "The size at which a new segment begins.",
    "segment.index.bytes": "The largest size of an index; a full one begins a new segment.",
    "segment.jitter.ms": "How much earlier a segment may be rolled, so that not all are at once.",
    "segment.ms": "The age at which a new segment begins, even if the old one is not full.",
    "unclean.leader.election.enable": "Whether a replica that is not in sync may lead, which may"
    " lose records.",
}

_GROUPS = {
    "consumer.assignment.interval.ms": "How often this group may get a new target.",
    "consumer.heartbeat.interval.ms": "How often members of this group are to report.",
    "consumer.session.timeout.ms": "After which silence this group drops a member.",
}

_CLIENT_METRICS = {
    "interval.ms": "How often a client sends its metrics.",
    "match": "Which clients are asked, as name=pattern; empty: all.",
    "metrics": "Which metrics are asked for, by the beginning of their names; *: all.",
}

_BROKERS = {
    "add.partitions.to.txn.retry.backoff.max.ms": "How long a batch waits at most for the"
    " end of its producer's last transaction.",
    "add.partitions.to.txn.retry.backoff.ms": "How long a batch waits before the"
    " coordinator is asked again whether its producer's last transaction has ended.",
    "advertised.listeners": "The addresses that clients are given to connect to, if not "
    "those of listeners.",
    "allow.everyone.if.no.acl.found": "Whether a resource without any ACL is open to all.",
    "authorizer.class.name": "The class that decides what a principal may do; empty: "
    "everyone may do everything.",
    "auto.create.topics.enable": "Whether a topic that is asked for is created.",
    "auto.leader.rebalance.enable": "Whether first replicas are made leaders again, from time to"
    " time.",
    "background.threads": "Threads for background work; this broker has one thread for everything.",
    "broker.heartbeat.interval.ms": "How often a broker tells the controller that it is alive.",
    "broker.rack": "The rack of this broker, shown in Metadata.",
    "broker.session.timeout.ms": "After which silence the controller fences a broker.",
    "connection.failed.authentication.delay.ms": "How long the answer to a failed "
    "authentication is delayed.",
    "connections.max.idle.ms": "After which silence a connection is closed.",
    "connections.max.reauth.ms": "After which time a client must authenticate again; 0: never.",
    "controlled.shutdown.enable": "Whether leadership is handed over before a shutdown.",
    "controller.listener.names": "The listeners on which controllers talk.",
    "controller.quorum.bootstrap.servers": "Controllers that tell a node who the voters are.",
    "controller.quorum.election.backoff.max.ms": "The longest wait between elections.",
    "controller.quorum.election.timeout.ms": "How long an election waits for votes.",
    "controller.quorum.fetch.snapshot.max.bytes": "How much of a snapshot a node fetches at once.",
    "controller.quorum.fetch.timeout.ms": "After which silence of the leader voters elect another.",
    "controller.quorum.request.timeout.ms": "How long a voter waits for another's answer.",
    "controller.quorum.retry.backoff.ms": "How long a voter waits before it asks again.",
    "controller.quorum.voters": "The voters of the metadata quorum, as id@host:port.",
    "default.replication.factor": "How many replicas a topic gets that does not say.",
    "delegation.token.expiry.check.interval.ms": "How often expired delegation tokens are removed.",
    "delegation.token.expiry.time.ms": "After which time a delegation token must be renewed.",
    "delegation.token.max.lifetime.ms": "How long a delegation token can be renewed at all.",
    "delegation.token.secret.key": "The secret by which brokers make and check delegation tokens,"
    " the same on all of them; without it there are none.",
    "delete.topic.enable": "Whether topics can be deleted.",
    "fetch.max.bytes": "The most that one Fetch is answered with, whatever it asks for.",
    "group.consumer.assignment.interval.ms": "How often a consumer group may get a new target.",
    "group.consumer.assignor.offload.enable": "Whether assignors run on a thread of their own.",
    "group.consumer.assignors": "The assignors of consumer groups; the first is the default.",
    "group.consumer.heartbeat.interval.ms": "How often members of consumer groups are to report.",
    "group.consumer.max.assignment.interval.ms": "The upper bound of the assignment interval.",
    "group.consumer.max.heartbeat.interval.ms": "The upper bound of the heartbeat interval.",
    "group.consumer.max.session.timeout.ms": "The upper bound of the session timeout.",
    "group.consumer.max.size": "How many members a consumer group may have.",
    "group.consumer.migration.policy": "Which groups may change their protocol while they work.",
    "group.consumer.min.assignment.interval.ms": "The lower bound of the assignment interval.",
    "group.consumer.min.heartbeat.interval.ms": "The lower bound of the heartbeat interval.",
    "group.consumer.min.session.timeout.ms": "The lower bound of the session timeout.",
    "group.consumer.regex.refresh.interval.ms": "How often patterns are compared with all topics.",
    "group.consumer.session.timeout.ms": "After which silence a consumer group drops a member.",
    "group.coordinator.append.linger.ms": "How long the coordinator gathers records to write.",
    "group.coordinator.rebalance.protocols": "The protocols of groups that are served.",
    "group.coordinator.threads": "Threads for groups; this broker has one thread for everything.",
    "group.initial.rebalance.delay.ms": "How long an empty group waits for more members.",
    "group.max.session.timeout.ms": "The longest session timeout that a member may ask for.",
    "group.max.size": "How many members a group may have.",
    "group.min.session.timeout.ms": "The shortest session timeout that a member may ask for.",
    "initial.broker.registration.timeout.ms": "How long a starting broker tries to register.",
    "inter.broker.listener.name": "The listener over which brokers talk to each other.",
    "listener.security.protocol.map": "Which protocol each listener speaks.",
    "listeners": "Where the broker listens, as NAME://host:port.",
    "leader.imbalance.check.interval.seconds": "How often first replicas are made leaders again.",
    "log.cleaner.backoff.ms": "How long the cleaner rests when there is nothing to compact.",
    "log.cleaner.dedupe.buffer.size": "Memory for the keys seen in one cleaning.",
    "log.cleaner.enable": "Whether logs are compacted at all.",
    "log.cleaner.threads": "Threads that compact; this broker has one thread for everything.",
    "log.dir": "The data directory, where log.dirs is not given.",
    "log.dirs": "The data directories; this broker has one.",
    "log.flush.offset.checkpoint.interval.ms": "How often it is noted how far logs are synced.",
    "log.flush.scheduler.interval.ms": "How often it is looked whether a log must be synced.",
    "log.initial.task.delay.ms": "How long after the start old segments are first looked for.",
    "log.retention.check.interval.ms": "How often old segments are looked for.",
    "log.retention.hours": "As log.retention.ms, in hours; the finer unit goes before.",
    "log.retention.minutes": "As log.retention.ms, in minutes; the finer unit goes before.",
    "log.roll.hours": "As log.roll.ms, in hours; the finer unit goes before.",
    "log.roll.jitter.hours": "As log.roll.jitter.ms, in hours; the finer unit goes before.",
    "max.incremental.fetch.session.cache.slots": "How many fetch sessions are remembered.",
    "internal.metadata.log.segment.bytes": "As metadata.log.segment.bytes, for tests.",
    "metadata.log.max.record.bytes.between.snapshots": "How many bytes of metadata may be committed"
    " before the next snapshot.",
    "metadata.log.max.snapshot.interval.ms": "How old the last snapshot may become, if"
    " metadata has been committed since, before a new one is written; 0: no limit.",
    "metadata.log.segment.bytes": "The size at which a segment of the metadata log is closed.",
    "metadata.log.segment.ms": "The age at which a segment of the metadata log is closed.",
    "metadata.max.retention.bytes": "The size of the metadata log and its snapshots above which the"
    " oldest go.",
    "metadata.max.retention.ms": "The age above which the oldest snapshot goes, and the log before"
    " the next one.",
    "node.id": "The id of this node, unique in the cluster.",
    "num.io.threads": "Threads for requests; this broker has one thread for everything.",
    "num.network.threads": "Threads for sockets; this broker has one thread for everything.",
    "num.partitions": "How many partitions a topic gets that does not say.",
    "num.recovery.threads.per.data.dir": "Threads for recovery at the start.",
    "num.replica.fetchers": "Threads that fetch from one leader.",
    "offset.metadata.max.bytes": "How long the text beside a committed offset may be.",
    "offsets.commit.timeout.ms": "How long an answer waits for the replicas of __consumer_offsets.",
    "offsets.retention.check.interval.ms": "How often the broker looks for expired offsets.",
    "offsets.retention.minutes": "How long committed offsets outlive their use.",
    "offsets.topic.compression.codec": "The codec of __consumer_offsets; 0 means uncompressed.",
    "offsets.topic.num.partitions": "The partitions of __consumer_offsets.",
    "offsets.topic.replication.factor": "The replicas of __consumer_offsets.",
    "offsets.topic.segment.bytes": "The segment size of __consumer_offsets.",
    "process.roles": "Whether this process is a broker, a controller, or both.",
    "producer.id.expiration.check.interval.ms": "How often idle producers are looked for.",
    "producer.id.expiration.ms": "After which idleness a partition forgets a producer.",
    "queued.max.request.bytes": "The memory that requests in progress may use together; "
    "-1: 512 MiB.",
    "queued.max.requests": "How many requests may wait for a thread.",
    "quota.window.num": "Over how many windows a rate is measured for quotas.",
    "quota.window.size.seconds": "How long one of these windows is.",
    "replica.fetch.backoff.ms": "How long a follower rests after a fetch that failed.",
    "replica.fetch.max.bytes": "How much a follower fetches of one partition at once.",
    "replica.fetch.min.bytes": "How much a leader waits for before it answers a follower.",
    "replica.fetch.response.max.bytes": "How much a follower fetches at once.",
    "replica.fetch.wait.max.ms": "How long a follower's fetch may wait for records.",
    "replica.lag.time.max.ms": "How long a follower may lag before it leaves the ISR.",
    "replica.selector.class": "Which replica consumers read from; empty: the leader.",
    "replica.socket.timeout.ms": "How long a follower waits for its leader's answer.",
    "sasl.enabled.mechanisms": "The SASL mechanisms that clients may choose from.",
    "sasl.server.max.receive.size": "How large one message of an authentication may be.",
    "socket.receive.buffer.bytes": "The receive buffer of a client's socket; "
    "-1: the operating system decides.",
    "socket.request.max.bytes": "How large a request may be; a larger one ends its connection.",
    "socket.send.buffer.bytes": "The send buffer of a client's socket; "
    "-1: the operating system decides.",
    "ssl.client.auth": "Whether clients must show a certificate.",
    "ssl.key.password": "The password of the private key.",
    "ssl.keystore.certificate.chain": "The certificate of the broker and those above it, as PEM.",
    "ssl.keystore.key": "The private key of the broker, as PEM.",
    "ssl.keystore.location": "The file with the certificate and the key of the broker.",
    "ssl.keystore.type": "The format of that file.",
    "super.users": "The principals that may do everything, separated by semicolons.",
    "telemetry.max.bytes": "How large the metrics may be that a client pushes at once, compressed.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "How often transactions that"
    " took too long are looked for.",
    "transaction.max.timeout.ms": "The longest timeout that a transaction may ask for.",
    "transaction.partition.verification.enable": "Whether a transactional write asks first if its"
    " transaction is open.",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "How often idle transactional ids"
    " are looked for.",
    "transaction.state.log.min.isr": "The min.insync.replicas of __transaction_state.",
    "transaction.state.log.num.partitions": "The partitions of __transaction_state.",
    "transaction.state.log.replication.factor": "The replicas of __transaction_state.",
    "transaction.state.log.segment.bytes": "The segment size of __transaction_state.",
    "transactional.id.expiration.ms": "After which idleness a transactional id is forgotten.",
}

DOCUMENTATION = {
    **{
        key.synonym: f"The {key.name} of topics that have none. {_TOPICS[key.name]}"
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
