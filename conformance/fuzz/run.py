"""Divide the time of a fuzz run, and send what a report names again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

from conformance.case import Deviation
from conformance.connection import api_key
from conformance.fuzz import machine
from conformance.fuzz.findings import Finding, Findings
from conformance.fuzz.frames import FrameFuzz
from conformance.fuzz.judge import patience_s, read_request, why_wrong
from conformance.fuzz.model import play
from conformance.fuzz.volley import Outcome, Volley
from conformance.fuzz.world import World
from conformance.target.examination import Examined
from conformance.wire import Connection, Wire
from reference_impl.wire import Malformed, decode_response

OF_MUTANTS = 0.6
"""The share of the time after which the mutants give way to other frames, sent or not."""
SEQUENCES = 10
"""The number of sequences of operations that are played before random frames get a turn."""
RANDOM_S = 5.0


@dataclass
class FuzzOutcome:
    """The findings of a run, and its figures in one line."""

    findings: Findings
    summary: str


def fuzz(
    examined: Examined, seed: int, seconds: float, options: str, say: Callable[[str], None]
) -> FuzzOutcome:
    """Send every mutant, then sequences of operations and random frames in turns, until the seconds
    are up (random frames only to targets that were started here). Return what was found. options:
    how the command that repeats a finding names the target. say: gets the findings of the mutants
    as text, when these end."""
    began, findings = time.monotonic(), Findings()
    wire = Wire(examined.bootstrap, examined.advertised)
    try:
        world = World(wire)
        world.create()
        frames = FrameFuzz(examined, world, findings, options)

        def is_after(share: float) -> bool:
            return time.monotonic() - began > share * seconds

        all_sent = frames.attack(frames.systematic(), lambda: is_after(OF_MUTANTS))
        frames.check_log()
        say(f"{findings.text()}{_figures(frames, 0, 0, all_sent, time.monotonic() - began)}")
        steps = sequences = 0
        for turn in count():
            if is_after(1):
                break
            played, failed = machine.run(
                lambda: Wire(examined.bootstrap, examined.advertised),
                seed * 1_000_003 + turn,
                SEQUENCES,
            )
            steps, sequences = steps + played, sequences + SEQUENCES
            if failed is not None:
                findings.add(_of_steps(*failed, options))
            until = time.monotonic() + RANDOM_S
            if frames.is_ours:
                frames.attack(
                    frames.at_random(f"{seed}:{turn}"),
                    lambda: is_after(1) or time.monotonic() > until,  # noqa: B023 - used at once
                )
        elapsed_s = time.monotonic() - began
        return FuzzOutcome(findings, _figures(frames, sequences, steps, all_sent, elapsed_s))
    finally:
        wire.close()


def _of_steps(steps: str, error: BaseException, options: str) -> Finding:
    return Finding(
        f"Operations v*: {steps}", str(error), f'touchstone conform {options} --steps "{steps}"'
    )


def _figures(
    frames: FrameFuzz, sequences: int, steps: int, all_sent: bool, elapsed_s: float
) -> str:
    counts = frames.counts
    sent = counts["frames"]
    text = f"{sent:,} frames in {elapsed_s:.0f} s: " + ", ".join(
        f"{counts[kind]:,} {kind}" for kind in ("answered", "closed", "silent")
    )
    text += "" if all_sent else "; the time ended before the last mutant"
    name = "wrong only among other frames"
    text += f"; {counts[name]:,} {name}" if counts[name] else ""
    text += f"; {sequences:,} sequences of {steps:,} operations"
    return f"{text}; {len(frames.findings)} kinds of findings"


def send_again(examined: Examined, frames: Sequence[str], say: Callable[[str], None]) -> bool:
    """Send frames of a report, given in hex, one after another, and tell what becomes of each.
    Return whether all were treated as they may be. Raise ValueError for text that is not hex."""
    wire = Wire(examined.bootstrap, examined.advertised)
    try:
        world = World(wire)
        world.create()
        is_right = True
        for text in frames:
            frame = world.renamed(world.at_home(bytes.fromhex(text)))
            with Volley(partial(Connection, *wire.addresses[0], access=wire.access)) as volley:
                outcome = volley.alone(frame, patience_s(frame, examined.advertised))
            why = why_wrong(frame, outcome, examined.advertised)
            if (dead := examined.restart_if_dead()) is not None:
                why = f"the target died after this frame: {dead}"
            say(f"{_told(frame, outcome, examined)}\n{f'WRONG: {why}' if why else 'allowed'}")
            is_right = is_right and why is None
        return is_right
    finally:
        wire.close()


def _told(frame: bytes, outcome: Outcome, examined: Examined) -> str:
    """Return the request and its outcome, decoded as far as possible."""
    try:
        api, version, _, asked = read_request(frame, examined.advertised)
    except Malformed as why:
        return f"request: {frame.hex()}\ncannot be read: {why}\noutcome: {outcome.kind}"
    try:
        _, answer = decode_response(outcome.answer, api_key(api), version)
        shown = repr(answer)
    except Malformed:
        shown = outcome.answer.hex()
    return f"request: {api} v{version} {asked!r}\noutcome: {outcome.kind} {shown}"


def play_again(examined: Examined, steps: str, say: Callable[[str], None]) -> bool:
    """Play a sequence of operations again. Return whether the target did what the model says, and
    pass the result to `say` as a sentence. Raise ValueError for an unknown operation."""
    wire = Wire(examined.bootstrap, examined.advertised)
    try:
        play(wire, steps)
    except (*machine.WRONG, Deviation) as error:
        say(f"WRONG: {error}")
        return False
    finally:
        wire.close()
    say("as the model says")
    return True
