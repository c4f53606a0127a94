"""After a crash, recovery keeps a torn batch if the file has the batch's full length."""

from __future__ import annotations

from reference_impl.core.rules import Rules


class KeepTornTail(Rules):
    """Real-world kin: logs whose recovery walks the lengths, not the checksums.

    Breaks:     what is read is what was written (KIP-98, record batch: a CRC over the batch), and
                what is acknowledged is in the log: the torn batch is remembered as its producer's
                last, so the producer that sends it again is told that it is there.
    Caught by:  workload appends-mixed, nemesis torn-writes, config log.flush.interval.messages=1,
                client reference (librdkafka ends its process over such a batch), checkers
                phantom_records and lost_writes. No kill shows it, since the operating system keeps
                whole what it was given.
    Within:     one run of 20 seconds.
    """

    def check_batch(self, batch: memoryview) -> None:
        """Keep a batch whose length alone is right."""
