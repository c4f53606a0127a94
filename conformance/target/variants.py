"""The broker settings with which some cases start a second instance of the target.

Each distinct variant costs a start of the target, so cases share them: a new case uses one of
these, or adds its key to one where that does not affect other cases.
"""

from __future__ import annotations

STRICT = {
    "delete.topic.enable": "false",
    "group.max.size": "2",
    "group.consumer.max.size": "2",
    "group.consumer.migration.policy": "disabled",
    "group.initial.rebalance.delay.ms": "1500",
    "max.incremental.fetch.session.cache.slots": "2",
    "ssl.key.password": "for nobody's eyes",
}
"""Limits small enough to run into, and a password, which no listener needs."""

SHORT_LIVED = {
    "producer.id.expiration.ms": "1500",
    "producer.id.expiration.check.interval.ms": "200",
    "transactional.id.expiration.ms": "1500",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
    "offsets.retention.check.interval.ms": "200",
    "group.consumer.min.session.timeout.ms": "2000",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
}
"""Settings under which producers, transactional ids, silent members and offsets are forgotten after
a moment; by default after a day, a week, or 45 s."""

SHARED_SHORTLY = {
    "group.share.min.session.timeout.ms": "2000",
    "group.share.session.timeout.ms": "2000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "1500",
    "group.streams.min.session.timeout.ms": "2000",
    "group.streams.session.timeout.ms": "2000",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.heartbeat.interval.ms": "500",
}
"""Settings under which silent members of share groups and of streams groups are forgotten, and
acquired records are released, after a moment; by default after 45 s and 30 s."""

CLASSIC_ONLY = {"group.coordinator.rebalance.protocols": "classic"}
"""Settings without the new protocol of consumer groups."""

SMALL_FETCHES = {
    "fetch.max.bytes": "3000",
    "connections.max.idle.ms": "2000",
    "max.request.partition.size.limit": "2",
}
"""Settings under which a fetch gets a few records, by default 55 MiB, a page of described topics
two partitions, by default 2,000, and a connection is closed after 2 s without requests, by default
after 10 minutes."""

FEW_CONNECTIONS = {
    "max.connections": "24",
    "max.connections.per.ip": "12",
    "max.connections.per.ip.overrides": "127.0.0.2:3",
}
"""Settings under which a broker accepts 24 connections, 12 of one address, and 3 of 127.0.0.2; by
default as many as come."""

FEW_SHARE_SESSIONS = {"group.share.max.share.sessions": "10", "group.share.max.size": "10"}
"""Settings under which a broker keeps ten share sessions, the fewest that it takes; by default
2,000."""

OFTEN_SNAPSHOT = {"metadata.log.max.record.bytes.between.snapshots": "2000"}
"""Settings under which a node writes a snapshot of the metadata after a few changes, by default
after 20 MiB or an hour."""
