"""`touchstone conform --fuzz`: malformed requests and random operations for any target."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ci.commands.options import seconds_of
from ci.errors import UsageError

if TYPE_CHECKING:
    from conformance.target.examination import Examined

FuzzOption = Annotated[
    float | None,
    typer.Option(
        "--fuzz",
        metavar="TIME",
        parser=seconds_of,
        help="Send malformed requests and random operations for this long (90s, 10m, 1h).",
    ),
]
SeedOption = Annotated[int, typer.Option(help="Seed of --fuzz.")]
FrameOption = Annotated[
    list[str] | None,
    typer.Option(metavar="HEX", help="Send a frame that --fuzz has reported; repeatable."),
]
StepsOption = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Perform again the operations that --fuzz has reported."),
]


@dataclass(frozen=True)
class Attacked:
    """The target of a fuzz run, and where its findings go."""

    target: str | None
    bootstrap: str | None
    nodes: int
    bug: str | None
    out: Path | None
    as_json: bool

    @property
    def options(self) -> str:
        """The options that name this target."""
        text = f"--target {self.target}" if self.target else f"--bootstrap {self.bootstrap}"
        text += f" --nodes {self.nodes}" if self.nodes != 1 else ""
        return text + (f" --bug {self.bug}" if self.bug else "")


def attack(
    attacked: Attacked, seconds: float | None, seed: int, frames: Sequence[str], steps: str | None
) -> int:
    """Fuzz the target for so many seconds or, if `seconds` is None, send again the frames or steps
    that a run has reported. Return the exit status: 0 if nothing is wrong; 1 if something is, or
    the target does not come back. Raise UsageError if seconds come with frames or steps, an option
    is unusable, or the target cannot be started."""
    from chaos.means import leftovers
    from chaos.values.protocols import TargetError
    from ci.conform import check_writable
    from conformance.target.examination import Examined

    if seconds is not None and (frames or steps):
        raise UsageError("conform: --fuzz excludes --frame and --steps; leave out one or the other")
    if any(not re.fullmatch(r"([0-9a-f]{2})+", frame) for frame in frames):
        raise UsageError("--frame: give a request's bytes, without its size, in lower-case hex")
    check_writable("--out", attacked.out)
    from conformance.fuzz import run  # noqa: F401 - Hypothesis may be missing: before any start

    leftovers.remove_and_mark_children()
    try:
        examined = Examined.start(
            attacked.target, attacked.bootstrap, attacked.bug, None, None, attacked.nodes
        )
    except TargetError as error:
        raise UsageError(str(error)) from None
    try:
        if seconds is None:
            return _again(examined, frames, steps)
        return _fuzz(examined, attacked, seed, seconds)
    except TargetError as error:
        print(f"touchstone: the target does not come back: {error}", file=sys.stderr)
        return 1
    finally:
        examined.stop()


def _fuzz(examined: Examined, attacked: Attacked, seed: int, seconds: float) -> int:
    from conformance.fuzz.run import fuzz

    def say(line: str) -> None:
        print(line, file=sys.stderr if attacked.as_json else sys.stdout, flush=True)

    outcome = fuzz(examined, seed, seconds, attacked.options, say)
    say(f"\n{outcome.findings.text()}{outcome.summary}")
    rows = {"seed": seed, "summary": outcome.summary, "findings": outcome.findings.as_rows()}
    if attacked.out is not None:
        attacked.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    if attacked.as_json:
        print(json.dumps(rows, indent=2))
    return 1 if len(outcome.findings) else 0


def _again(examined: Examined, frames: Sequence[str], steps: str | None) -> int:
    from conformance.fuzz.run import play_again, send_again

    is_right = send_again(examined, frames, print) if frames else True
    if steps:
        try:
            is_right = play_again(examined, steps, print) and is_right
        except (ValueError, TypeError) as error:
            raise UsageError(f"--steps {steps}: {error}") from None
    return 0 if is_right else 1
