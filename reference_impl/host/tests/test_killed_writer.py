"""The promise on real files: what a killed process had acknowledged is there, whole, afterwards."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reference_impl.core.log import LogDirectory
from reference_impl.core.log.tests.helpers import RULES, TOPIC_ID, small_segments, values
from reference_impl.host.disk import Disk

WRITER = """
import sys
from reference_impl.core.log import LogDirectory
from reference_impl.core.log.tests.helpers import RULES, TOPIC_ID, append, batch, small_segments
from reference_impl.host.disk import Disk

directory = LogDirectory(Disk(), sys.argv[1], RULES)
log = directory.open_log("orders", 0, TOPIC_ID, small_segments(20_000), 0)
while True:
    number = log.log_end_offset
    append(log, batch(b"%d" % number, b"%d" % (number + 1)))
    sys.stdout.write(f"{number + 1}\\n")
    sys.stdout.flush()
"""


def write_until_killed(directory: Path, acknowledgements: int) -> int:
    """Kill the writer after so many acknowledgements; the last offset that it acknowledged."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(directory)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    try:
        for _ in range(acknowledgements):
            acknowledged = int(writer.stdout.readline())
    finally:
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read()
        writer.wait(timeout=600)
    lines = [line for line in rest.split("\n")[:-1] if line]
    return int(lines[-1]) if lines else acknowledged


@pytest.mark.seeds(2)
def test_no_acknowledged_record_is_lost_by_kill_9(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(2):
        acknowledged = write_until_killed(tmp_path, chance.randrange(200, 2000))
        directory = LogDirectory(Disk(), str(tmp_path), RULES)
        log = directory.open_log("orders", 0, TOPIC_ID, small_segments(20_000), 0)
        assert log.log_end_offset > acknowledged
        assert values(log) == [b"%d" % number for number in range(log.log_end_offset)]
        log.close(clean=False)
