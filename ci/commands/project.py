"""`touchstone doctor`, `demo` and `bench`: this machine, and the project as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ci.commands.options import JsonOption, check_above_zero, check_directory


def doctor(
    mend: Annotated[
        bool, typer.Option("--mend", help="End and remove what killed commands left behind.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List each component: whether it is here, what does not work without it, how to install it.

    Exit status 1 if a command that was killed has left processes, disks or the like behind.
    """
    from chaos.means import leftovers
    from ci import doctor as doctor_module
    from ci import plugins
    from ci.commands import leftovers_shown

    if mend:
        leftovers.remove()
    left = leftovers.find()
    components = [*doctor_module.components(), *doctor_module.of_plugins(plugins.load())]
    if as_json:
        print(doctor_module.as_json([*components, *leftovers_shown.left_behind(left)]))
    else:
        print(doctor_module.render(components))
        print(leftovers_shown.render_left_behind(left, mend), end="")
    raise typer.Exit(1 if left else 0)


def setup(
    components: Annotated[
        list[str] | None,
        typer.Argument(help="Install only these, named as in `touchstone doctor`."),
    ] = None,
) -> None:
    """Install the tools that pip cannot: toxiproxy, porcupine, the shim, Kafka's jars."""
    from ci.tools.build import bring

    raise typer.Exit(bring(components or []))


def demo(
    seconds: Annotated[float, typer.Option(help="Seconds of the attack on Apache Kafka.")] = 30,
    out: Annotated[Path, typer.Option(help="Directory of the report and the runs.")] = Path(
        "runs/demo"
    ),
) -> None:
    """Run everything once: doctor, conformance, chaos, judges, canaries, report."""
    from ci.demo import run_demo

    check_above_zero(seconds=seconds)
    check_directory("--out", out)
    raise typer.Exit(run_demo(seconds, out))


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Benchmarks to run, such as recorder, judges, broker."),
    ] = None,
) -> None:
    """Measure speed and memory as ratios within one run; exit 1 if a bound is broken."""
    from chaos.means import leftovers
    from ci.bench import run_bench

    leftovers.remove_and_mark_children()
    raise typer.Exit(run_bench(names or []))
