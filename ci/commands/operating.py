"""`touchstone status`: a running cluster, looked at."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer

from ci.commands.options import JsonOption, check_above_zero
from ci.errors import UsageError

CLEAR = "\x1b[H\x1b[2J"


def status(
    bootstrap: Annotated[
        str, typer.Option(help="The running cluster at host:port[,host:port…].")
    ] = "localhost:9092",
    watch: Annotated[bool, typer.Option("--watch", help="Ask again until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(help="Seconds between two requests of --watch.")] = 2.0,
    as_json: JsonOption = False,
) -> None:
    """Show any Kafka cluster: its quorum, and the leader, ISR, ELR and replicas' offsets of each
    partition. A `?` means that a replica does not report its offset."""
    from chaos.means.connection import WireError
    from ci.status.asking import status_of
    from ci.status.showing import as_document, as_lines

    check_above_zero(every=every)
    while True:
        try:
            found = status_of(bootstrap)
        except WireError as error:
            if not watch:
                raise UsageError(f"{error}; name a broker by --bootstrap host:port") from error
            print(f"no broker answers: {error}")
        else:
            text = json.dumps(as_document(found)) if as_json else "\n".join(as_lines(found))
            print(text if as_json or not watch else CLEAR + text, flush=True)
        if not watch:
            return
        time.sleep(every)
