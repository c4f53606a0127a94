"""One attack, and nothing else: `python -m ci.nightly.attacker SCENARIO.json RUNS RESULT.json`.

What `touchstone nightly` starts for each scenario (ci.nightly.job). It judges nothing, and ends in
good order (nodes stopped, links and disks removed) as soon as its standard input does.
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
    """Run the process: make the run, and write where it is."""
    plugins.load()
    threading.Thread(target=_end_with_input, daemon=True).start()
    told = attacked(Scenario(**json.loads(Path(asked).read_text())), Path(runs))
    unfinished = Path(f"{result}.unfinished")
    unfinished.write_text(json.dumps(told))
    unfinished.replace(result)


def attacked(scenario: Scenario, runs: Path) -> dict[str, str]:
    """Make a run. Return directory: of the run; error: why there is none to be judged, or "".

    A defect of ours costs one scenario, not the night.
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
    """Interrupt the run when our parent closes our input, or has died."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(*sys.argv[1:])
