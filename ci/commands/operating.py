"""`touchstone status`: a running cluster, looked at."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ci.commands.options import (
    BootstrapOption,
    ClusterOption,
    JsonOption,
    check_above_zero,
    check_filled,
    chosen_target,
)
from ci.errors import UsageError

CLEAR = "\x1b[H\x1b[2J"
USUAL_BOOTSTRAP = "localhost:9092"


def status(
    bootstrap: BootstrapOption = None,
    cluster: ClusterOption = None,
    watch: Annotated[bool, typer.Option("--watch", help="Ask again until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(help="Seconds between two requests of --watch.")] = 2.0,
    as_json: JsonOption = False,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also show the longest steps of the reference nodes whose data are in DIR, or in"
            " folders of it.",
        ),
    ] = None,
) -> None:
    """Show any Kafka cluster: its quorum, and the leader, ISR, ELR and replicas' offsets of each
    partition. A `?` means that a replica does not report its offset."""
    from chaos.means.connection import WireError
    from ci.status.asking import status_of
    from ci.status.showing import as_document, as_lines

    check_above_zero(every=every)
    asked = _asked(bootstrap, cluster)
    while True:
        try:
            found = replace(status_of(asked), longest_steps=steps_in(data))
        except WireError as error:
            if not watch:
                raise UsageError(_why(asked) or str(error)) from error
            print(f"no broker answers: {error}")
        else:
            text = json.dumps(as_document(found)) if as_json else "\n".join(as_lines(found))
            print(text if as_json or not watch else CLEAR + text, flush=True)
        if not watch:
            return
        time.sleep(every)


def steps_in(data: Path | None) -> dict[str, list[dict[str, Any]]]:
    """Return data directory -> the longest steps, for each reference node whose data are in this
    directory or in a folder of it, or {} if `data` is None. Raise UsageError if there is no such
    node."""
    from reference_impl.host.steps import FILE

    if data is None:
        return {}
    files = sorted([*data.glob(FILE), *data.glob(f"*/{FILE}")])
    if not files:
        raise UsageError(
            f"status: no {FILE} in {data} or its folders: give the --data of `touchstone serve`"
        )
    return {str(file.parent): json.loads(file.read_text("utf-8")) for file in files}


def _asked(bootstrap: str | None, cluster: Path | None) -> str:
    """Return the addresses of --bootstrap, or of the file of --cluster or nearby, with what their
    listeners demand, or else USUAL_BOOTSTRAP. Raise UsageError if both are given, and TargetError
    for an invalid address or file."""
    from chaos.targets.bootstrap import addresses
    from chaos.targets.foreign.target import ForeignTarget, usual_file

    check_filled(bootstrap=bootstrap)
    if bootstrap and cluster:
        raise UsageError("status: give one of --bootstrap and --cluster")
    addresses(bootstrap or USUAL_BOOTSTRAP)  # refuse an invalid address first
    if bootstrap or not (cluster or usual_file(Path.cwd())):
        return bootstrap or USUAL_BOOTSTRAP
    return ForeignTarget(Path(chosen_target(None, cluster))).bootstrap


def _why(bootstrap: str) -> str:
    """Return a sentence that says why no broker answers, or "" if one does now."""
    from chaos.clients.wire.wire_link import parse_bootstrap
    from conformance.target.reach import Unreachable, reachable

    try:
        reachable(parse_bootstrap(bootstrap))
    except Unreachable as unreachable:
        return str(unreachable)
    return ""
