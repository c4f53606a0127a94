"""Guarantees that no single answer shows: a workload's clients record what they saw, and the judges
of histories say whether it can have come from a correct log.

Where the target is ours its leaders are killed meanwhile, so that answers are lost and asked for
again. docs/guarantees.md explains the anomalies of each checker. Cases of one workload share its
run, and so one process (xdist_group).
"""

from __future__ import annotations

import pytest

from conformance.case import case, expect
from conformance.target.examination import Examined
from conformance.target.judged import expect_valid
from conformance.target.restarts import restarting
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import ErrorCode

DESIGN = "documentation#design, Replication"


@pytest.mark.xdist_group("appends")
@case("GUAR-01", "Produce", spec=DESIGN)
def test_acknowledged_records_are_not_lost(wire: Wire, examined: Examined) -> None:
    """Every record acknowledged with acks=all is read by the end, whichever leader was killed."""
    expect_valid(examined, "appends", "lost_writes", "unseen_writes")


@pytest.mark.xdist_group("appends")
@case("GUAR-02", "Produce", spec="documentation#intro_concepts_and_terms; KIP-98")
def test_records_stand_in_the_order_in_which_they_were_sent(wire: Wire, examined: Examined) -> None:
    """A record sent after another was acknowledged has a higher offset, and those of one idempotent
    producer keep their order; readers get them in the order of offsets."""
    expect_valid(examined, "appends", "append_order", "producer_order", "poll_order")


@pytest.mark.xdist_group("appends")
@case("GUAR-03", "Fetch", spec=DESIGN)
def test_an_offset_holds_one_record_for_ever(wire: Wire, examined: Examined) -> None:
    """Every read of an offset gives the record that was sent there; no offset is left out."""
    checkers = ("inconsistent_offsets", "phantom_records", "offset_gaps", "poll_skips")
    expect_valid(examined, "appends", *checkers)


@case("GUAR-04", "Produce", spec="KIP-98, Idempotent Producer Guarantees")
def test_what_is_sent_again_is_there_once(wire: Wire, examined: Examined) -> None:
    """A batch that an idempotent producer sends again, up to five batches later, is in the log
    once, and is answered with its first offset; sequences follow each other."""
    expect_valid(examined, "sequences", "duplicates", "idempotence", "lost_writes")


@pytest.mark.xdist_group("transactions")
@case("GUAR-05", "EndTxn", spec="KIP-98, Transactional Guarantees")
def test_readers_of_committed_records_see_transactions_whole(
    wire: Wire, examined: Examined
) -> None:
    """A read_committed reader gets only records of committed transactions, none before the commit
    is requested, and of each transaction all or none; each marker has the outcome that EndTxn
    requested."""
    checkers = ("aborted_reads", "dirty_reads", "torn_transactions", "ends_honoured", "lost_writes")
    expect_valid(examined, "transactions", *checkers)


@case("GUAR-06", "JoinGroup", spec="KIP-62; documentation#theconsumer")
def test_a_group_passes_over_no_record(wire: Wire, examined: Examined) -> None:
    """Members of a classic group join, leave and crash: no partition has two owners in one
    generation, every record between committed positions was given to some member, and a commit of
    an older generation does not replace a newer one."""
    expect_valid(examined, "groups-positions", "group_delivery", "committed_offsets")


@case("GUAR-07", "OffsetCommit", spec="documentation#impl_offsettracking")
def test_a_committed_offset_is_what_everybody_finds(wire: Wire, examined: Examined) -> None:
    """OffsetFetch returns the offset that was committed last, and no older one after the
    coordinator was killed."""
    expect_valid(examined, "offsets", "committed_offsets")


@pytest.mark.xdist_group("transactions")
@case("GUAR-08", "Fetch", spec="class UnifiedLog; class Partition", priority="P1")
def test_the_ends_of_a_partition_only_grow(wire: Wire, examined: Examined) -> None:
    """Within a leader epoch no later answer has a lower high watermark, last stable offset or log
    start, and no record lies above the next answer's high watermark."""
    expect_valid(examined, "transactions", "high_watermark")


@pytest.mark.xdist_group("appends")
@case("GUAR-09", "Produce", spec="KIP-101; KIP-320", priority="P1")
def test_leader_epochs_only_grow(wire: Wire, examined: Examined) -> None:
    """No epoch has two leaders, and the epochs of batches do not fall along a log."""
    expect_valid(examined, "appends", "leader_epochs")


@case("GUAR-10", "CreateTopics", spec="KIP-4; KIP-500", priority="P1", requires=["restart"])
def test_topics_made_and_deleted_stay_so_after_a_crash(wire: Wire, examined: Examined) -> None:
    """A topic that was created is there on every broker, and one that was deleted on none, also
    after all brokers were killed and started again."""
    kept, deleted = ([wire.create_topic() for _ in range(3)] for _ in range(2))
    for topic in deleted:
        wire.delete_topic(topic)
    with restarting(wire, *kept):
        examined.kill_and_restart()
    expect_everywhere(wire, kept, ErrorCode.NONE)
    expect_everywhere(wire, deleted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def expect_everywhere(wire: Wire, topics: list[Topic], error: ErrorCode) -> None:
    """Require that every broker answers Metadata with this error for each topic, and, without an
    error, with the topic's id."""
    for connection in wire.everywhere():
        for topic in topics:
            found = eventually(
                lambda asked=connection, name=topic.name: wire.topic_metadata(  # type: ignore[misc]
                    name, connection=asked
                ),
                lambda found: found.error_code in (error, ErrorCode.NONE),
                f"{topic.name} is known, or not",
            )
            expect(found.error_code, error, f"error of {topic.name}")
            if error == ErrorCode.NONE:
                expect(found.topic_id, topic.id, f"id of {topic.name}")


@pytest.mark.xdist_group("appends")
@case("GUAR-11", "Produce", spec="class Errors; KIP-360", priority="P1")
def test_what_was_certainly_refused_is_never_read(wire: Wire, examined: Examined) -> None:
    """No record is read whose Produce was answered by an error which says that it was not appended,
    nor one that nobody sent."""
    expect_valid(examined, "appends", "phantom_records")
