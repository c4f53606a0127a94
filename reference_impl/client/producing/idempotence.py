"""Manage the identity of an idempotent producer: get one, keep it, and change it when a sequence
number is lost.

Source: KIP-98, Idempotent Producer Guarantees; KIP-360;
TransactionManager.bumpIdempotentEpochAndResetIdIfNeeded.
"""

from __future__ import annotations

from reference_impl.client.cluster.network import Network
from reference_impl.client.config import Config
from reference_impl.client.errors import ClientError, Refusal, is_retriable
from reference_impl.client.kernel import Kernel
from reference_impl.client.producing.accumulator import Batch, ProducerIdAndEpoch
from reference_impl.client.producing.sequences import Sequences
from reference_impl.links.kernel import Backoff
from reference_impl.links.link import Failure
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition


def may_send_again(
    sequences: Sequences, batch: Batch, code: int, log_start_offset: int, is_transactional: bool
) -> bool:
    """Return whether it makes sense to send a batch again that was refused with this code. If its
    sequence number is lost, note in `sequences` that an idempotent producer needs a new epoch; a
    transactional one aborts instead. If retention has deleted the broker's producer state, renumber
    the partition's batches from 0 (TransactionManager.canRetry; KIP-360)."""
    if sequences.rules.keeps_number(code):
        return is_retriable(code)
    numbers = sequences.of(batch.partition)
    is_resolved = numbers.unresolved_after is None
    if code == ErrorCode.UNKNOWN_PRODUCER_ID:
        if batch.sequence_was_reset:
            return True
        if numbers.last_acked_offset < log_start_offset:
            # Retention has deleted all that we wrote, and our state with it: nothing is lost.
            numbers.start_over(numbers.writer)
            return True
        if not is_transactional:
            if batch.writer == sequences.writer:
                sequences.want_new_epoch(batch.partition)
            return True
        return is_retriable(code)
    is_next = numbers.is_next(batch.base_sequence)
    if is_resolved and (batch.sequence_was_reset or not is_next):
        return True  # one before it is still under way, and has not been answered yet
    if not is_transactional:
        if is_resolved or batch.base_sequence == numbers.unresolved_after:
            sequences.want_new_epoch(batch.partition)
        return True
    return is_retriable(code)


class Idempotence:
    """The identity of a producer without a transactional id; any broker assigns one."""

    def __init__(
        self, kernel: Kernel, network: Network, config: Config, sequences: Sequences
    ) -> None:
        self._kernel = kernel
        self._network = network
        self._sequences = sequences
        self._backoff = Backoff(kernel, config["retry.backoff.ms"], config["retry.backoff.max.ms"])
        self._is_waiting = False
        self.error: ClientError | None = None
        """The reason why the cluster gives this producer no id, so that nothing can be sent."""

    def run(self, is_needed: bool) -> None:
        """Raise the epoch if a partition must start over. Ask a broker for a producer id if there
        is none and it is needed, for records that wait."""
        for partition in self._sequences.gaps():
            self._sequences.want_new_epoch(partition)
        self._sequences.bump_own_epoch()
        if is_needed and not self._sequences.writer.is_valid and not self._is_waiting:
            self._ask()

    def _ask(self) -> None:
        self._is_waiting = True
        body = request_definition(ApiKey.INIT_PRODUCER_ID).new(
            transactional_id=None, transaction_timeout_ms=(1 << 31) - 1
        )
        self._network.ask(
            self._network.least_loaded(),
            ApiKey.INIT_PRODUCER_ID,
            body,
            self._answered,
            self._failed,
        )

    def _failed(self, failure: Failure) -> None:
        if failure.is_unsupported:
            self.error = ClientError("UNSUPPORTED_VERSION", failure.reason, fatal=True)
            return
        self._kernel.after(self._backoff.fail(), ("producer id",), self._ask)

    def _answered(self, answer: Struct) -> None:
        if answer.error_code == ErrorCode.NONE:
            self._is_waiting = False
            self._backoff.succeed()
            self._sequences.become(ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch))
            self._sequences.start_over_where_wanted()
        elif is_retriable(answer.error_code):
            self._kernel.after(self._backoff.fail(), ("producer id",), self._ask)
        else:
            self.error = Refusal(answer.error_code, "asking for a producer id", fatal=True)
