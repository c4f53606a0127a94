"""The command line `touchstone`: the composition root. The commands are in ci.commands.

Exit status everywhere: 0 valid or passed, 1 invalid or failed, 2 usage or environment error,
3 unknown (not judged, or not to the end).
"""

from __future__ import annotations

import signal
from importlib.metadata import version
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ci.commands.attacking import chaos_app
from ci.commands.broker import bugs, fuzz, kills, serve
from ci.commands.comparing import claims, compare, implementations
from ci.commands.examining import conform_app
from ci.commands.examples import epilog
from ci.commands.judging import check, report, ui
from ci.commands.nights import findings, nightly, scenarios
from ci.commands.operating import status
from ci.commands.project import bench, demo, doctor, setup
from ci.commands.replaying import replay
from ci.commands.simulating import sim
from ci.errors import explain
from ci.plugins import load_and_tell


class Group(TyperGroup):
    """The top command: it reports every error as one sentence with its documented exit status
    (ci.errors)."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        try:
            load_and_tell()
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise typer.Exit(explain(interrupt)) from interrupt
        except Exception as error:
            if isinstance(error, (typer.Exit, typer.Abort)) or hasattr(error, "exit_code"):
                raise  # errors and output of the command line itself: usage errors, --help
            raise typer.Exit(explain(error)) from error


COMMANDS = (
    doctor,
    setup,
    serve,
    status,
    check,
    report,
    ui,
    compare,
    implementations,
    claims,
    demo,
    nightly,
    scenarios,
    findings,
    bench,
    fuzz,
    kills,
    sim,
    replay,
    bugs,
)
"""The commands in the order of `touchstone --help`."""

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Test whether a system behaves like Apache Kafka. Exit status: 0 valid or passed, "
    "1 invalid or failed, 2 usage or environment error, 3 unknown.",
)
for command in COMMANDS:
    app.command(epilog=epilog(command.__name__))(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from conformance.reporting.results import SUITE

        print(f"touchstone {version('touchstone-kafka')} (suite {SUITE})")
        raise typer.Exit()


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


for name, inner in (("conform", conform_app), ("chaos", chaos_app)):
    app.add_typer(inner, name=name, epilog=epilog(name))
    for each in inner.registered_commands:
        each.epilog = epilog(f"{name} {each.name}")


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line and end the process with the documented exit status."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    finally:  # all work is done: a signal must not change the exit status
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


if __name__ == "__main__":
    main()
