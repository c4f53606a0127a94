"""Each invariant between replicas and between nodes sees what contradicts it, and excuses what may
be."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

from chaos.sim.invariants import BETWEEN_NODES, BETWEEN_REPLICAS
from chaos.sim.invariants.known_cluster import KnownCluster
from chaos.sim.invariants.known_log import KnownLog, Offsets
from chaos.sim.invariants.replica import Key, Replica
from reference_impl.core.controller.image.metadata_image import MetadataImage

KEY: Key = ("topic", 0)


def replica(node: int, *, epoch: int = 1, leads: bool = False, end: int = 8, **given: Any) -> Any:
    """Return a replica whose log is committed up to its end, with these settings."""
    config = {
        "is_compacted": False,
        "flush_messages": 1,
        "unclean_leader_election_enable": False,
        **given,
    }
    log: Any = SimpleNamespace(
        high_watermark=end, log_end_offset=end, config=SimpleNamespace(**config)
    )
    return Replica(node, "t-0", KEY, log, epoch, leads, (1, 2))


def holding(*batches: tuple[int, int, int]) -> KnownLog:
    """Return the knowledge of a log to which a step has added batches of one record: (first offset,
    epoch, checksum)."""
    added: list[Any] = [
        SimpleNamespace(
            header=SimpleNamespace(
                base_offset=offset, last_offset=offset, partition_leader_epoch=epoch, crc=crc
            )
        )
        for offset, epoch, crc in batches
    ]
    return KnownLog(added=added)


def broken(
    name: str, cluster: KnownCluster, found: Replica, known: KnownLog | None = None, life: int = 0
) -> list[str]:
    return [*BETWEEN_REPLICAS[name](cluster, found, known or KnownLog(), life)]


def test_two_leaders_of_one_epoch_are_seen() -> None:
    cluster = KnownCluster()
    leader = replica(1, epoch=4, leads=True)
    cluster.take_in(leader, KnownLog(), 0)
    assert broken("one-leader", cluster, leader) == []
    assert broken("one-leader", cluster, replica(2, epoch=5, leads=True)) == []
    (told,) = broken("one-leader", cluster, replica(2, epoch=4, leads=True))
    assert told == "nodes 1 and 2 both lead in epoch 4"
    (told,) = broken("one-leader", cluster, leader, life=1)
    assert told == "two processes of node 1 lead in epoch 4"


def test_a_leader_that_lacks_committed_records_is_seen() -> None:
    cluster, known = KnownCluster(committed_ends={KEY: 8}), KnownLog(keeps_leading=False)
    short = replica(2, epoch=2, leads=True, end=6)
    (told,) = broken("leader-is-complete", cluster, short, known)
    assert told.endswith("at offset 6; everything below 8 was committed")
    assert not broken("leader-is-complete", cluster, short)  # it led before
    unclean = replica(2, epoch=2, leads=True, end=6, unclean_leader_election_enable=True)
    assert not broken("leader-is-complete", cluster, unclean, known)
    cluster.has_lost_power = True
    assert broken("leader-is-complete", cluster, short, known)
    unflushed = replica(2, epoch=2, leads=True, end=6, flush_messages=1 << 40)
    assert not broken("leader-is-complete", cluster, unflushed, known)


def test_logs_that_differ_under_one_epoch_are_seen() -> None:
    cluster = KnownCluster()
    cluster.take_in(replica(1), holding((0, 1, 7), (1, 2, 8)), 0)
    assert broken("logs-agree", cluster, replica(2), holding((0, 1, 7), (1, 2, 8))) == []
    assert broken("logs-agree", cluster, replica(2), holding((0, 2, 9))) == []
    (told,) = broken("logs-agree", cluster, replica(2), holding((0, 1, 9)))
    assert told == "node 2 has another batch at offset 0, epoch 1 than another replica"
    (told,) = broken("logs-agree", cluster, replica(2), holding((0, 2, 9), (1, 2, 8)))
    assert "before offset 1, epoch 2, another replica had" in told
    compacted = replica(2, is_compacted=True)
    assert not broken("logs-agree", cluster, compacted, holding((0, 1, 9)))


def test_another_committed_batch_is_seen() -> None:
    cluster = KnownCluster()
    cluster.take_in(replica(1, end=1), holding((0, 1, 7)), 0)
    assert broken("committed-stays", cluster, replica(2, end=1), holding((0, 1, 7))) == []
    assert broken("committed-stays", cluster, replica(2, end=0), holding((0, 2, 7))) == []
    (told,) = broken("committed-stays", cluster, replica(2, end=1), holding((0, 2, 7)))
    assert told == "node 2 commits epoch 2 at offset 0, where epoch 1 was committed"


def test_a_member_of_the_isr_without_committed_records_is_seen() -> None:
    cluster = KnownCluster(ends={KEY: {1: 8, 2: 5}})
    (told,) = broken("isr-is-complete", cluster, replica(1, leads=True))
    assert told.endswith("the log of node 2, which is in the ISR, ends at 5")
    assert not broken("isr-is-complete", cluster, replica(1))
    cluster.newest_epochs[KEY] = 2
    assert not broken("isr-is-complete", cluster, replica(1, leads=True))


def test_a_commit_on_fewer_replicas_than_the_minimum_is_seen() -> None:
    known = KnownLog(offsets=Offsets(0, 5, 5, 8, 0))
    leader = replica(1, leads=True)
    assert not broken("min-isr", KnownCluster(), dataclasses.replace(leader, min_isr=2), known)
    few = dataclasses.replace(leader, min_isr=3)
    (told,) = broken("min-isr", KnownCluster(), few, known)
    assert told.startswith("leader 1 commits the records from 5 to 8 with the ISR [1, 2];")
    shrunk_once = dataclasses.replace(few, partition_epoch=known.partition_epoch + 1)
    assert broken("min-isr", KnownCluster(), shrunk_once, known)
    shrunk_twice = dataclasses.replace(few, partition_epoch=known.partition_epoch + 2)
    assert not broken("min-isr", KnownCluster(), shrunk_twice, known)
    known.keeps_leading = False
    assert not broken("min-isr", KnownCluster(), few, known)


def test_a_follower_that_takes_more_for_committed_than_any_leader_is_seen() -> None:
    cluster = KnownCluster(committed_ends={KEY: 6})
    assert not broken("follower-high-watermark", cluster, replica(2, end=6))
    known = KnownLog()
    known.note_leadership(1)  # it leads
    assert not broken("follower-high-watermark", cluster, replica(1, leads=True), known)
    known.note_leadership(None)  # it has resigned
    assert not broken("follower-high-watermark", cluster, replica(1), known)
    (told,) = broken("follower-high-watermark", cluster, replica(2))
    assert told.startswith("the high watermark of follower 2 is 8; no leader")


def test_a_second_vote_in_one_epoch_is_seen() -> None:
    def voter(voted_id: int | None, epoch: int = 3) -> Any:
        election = SimpleNamespace(voted_id=voted_id)
        return SimpleNamespace(node_id=1, quorum=SimpleNamespace(epoch=epoch, election=election))

    cluster, invariant = KnownCluster(), BETWEEN_NODES["one-vote"]
    for innocent in (voter(2), voter(2), voter(None), voter(3, epoch=4)):
        assert [*invariant(cluster, innocent)] == []
    assert [*invariant(cluster, voter(3))] == ["node 1 votes for 2 and for 3 in epoch 3"]


def node_with_images(
    node: int, image: MetadataImage, *, epoch: int = 1, decided: Any = None
) -> Any:
    quorum = SimpleNamespace(epoch=epoch, high_watermark=image.end_offset)
    controller = SimpleNamespace(image=decided or image)
    return SimpleNamespace(node_id=node, image=image, quorum=quorum, controller=controller)


def image_at(offset: int, level: int) -> MetadataImage:
    image = MetadataImage()
    image.end_offset, image.features = offset, {"metadata.version": level}
    return image


def test_images_that_differ_at_one_offset_are_seen() -> None:
    cluster, invariant = KnownCluster(), BETWEEN_NODES["images-equal"]
    for node, offset, level in ((1, 5, 20), (2, 5, 20), (2, 6, 21)):
        assert [*invariant(cluster, node_with_images(node, image_at(offset, level)))] == []
    (told,) = invariant(cluster, node_with_images(3, image_at(6, 22), decided=image_at(7, 22)))
    assert told == "the images of node 2 and node 3 at offset 6 differ"


def test_a_controller_that_keeps_decisions_which_were_not_committed_is_seen() -> None:
    cluster, invariant = KnownCluster(), BETWEEN_NODES["images-equal"]
    committed, decided = image_at(5, 20), image_at(6, 21)
    for innocent in (
        node_with_images(1, committed, decided=decided),  # it leads
        node_with_images(2, image_at(6, 20), epoch=2),  # another one has decided otherwise
        node_with_images(1, committed, epoch=2, decided=committed),
    ):
        assert [*invariant(cluster, innocent)] == []
    (told,) = invariant(cluster, node_with_images(1, image_at(6, 20), epoch=3, decided=decided))
    assert told == "the images of node 2 and the controller of node 1 at offset 6 differ"


def test_producer_ids_that_two_nodes_or_two_processes_may_assign_are_seen() -> None:
    def broker(node: int, *blocks: range) -> Any:
        return SimpleNamespace(node_id=node, producer_ids=SimpleNamespace(blocks=blocks))

    cluster, invariant = KnownCluster(), BETWEEN_NODES["producer-ids-once"]
    for innocent in (
        broker(1, range(1000), range(0)),
        broker(2, range(1000, 2000), range(2000, 3000)),
        broker(1, range(10, 1000), range(3000, 4000)),
    ):
        assert [*invariant(cluster, innocent)] == []
    had = "node 2 had {} to {}, and was to go on at {}"
    assert [*invariant(cluster, broker(3, range(1999, 2999)))] == [
        "node 3 may assign the producer ids 1999 to 2998; " + had.format(1000, 1999, 1000),
        "node 3 may assign the producer ids 1999 to 2998; " + had.format(2000, 2999, 2000),
    ]
    assert [*invariant(cluster, broker(1, range(5, 1000)))] == [
        "node 1 may assign the producer ids 5 to 999; node 1 had 0 to 999, and was to go on at 10"
    ]
    assert len([*invariant(cluster, broker(2, range(6)))]) == 1  # ids that node 1 has assigned
