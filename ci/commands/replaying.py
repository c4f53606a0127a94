"""`touchstone replay`: perform the plan of a simulated run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linearizability.verdict import Validity


def replay(
    run: Annotated[Path, typer.Argument(help="Run directory that `touchstone sim` has kept.")],
    shrink: Annotated[
        bool, typer.Option(help="First reduce the plan for up to 2 minutes.")
    ] = False,
    target: Annotated[
        str | None,
        typer.Option(
            help="Perform it in real time, with the same faults at the same times, on this target"
            " of processes, such as reference."
        ),
    ] = None,
    anyway: Annotated[
        bool, typer.Option(help="Perform it although it was made for another commit.")
    ] = False,
) -> None:
    """Perform the plan of a simulated run again, and tell its story in numbered steps.

    With --target reference the same workload meets the same faults over processes.

    Exit status 1 if it is invalid, 3 if it is unknown.
    """
    from ci.simulation.replaying.replay import replayed

    done, said = replayed(run, reduced=shrink, anyway=anyway, target=target)
    print(done.story)
    print(said)
    status = {Validity.VALID: 0, Validity.INVALID: 1}.get(done.outcome.validity, 3)
    raise typer.Exit(status)
