"""Show the status of a cluster as lines for people, and as a document for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from chaos.world import joined
from ci.status.asking import PartitionStatus, QuorumStatus, Status

VERSION = 1
HEADINGS = ("PARTITION", "LEADER", "EPOCH", "ISR", "ELR", "REPLICA", "LOG END", "HIGH WM", "LAG")


def as_lines(status: Status) -> Iterator[str]:
    """Yield lines: the cluster, its quorum, a table with a line for each replica, then the brokers
    that do not report all of theirs, and the longest steps."""
    living = ", ".join(f"{node} at {joined(at)}" for node, at in sorted(status.brokers.items()))
    yield f"cluster {status.cluster_id}: brokers {living or 'none'}"
    yield _of_quorum(status.quorum)
    rows = [HEADINGS, *(row for each in status.partitions for row in _rows(each))]
    if status.partitions:
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield "  ".join(cells).rstrip()
    else:
        yield "no topics"
    for node, why in sorted(status.unanswered.items()):
        yield f"broker {node} does not report all its replicas: {why}"
    for directory, steps in status.longest_steps.items():
        yield f"longest steps of the node in {directory}, during which it answered nobody:"
        for step in steps:
            at = datetime.fromtimestamp(step["at_ms"] / 1000, UTC).isoformat(" ", "seconds")
            yield f"  {step['ms']:8.1f} ms  {step['event']}, {at.removesuffix('+00:00')} UTC"


def _of_quorum(quorum: QuorumStatus | None) -> str:
    if quorum is None:
        return "quorum: no controller describes it"
    voters, observers = (
        ", ".join(f"{node} at {end}" for node, end in sorted(ends.items()))
        for ends in (quorum.voters, quorum.observers)
    )
    watching = f"; observers {observers}" if observers else ""
    return (
        f"quorum: node {quorum.leader} leads in epoch {quorum.leader_epoch}, high watermark"
        f" {quorum.high_watermark}; voters {voters}{watching}"
    )


def _rows(partition: PartitionStatus) -> Iterator[tuple[str, ...]]:
    """Yield a line for each replica. Only the first one has the columns about the whole
    partition."""
    whole: tuple[str, ...] = (
        f"{partition.topic}-{partition.index}",
        str(partition.leader) if partition.leader >= 0 else "none",
        str(partition.leader_epoch),
        _list(partition.isr),
        _list(partition.elr),
    )
    for replica in partition.replicas:
        numbers = (replica.log_end, replica.high_watermark, partition.lag(replica))
        yield (*whole, str(replica.node), *("?" if each is None else str(each) for each in numbers))
        whole = ("",) * len(whole)


def _list(nodes: Sequence[int]) -> str:
    return ",".join(map(str, nodes)) or "-"


def as_document(status: Status) -> dict[str, Any]:
    """Return the status as a JSON document (docs/schemas/status-1.json)."""
    quorum = status.quorum
    return {
        "version": VERSION,
        "cluster_id": status.cluster_id,
        "brokers": [
            {"node": node, "address": joined(at)} for node, at in sorted(status.brokers.items())
        ],
        "quorum": quorum
        and {
            "leader": quorum.leader,
            "leader_epoch": quorum.leader_epoch,
            "high_watermark": quorum.high_watermark,
            "voters": [{"node": n, "log_end": end} for n, end in sorted(quorum.voters.items())],
            "observers": [
                {"node": n, "log_end": end} for n, end in sorted(quorum.observers.items())
            ],
        },
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.index,
                "leader": each.leader,
                "leader_epoch": each.leader_epoch,
                "isr": list(each.isr),
                "elr": list(each.elr),
                "replicas": [
                    {
                        "node": replica.node,
                        "log_end": replica.log_end,
                        "high_watermark": replica.high_watermark,
                        "lag": each.lag(replica),
                    }
                    for replica in each.replicas
                ],
            }
            for each in status.partitions
        ],
        "unanswered": [
            {"node": node, "why": why} for node, why in sorted(status.unanswered.items())
        ],
        "longest_steps": [
            {"directory": directory, "steps": steps}
            for directory, steps in status.longest_steps.items()
        ],
    }
