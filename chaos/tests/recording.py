"""A program that records for ever, for a test that kills it: senders and one reader of all."""

from __future__ import annotations

import random
import sys
import threading
import time
from pathlib import Path

from chaos.record.recorder import HistoryRecorder
from chaos.values.protocols import Completion, Outcome, Poll, Record, Send

CONTEXT = {"session": 0, "client": "test"}


def main(directory: Path) -> None:
    recorder = HistoryRecorder(directory, "killed", flush_s=0.05)
    log: list[int] = []

    def send(process: int) -> None:
        for number in range(1_000_000):
            value = process * 1_000_000 + number
            operation = Send("t", 0, (value,))
            op_id, invoked = recorder.next_op_id(), time.monotonic_ns()
            recorder.invoked(op_id, process, operation, invoked, CONTEXT)
            log.append(value)  # visible long before the send completes
            time.sleep(random.uniform(0.0, 0.02))
            record = Record("t", 0, value, None, Outcome.OK)
            recorder.record(
                op_id,
                process,
                operation,
                Completion(Outcome.OK, (record,)),
                invoked,
                time.monotonic_ns(),
                CONTEXT,
            )

    for process in range(4):
        threading.Thread(target=send, args=(process,), daemon=True).start()
    position = 0
    while True:
        op_id, invoked = recorder.next_op_id(), time.monotonic_ns()
        recorder.invoked(op_id, 9, Poll(), invoked, CONTEXT)
        seen = log[position:]
        records = [Record("t", 0, v, position + i) for i, v in enumerate(seen)]
        position += len(seen)
        recorder.record(
            op_id, 9, Poll(), Completion(Outcome.OK, records), invoked, time.monotonic_ns(), CONTEXT
        )
        time.sleep(0.001)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
