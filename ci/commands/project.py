"""`touchstone doctor`, `demo` and `bench`: this machine, and the project as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ci.commands.options import JsonOption, check_above_zero, check_directory


def doctor(as_json: JsonOption = False) -> None:
    """List each component: found or not, what is lost without it, what mends it."""
    from ci import doctor as doctor_module

    components = doctor_module.components()
    print(doctor_module.as_json(components) if as_json else doctor_module.render(components))


def setup(
    components: Annotated[
        list[str] | None, typer.Argument(help="Only these, as `touchstone doctor` names them.")
    ] = None,
) -> None:
    """Bring the tools that Python packages cannot: toxiproxy, porcupine, the shim, Kafka's jars."""
    from ci.tools.build import bring

    raise typer.Exit(bring(components or []))


def demo(
    seconds: Annotated[float, typer.Option(help="Length of the attack on Apache Kafka.")] = 30,
    out: Annotated[Path, typer.Option(help="Directory of the report and the runs.")] = Path(
        "runs/demo"
    ),
) -> None:
    """Doctor, conformance, chaos, judges, canaries, report: everything once."""
    from ci.demo import run_demo

    check_above_zero(seconds=seconds)
    check_directory("--out", out)
    raise typer.Exit(run_demo(seconds, out))


def bench(
    names: Annotated[list[str] | None, typer.Argument(help="recorder, judges, broker.")] = None,
) -> None:
    """Measure speed and memory as ratios within one run; 1 if a bound is broken."""
    from ci.bench import run_bench

    raise typer.Exit(run_bench(names or []))
