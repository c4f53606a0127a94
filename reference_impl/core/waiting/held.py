"""Answers that are held back until the records on which they rest are replicated.

Source: CoordinatorRuntime.java, DeferredEventQueue.java. The group coordinator writes a record,
changes its state at once, and continues. So a later request may read state that is not committed
yet, and that a new coordinator may lack. Therefore every answer waits until the partitions that its
handler has read or written are replicated up to their log end at that moment. With a single replica
that is the case at once, and the answer is sent in the same step.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, cast

from reference_impl.core.broker import Broker
from reference_impl.core.effects import CancelTimer, Effect, Respond, SetTimer
from reference_impl.core.events import TimerKey
from reference_impl.core.groups.classic.timers import TIMER
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused, coordinator_error
from reference_impl.core.waiting.waits import Replicated

TIMEOUT = "offsets.commit.timeout.ms"
_TIMERS = (SetTimer, CancelTimer)


def held(broker: Broker, handler: Iterator[Effect]) -> Iterator[Effect]:
    """Run a handler of the group coordinator. Hold back its answers, including those to other
    members' requests, until the records that it has read and written are replicated. Its timers
    become those of the shard."""
    topic = broker.groups.topic
    read = topic.uncommitted = {}
    generator = cast("Generator[Effect, Any, None]", handler)
    send = generator.send
    try:
        effect = send(None)
        while True:
            if read and type(effect) is Respond and broker.rules.answer_waits(read):
                hold(broker, effect, dict(read))
                effect = send(None)
                continue
            if isinstance(effect, _TIMERS) and effect.key[0] == TIMER:
                broker.groups.own(effect)
            try:
                outcome = yield effect
            except Refused as refused:
                topic.uncommitted = read  # other handlers may have replaced it
                effect = generator.throw(refused)
            else:
                topic.uncommitted = read
                effect = send(outcome)
    except StopIteration:
        return
    finally:
        generator.close()


def hold(broker: Broker, answer: Respond, read: dict[Partition, int]) -> None:
    """Post the work that sends an answer once the partitions in `read` are replicated up to their
    current log end, or refuses the request after offsets.commit.timeout.ms. `read` has the leader
    epoch in which each was read."""
    timeout_ms = broker.config.number(TIMEOUT)
    waits = [
        Replicated(each.topic, each.index, each.log.log_end_offset, timeout_ms) for each in read
    ]
    request = answer.request
    name = f"answer {request.correlation_id} to connection {request.connection}"
    broker.outbox.post(name, when_replicated(broker, answer, waits, read))


def when_replicated(
    broker: Broker, answer: Respond, waits: list[Replicated], read: dict[Partition, int]
) -> Iterator[Effect]:
    """Send an answer once all waits are over. If one fails, or a partition is not led in the leader
    epoch of `read` any more, refuse the request instead."""
    try:
        yield from waits
        for partition, leader_epoch in read.items():
            partition.check_still_leads(leader_epoch)
    except Refused as refused:
        refuse = broker.apis[answer.request.api_key].refuse
        assert refuse is not None
        answer.body = refuse(answer.request, coordinator_error(refused.code))
    yield answer


def timer_fired(broker: Broker, key: TimerKey) -> Iterator[Effect]:
    """Handle a timer of a group, unless its coordinator is closed."""
    shard = broker.groups.timed(key)
    if shard is not None:
        yield from held(broker, shard.timer_fired(str(key[3]), list(key[4:])))
