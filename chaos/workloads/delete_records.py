"""DeleteRecords: appends, and requests that delete the beginning of the log."""

from __future__ import annotations

from collections.abc import Generator
from random import Random

from chaos.values.operations import DeleteRecords
from chaos.values.protocols import Completion, Operation, Outcome, Send
from chaos.workloads.appends import Appends
from chaos.workloads.sending import send_for_ever


class DeletingRecords(Appends):
    """Append, and now and then delete the records below some offset: those records must disappear,
    and no others.

    Spec: KIP-107. A producer deletes below a record that it knows to be acknowledged, or just after
    it; now and then below the current high watermark.
    """

    name = topic = "delete-records"
    judged_by = ("retention", "high_watermark", *Appends.judged_by)
    partitions = 4
    from_log_start = True
    processes = Appends.processes + 1
    delete_share = 0.03
    below_high_watermark_share = 0.1
    most_kept = 50

    def send(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Yield sends, some of them followed by a deletion in the same partition."""
        sends = send_for_ever(self.topic, self.partitions, process, rng)
        operation = next(sends)
        while True:
            completion = yield operation
            # Drawn whatever happened, so that a failure does not shift later choices.
            deletes, kept = rng.random() < self.delete_share, rng.randint(-1, self.most_kept)
            everything = rng.random() < self.below_high_watermark_share
            if deletes and completion.outcome is Outcome.OK and completion.records:
                last = completion.records[-1].offset
                assert isinstance(operation, Send)
                if everything:
                    yield DeleteRecords(self.topic, operation.partition, None)
                elif last is not None:
                    offset = max(0, last - kept)
                    yield DeleteRecords(self.topic, operation.partition, offset)
            operation = sends.send(completion)
