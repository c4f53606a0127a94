"""Draw badges: small SVG pictures for a README or a wiki that give the state of a target in one
word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from ci.report.model import Tone, worst
from ci.ui.entry import NOT_JUDGED, Entry
from ci.ui.examined import Examined
from ci.ui.index import Index
from linearizability.verdict import Validity

COLOURS = {Tone.GOOD: "#0f6b33", Tone.BAD: "#b3182b", Tone.UNKNOWN: "#7a5200", Tone.NONE: "#59636e"}
TONES = {
    Validity.VALID.value: Tone.GOOD,
    Validity.INVALID.value: Tone.BAD,
    Validity.UNKNOWN.value: Tone.UNKNOWN,
    NOT_JUDGED: Tone.UNKNOWN,
}
CHARACTER, PAD, HEIGHT = 6.7, 8, 20
WORDS_MAX = 60


def badges_of(index: Index) -> dict[str, str]:
    """Return file name -> SVG: for each target one badge for chaos and one for conformance."""
    made = {}
    for target, runs in _newest_by_scenario(index).items():
        made[f"chaos-{_plain(target)}.svg"] = badge(f"chaos {target}", *_stand(runs, index))
    for each in reversed(index.examinations):  # the newest one stays
        name = f"conformance-{_plain(each.target)}.svg"
        made[name] = badge(f"conformance {each.target}", *_examined(each))
    return made


def badge(label: str, word: str, tone: Tone) -> str:
    """Return an SVG of two fields, label and word, each cut off at WORDS_MAX characters, which also
    carries both for screen readers."""
    label, word = label[:WORDS_MAX], f"{tone.symbol} {word}"[:WORDS_MAX]
    left, right = (len(text) * CHARACTER + 2 * PAD for text in (label, word))
    both = escape(f"{label}: {word}")
    texts = "".join(
        f'<text x="{x:.1f}" y="14" text-anchor="middle">{escape(text)}</text>'
        for x, text in ((left / 2, label), (left + right / 2, word))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:.0f}" height="{HEIGHT}" '
        f'role="img" aria-label="{both}"><title>{both}</title>'
        f'<rect width="{left:.1f}" height="{HEIGHT}" fill="#3b434d"/>'
        f'<rect x="{left:.1f}" width="{right:.1f}" height="{HEIGHT}" fill="{COLOURS[tone]}"/>'
        f'<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g>'
        "</svg>\n"
    )


def _newest_by_scenario(index: Index) -> dict[str, list[Entry]]:
    """Return target -> the newest run of each of its scenarios. Runs with planted bugs are left
    out, since they must be INVALID."""
    newest: dict[tuple[str, str], Entry] = {}
    for entry in index.runs:
        if entry.target and not entry.bug:
            newest.setdefault((entry.target, entry.what), entry)
    found: dict[str, list[Entry]] = {}
    for (target, _), entry in sorted(newest.items()):
        found.setdefault(target, []).append(entry)
    return found


def _stand(runs: Sequence[Entry], index: Index) -> tuple[str, Tone]:
    """Return the badge's text (the number of scenarios that ended as expected, INVALID included
    where their night expects it) and its tone, the worst of all scenarios. A flaky scenario is
    BAD."""
    tones = [_tone(run, index) for run in runs]
    if any(run.scenario in index.flaky for run in runs):
        tones.append(Tone.BAD)
    good = sum(_tone(run, index) is Tone.GOOD for run in runs)
    return f"{good} of {len(runs)} scenarios as expected", worst(tones)


def _tone(run: Entry, index: Index) -> Tone:
    name = run.path.rpartition("/")[2]
    if run.verdict == Validity.INVALID.value == index.expected.get(name):
        return Tone.GOOD
    return TONES[run.verdict]


def _examined(each: Examined) -> tuple[str, Tone]:
    judged = each.passed + each.failed
    tones = [Tone.BAD] * bool(each.failed) + [Tone.UNKNOWN] * bool(each.ended or each.not_run)
    return f"{each.passed} of {judged} passed", worst([*tones, *[Tone.GOOD] * bool(each.passed)])


def _plain(target: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", target)


def verdicts(entries: Sequence[Entry]) -> Iterator[tuple[str, int, Tone]]:
    """Yield each verdict, the number of runs that have it, and its tone."""
    for verdict, tone in TONES.items():
        yield verdict, sum(entry.verdict == verdict for entry in entries), tone
