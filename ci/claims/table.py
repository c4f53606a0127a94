"""The claims of published documents about Kafka, and the cases that decide each.

A claim with a correction is wrong as it stands: its cases assert what Apache Kafka does instead.
"""

from __future__ import annotations

from ci.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "LOG-1",
        "a partition is append-only; offsets are dense per append, strictly increasing, "
        "never reused or reset",
        cases=("PROD-01", "FETCH-01", "GUAR-03"),
    ),
    Claim("LOG-2", "offsets of a new partition start at 0", cases=("PROD-01", "LIST-16")),
    Claim(
        "REC-1",
        "record batch v2: 61-byte header, field order baseOffset … recordCount, CRC32C "
        "over attributes..end",
        cases=("BATCH-01", "FETCH-01"),
    ),
    Claim(
        "REC-2",
        "`batchLength` is the total bytes including the header",
        correction="bytes after the length field (total minus 12)",
        cases=("BATCH-02",),
    ),
    Claim(
        "REC-3",
        "attributes bits 0-2 codec (0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd), 3 timestamp"
        " type, 4 transactional, 5 control, 6 delete horizon",
        cases=("BATCH-11", "BATCH-22"),
    ),
    Claim(
        "REC-4",
        "records are varint (zig-zag) encoded, with delta timestamps and offsets, null "
        "key = length -1, headers",
        cases=("BATCH-27", "BATCH-28"),
    ),
    Claim(
        "SEG-1",
        "directory `<topic>-<partition>` with `.log`, `.index`, `.timeindex` named by the"
        " 20-digit base offset, `leader-epoch-checkpoint`, `partition.metadata`",
        cases=("LOG-16",),
    ),
    Claim("SEG-2", "a segment rolls on size, on time, on a full index", cases=("LOG-03", "LOG-16")),
    Claim(
        "IDX-1",
        "offset index: 8-byte entries (relative offset, position), sparse, one per "
        "`index.interval.bytes` (4096)",
        cases=("LOG-16",),
    ),
    Claim(
        "IDX-2",
        "lookup = binary search for the largest entry ≤ target, then scan",
        cases=("FETCH-02", "FETCH-37"),
    ),
    Claim(
        "TIX-1",
        "time index: 12-byte entries (timestamp, relative offset); seek by time = segment"
        " by max timestamp, then time index, then offset index",
        cases=("LIST-04", "LOG-10", "LOG-16"),
    ),
    Claim(
        "RET-1",
        "retention by time and by size removes whole closed segments, never the active one",
        correction=(
            "time retention rolls and removes even an expired active segment; only segments "
            "wholly below the HW; at least `retention.bytes` stays"
        ),
        cases=("LOG-01", "LOG-02"),
    ),
    Claim(
        "RET-2",
        "`retention.ms=-1` keeps for ever; the earlier of time and size limits applies",
        cases=("LOG-01", "LOG-02"),
    ),
    Claim(
        "CMP-1",
        "compaction keeps at least the latest value per key, keeps order, keeps offsets",
        cases=("LOG-04", "LOG-06"),
    ),
    Claim(
        "CMP-2",
        "worked example: keys A B A C B A D C A, values 1..9 → B5 D7 C8 A9",
        cases=("LOG-04",),
    ),
    Claim("CMP-3", "tombstones remove a key, after `delete.retention.ms`", cases=("LOG-05",)),
    Claim(
        "REP-1",
        "HW = min(LEO of the ISR); consumers see only below HW",
        cases=("FETCH-33", "REPL-07"),
    ),
    Claim(
        "REP-2",
        "a follower leaves the ISR after `replica.lag.time.max.ms` without catching up, "
        "and rejoins once caught up",
        cases=("REPL-07",),
    ),
    Claim(
        "REP-3",
        "followers pull with Fetch; the next fetch offset acknowledges the earlier ones; "
        "HW travels in the response",
        cases=("REPL-07", "FETCH-34"),
    ),
    Claim(
        "REP-4",
        "acks=all answers only when all of the ISR have the record",
        cases=("PROD-12", "REPL-01"),
    ),
    Claim(
        "ELE-1",
        'on leader failure the controller elects from the ISR; "prefers the highest LEO"',
        correction="first live ISR member in replica-assignment order; LEO is not compared",
        cases=("REPL-01",),
    ),
    Claim(
        "ELE-2",
        "with unclean election off and no ISR member alive the partition is offline",
        correction=(
            "with `eligible.leader.replicas.version`=1 (default when formatted with 4.1+): "
            "ELR members may lead; with ISR and ELR empty the returning last known leader is "
            "elected, uncleanly"
        ),
        cases=("REPL-02", "REPL-08"),
    ),
    Claim(
        "ELE-3",
        "with unclean election on, an out-of-sync replica may lead, and unreplicated "
        "records are lost",
        why_none="the findings have runs",
    ),
    Claim(
        "ELE-4",
        "a new leader truncates its log to the HW",
        correction=(
            "since KIP-101: followers truncate by leader epoch, the leader does not truncate"
        ),
        cases=("FETCH-19", "LIST-19"),
    ),
    Claim(
        "ELE-5",
        "leadership is first spread round robin and rack aware",
        why_none="no case compares where a controller places leaders",
    ),
    Claim(
        "EPO-1",
        "`leader-epoch-checkpoint` lists (epoch, start offset); OffsetForLeaderEpoch "
        "answers where an epoch ended; a follower truncates its divergent suffix",
        cases=("LIST-18", "LIST-19", "LOG-16"),
    ),
    Claim(
        "EPO-2",
        "produce carries the leader epoch and a stale one is refused",
        correction=(
            "Produce has no such field (the client learns by NOT_LEADER_OR_FOLLOWER); Fetch "
            "and ListOffsets have one and get FENCED_LEADER_EPOCH / UNKNOWN_LEADER_EPOCH"
        ),
        cases=("FETCH-17", "FETCH-18", "LIST-14"),
    ),
    Claim(
        "PRO-1",
        "default partitioner: murmur2 of the key; without key, round robin",
        correction=(
            "sticky / uniform sticky for null keys; librdkafka defaults to CRC32 "
            "(`consistent_random`)"
        ),
        why_none="clients choose the partition; no client is examined",
    ),
    Claim(
        "PRO-2",
        "batching by `batch.size` and `linger.ms`; compression per batch; codec ratios "
        "order gzip ≥ zstd ≥ lz4 ≥ snappy ≥ none on text",
        correction="{gzip, zstd} > {lz4, snappy} > none; inside the pairs the data decides",
        cases=("BATCH-11",),
    ),
    Claim(
        "PRO-3",
        "acks 0 / 1 / all latency order",
        why_none="it is about speed: `touchstone bench cluster` measures it",
    ),
    Claim(
        "IDM-1",
        "in-sequence appended; a duplicate among the last 5 batches is answered, not appended",
        cases=("IDEM-03", "IDEM-04", "IDEM-14"),
    ),
    Claim(
        "IDM-2",
        "older duplicate → DuplicateSequence; gap → OutOfOrderSequence",
        correction=(
            "both → OUT_OF_ORDER_SEQUENCE_NUMBER (45), 46 is never sent; without producer "
            "state any first sequence is accepted (transaction version 2: only 0)"
        ),
        cases=("IDEM-05", "IDEM-06"),
    ),
    Claim("IDM-3", "max in flight ≤ 5 keeps order under retries", cases=("IDEM-13", "PROD-21")),
    Claim(
        "GRP-1",
        "coordinator partition = abs(hash(group.id)) mod 50 (`String.hashCode`)",
        why_none="no case computes the partition of a group",
    ),
    Claim(
        "GRP-2",
        "Join → leader gets members → Sync → Heartbeat; REBALANCE_IN_PROGRESS makes "
        "members rejoin; generation increases",
        cases=("GRPC-06", "GRPC-12"),
    ),
    Claim(
        "GRP-3",
        "each partition belongs to one member; members beyond the partitions idle",
        cases=("GRPC-16", "GUAR-06"),
    ),
    Claim(
        "GRP-4",
        "rebalance on join, leave, crash (session timeout), new partitions",
        cases=("GRPC-12", "GRPC-24", "GRPC-25"),
    ),
    Claim(
        "GRP-5",
        "range, round robin (and sticky, cooperative) assignors",
        why_none="clients assign; no client is examined",
    ),
    Claim("GRP-6", "the first member to join is the group leader", cases=("GRPC-06",)),
    Claim(
        "OFF-1",
        "`__consumer_offsets`: 50 partitions, compacted; key (group, topic, partition), "
        "value (offset, leader epoch, metadata, timestamp)",
        cases=("META-14", "OFFS-02", "OFFS-17"),
    ),
    Claim(
        "OFF-2",
        "auto-commit every 5 s; sync and async commit; earliest / latest / none",
        why_none="clients commit; no client is examined",
    ),
    Claim(
        "FET-1", "long poll: answers at min_bytes or at max_wait", cases=("FETCH-05", "FETCH-06")
    ),
    Claim(
        "FET-2",
        "response carries HW and LSO; read_committed limited by LSO and filtered by aborted list",
        cases=("TXN-33", "TXN-34"),
    ),
    Claim(
        "TXN-1",
        "InitProducerId bumps the epoch and fences the old producer",
        cases=("TXN-03", "TXN-31"),
    ),
    Claim(
        "TXN-2",
        "AddPartitions → Ongoing; EndTxn → Prepare → markers → Complete",
        cases=("TXN-13", "TXN-21", "TXN-32"),
    ),
    Claim(
        "TXN-3",
        "worked example: TX1 committed at 4, TX2 aborted at 7, TX3 open: read_committed "
        "sees 0, 1, 3 and stops at 8",
        cases=("TXN-35", "TXN-36"),
    ),
    Claim(
        "TXN-4",
        "read_uncommitted sees control records C and A too",
        correction="on the wire yes, clients never deliver them",
        cases=("FETCH-36",),
    ),
    Claim(
        "TXN-5", "LSO = first offset of the earliest open transaction", cases=("TXN-33", "TXN-36")
    ),
    Claim(
        "TXN-6",
        "second worked example: log R R C R R R R R with TX2 from 3 open → LSO 3, HW 8",
        cases=("TXN-33", "TXN-36"),
    ),
    Claim(
        "EOS-1",
        "consume-transform-produce with offsets in the transaction: each input has "
        "exactly one effect under crash, restart, rebalance, fencing",
        cases=("GUAR-05", "TXN-59"),
    ),
    Claim(
        "COO-1",
        "KRaft: quorum of controllers, one leader, metadata log `__cluster_metadata`, "
        "records RegisterBroker, Topic, Partition, PartitionChange, Config; snapshots",
        cases=("KRFT-01", "KRFT-03", "KRFT-14"),
    ),
    Claim(
        "COO-2",
        "ZooKeeper mode: znodes /brokers /controller /controller_epoch /admin /config; "
        "the first to create /controller wins; session expiry re-elects",
        why_none="no target with ZooKeeper can be started here",
    ),
    Claim(
        "COO-3",
        "controller failover in KRaft is faster than in ZooKeeper mode",
        why_none="no target with ZooKeeper can be started here",
    ),
    Claim(
        "COO-4",
        "migration from ZooKeeper to KRaft needs downtime",
        correction="3.4–3.9 migrate live",
        why_none="no target with ZooKeeper can be started here",
    ),
    Claim(
        "REQ-1",
        "request classes have priorities: controller, then client, metadata, group",
        correction=(
            "one FIFO queue for all broker listeners (internal callbacks first), another for "
            "the controller"
        ),
        why_none="the order of other connections' requests cannot be seen on the wire",
    ),
    Claim("REQ-2", "responses on a connection come in request order", cases=("WIRE-02", "WIRE-03")),
    Claim(
        "ZC-1",
        "sendfile serves plaintext reads without user-space copies; TLS needs them",
        why_none="it cannot be seen on the wire",
    ),
    Claim(
        "DUR-1",
        "acks=0 no guarantee; acks=1 survives a follower's failure only",
        why_none="the findings have runs",
    ),
    Claim(
        "DUR-2",
        "acks=all with min.insync.replicas=1 survives a follower's failure only; =2 one "
        "broker; =3 two",
        cases=("GUAR-01", "REPL-01"),
    ),
    Claim(
        "DUR-3",
        "ISR < min.insync.replicas → NOT_ENOUGH_REPLICAS, the record is not acknowledged",
        cases=("PROD-10", "PROD-11"),
    ),
    Claim(
        "DUR-4",
        "acknowledged data survives power loss of all replicas at once",
        correction="not promised, data may be in the page cache only (`flush.messages`)",
        why_none="the findings have runs",
    ),
    Claim(
        "ORD-1", "total order in a partition, none across partitions", cases=("GUAR-02", "PROD-21")
    ),
    Claim(
        "ORD-2",
        "without idempotence and with > 1 in flight, a retry can reorder",
        why_none="docs/promises.md has runs",
    ),
    Claim(
        "ORD-3", "transactions are all-or-nothing across partitions", cases=("TXN-56", "GUAR-05")
    ),
    Claim(
        "SEM-1",
        "at-most-once: acks=0/no retry, commit before processing: may lose, never duplicates",
        why_none="docs/promises.md has runs",
    ),
    Claim(
        "SEM-2",
        "at-least-once: acks=all + retries, commit after processing: never loses, may duplicate",
        why_none="docs/promises.md has runs",
    ),
    Claim(
        "SEM-3",
        "exactly-once: idempotence + transactions + read_committed + offsets in the transaction",
        cases=("TXN-59",),
    ),
    Claim(
        "STA-1",
        "start-up failures are named: corrupt segment, no disk space, port in use, "
        "coordinator unreachable",
        cases=("LOG-12",),
    ),
    Claim(
        "SPK-1",
        "Spark range split: orders-0 150k, orders-1 80k, orders-2 30k, max 50k records → "
        "3 + 2 + 1 ranges; minPartitions 8 → 8",
        why_none="Spark's connector is not examined",
    ),
    Claim(
        "SPK-2",
        "planned rows (offset differences) exceed actual rows by control, aborted and "
        "compacted records",
        why_none="Spark's connector is not examined",
    ),
    Claim(
        "SPK-3",
        "failOnDataLoss=true fails the query when offsets aged out, false warns and goes "
        "on from the earliest",
        why_none="Spark's connector is not examined",
    ),
    Claim(
        "SPK-4",
        "consumers are pooled and reused per topic-partition on an executor",
        why_none="Spark's connector is not examined",
    ),
)
