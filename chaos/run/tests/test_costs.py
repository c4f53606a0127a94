"""The costs of a run are measured phase by phase, without the nodes' memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.run.costs import OURSELVES, Costs, own_processes, sentence

SAY_READY = "print('ready', flush=True); input()"


def test_phases_are_told_in_their_order_also_where_one_failed() -> None:
    costs = Costs()
    with costs.phase("start"):
        pass
    with pytest.raises(RuntimeError), costs.phase("attack"):
        raise RuntimeError
    assert list(costs.as_dict()["phases_s"]) == ["start", "attack"]


def test_memory_is_ours_and_our_helpers_but_not_the_nodes(tmp_path: Path) -> None:
    """The measured memory includes this process and its helpers, but not the nodes, whose command
    lines name the directory of the nodes."""
    helper, node = (
        subprocess.Popen(
            [sys.executable, "-c", SAY_READY, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for more in ((), (str(tmp_path / "node-1"),))
    )
    try:
        for process in (helper, node):
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        pids = dict(own_processes(tmp_path))
        assert pids[os.getpid()] == OURSELVES
        assert pids[helper.pid] == Path(sys.executable).name
        assert node.pid not in pids
        costs = Costs()
        costs.look(tmp_path)
        peaks = costs.as_dict()["peak_mib"]
        assert peaks[OURSELVES] > 10
        assert peaks[Path(sys.executable).name] > 1
    finally:
        for process in (helper, node):
            process.kill()
            process.communicate()


def test_one_sentence_says_both() -> None:
    costs = {"phases_s": {"start": 6.04, "attack": 60.0}, "peak_mib": {"harness": 130, "java": 90}}
    assert sentence(costs) == "66 s: start 6.0, attack 60.0; at most 130 MiB (harness)"
    assert sentence({"phases_s": {"start": 1.0}}) == "1 s: start 1.0"
