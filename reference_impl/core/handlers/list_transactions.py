"""ListTransactions (API key 66). Spec: KIP-664; KIP-994 (duration, v1), KIP-1152 (pattern, v2)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.consumer.patterns.topic_regex import BadRegex, TopicRegex
from reference_impl.core.security.authorization.permissions import DESCRIBE_TRANSACTIONAL_ID
from reference_impl.core.transactions.states import State
from reference_impl.core.transactions.transaction import Transaction
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("ListTransactionsResponse")
_STATES = {state.value: state for state in State}
PREPARE_EPOCH_FENCE = "PrepareEpochFence"
"""A state name that Kafka accepts in the filter, though no transactional id is ever in that state
(states.py)."""


def handle_list_transactions(broker: Broker, request: Request) -> Iterator[Effect]:
    """List the transactional ids that this broker coordinates, the client may describe, and every
    filter lets pass; name the states of the filter that do not exist. Refuse the request if its
    pattern is invalid, or while transactions are being loaded."""
    body = request.body
    # VALIDATE
    # [New in v2: KIP-1152]
    try:
        pattern = TopicRegex.compile(body.transactional_id_pattern or ".*")
    except BadRegex:
        yield Respond(request, RESPONSE.new(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION))
        return
    if broker.transactions.is_loading:
        yield Respond(request, RESPONSE.new(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        return
    # DEDUPLICATE, APPLY: reading changes nothing.
    # RESPOND
    answer = RESPONSE.new(
        unknown_state_filters=[
            name
            for name in body.state_filters
            if name not in _STATES and name != PREPARE_EPOCH_FENCE
        ]
    )
    producer_ids, states = frozenset(body.producer_id_filters), frozenset(body.state_filters)
    for transaction in broker.transactions.every():
        yield GiveWay(request)
        # TransactionStateManager.listTransactionStates, shouldInclude
        if (
            (not producer_ids or transaction.producer_id in producer_ids)
            and (not states or transaction.state.value in states)
            and lasts_long_enough(transaction, body.duration_filter, broker.now_ms)
            and pattern.matches(transaction.transactional_id)
            and broker.access.may(request, DESCRIBE_TRANSACTIONAL_ID, transaction.transactional_id)
        ):
            answer.transaction_states.append(
                RESPONSE.struct(
                    "TransactionState",
                    transactional_id=transaction.transactional_id,
                    producer_id=transaction.producer_id,
                    transaction_state=transaction.state.value,
                )
            )
    yield Respond(request, answer)


def lasts_long_enough(transaction: Transaction, least_ms: int, now_ms: int) -> bool:
    """Return whether a transaction has lasted longer than `least_ms`; any has if that is
    negative."""
    # [New in v1: KIP-994]
    return least_ms < 0 or now_ms - transaction.start_ms > least_ms
