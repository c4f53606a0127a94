"""After a crash, recovery keeps a torn batch if the file has the batch's full length."""

from __future__ import annotations

from reference_impl.core.rules import Rules


class KeepTornTail(Rules):
    """Real-world kin: logs whose recovery checks the lengths, not the checksums.

    Breaks:     a reader must get the records as they were written (KIP-98, record batch: a CRC over
                the batch), and acknowledged records must be in the log: the broker remembers the
                torn batch as its producer's last, so the producer that sends it again is told that
                it is in the log.
    Caught by:  workload appends-mixed, nemesis torn-writes, config log.flush.interval.messages=1,
                client reference (librdkafka ends its process over such a batch), checkers
                phantom_records and lost_writes. No kill shows it, since the operating system keeps
                the bytes that were written.
    Within:     one run of 20 seconds.
    """

    def check_batch(self, batch: memoryview) -> None:
        """Accept a batch if its length is right, whatever its checksum."""
