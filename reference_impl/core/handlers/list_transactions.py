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
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("ListTransactionsResponse")
_STATES = {state.value: state for state in State}
PREPARE_EPOCH_FENCE = "PrepareEpochFence"
"""A state name that Kafka accepts in the filter, though no transactional id is ever in that state
(states.py)."""


def handle_list_transactions(broker: Broker, request: Request) -> Iterator[Effect]:
    """List the transactional ids that pass every filter."""
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
    for transaction in broker.transactions.every():
        yield GiveWay(request)
        if (
            passes(transaction, body, broker.now_ms)
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


def passes(transaction: Transaction, filters: Struct, now_ms: int) -> bool:
    """Return whether the filters include a transaction
    (TransactionStateManager.listTransactionStates, shouldInclude)."""
    if filters.producer_id_filters and transaction.producer_id not in filters.producer_id_filters:
        return False
    if filters.state_filters and transaction.state.value not in filters.state_filters:
        return False
    # [New in v1: KIP-994]
    least_ms = filters.duration_filter
    return bool(least_ms < 0 or now_ms - transaction.start_ms > least_ms)
