"""Perform one attack, without judging it: `python -m ci.nightly.attacker SCENARIO.json RUNS
RESULT.json`.

`touchstone nightly` starts this process for each scenario (ci.nightly.job). It shuts down in good
order (nodes stopped, links and disks removed) as soon as its standard input closes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from pathlib import Path

from chaos.record.run_directory import Scenario
from chaos.run.runner import run
from chaos.values.protocols import TargetError
from ci import plugins


def main(asked: str, runs: str, result: str) -> None:
    """Make the run, and write its directory or its error to the file `result`."""
    plugins.load()
    threading.Thread(target=_end_with_input, daemon=True).start()
    told = attacked(Scenario(**json.loads(Path(asked).read_text())), Path(runs))
    unfinished = Path(f"{result}.unfinished")
    unfinished.write_text(json.dumps(told))
    unfinished.replace(result)


def attacked(scenario: Scenario, runs: Path) -> dict[str, str]:
    """Make a run. Return {"directory": its path, "error": ""}, or an error that says why there is
    nothing to judge.

    A bug of Touchstone itself fails one scenario, not the night.
    """
    try:
        made = run(scenario, runs, argv=sys.argv[1:])
    except TargetError as error:
        return {"directory": "", "error": str(error)}
    except Exception as error:
        traceback.print_exception(error)
        return {
            "directory": "",
            "error": f"a defect of touchstone: {type(error).__name__}: {error}",
        }
    interrupted = "it was interrupted" if made.interrupted else ""
    return {"directory": str(made.directory), "error": interrupted}


def _end_with_input() -> None:
    """Interrupt the run when the parent process closes our standard input or dies."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(*sys.argv[1:])
