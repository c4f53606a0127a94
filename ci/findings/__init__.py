"""Write one page with pictures on what runs have shown about published claims: `touchstone findings
RUNS…`. It reads run directories only. Each finding shows its scenario, seed, verdict, counts,
picture, and the command that repeats the run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.record import run_directory
from chaos.record.run_directory import RUN_JSON, RunDirectoryError
from chaos.scenarios.effects import Effects, counted, effects_of
from ci.errors import UsageError
from ci.findings.claims import CLAIMS, Claim
from ci.findings.picture import draw
from linearizability import history
from linearizability.judging import VERDICT_FILE
from linearizability.verdict import Validity

HEAD = """\
# Findings

This page compares published claims about Kafka with recorded runs. `touchstone findings` generates
it; the command below each finding repeats its run. A record counts as gone if it was acknowledged
to its sender, and no leader's log contains it after every fault was healed. Where no promise covers
the loss, a verdict of invalid accuses nobody: it shows that Touchstone sees a loss where there is
one. A node is stopped before its power goes, since one that ran on for a millisecond could
acknowledge a record that no node without power could have acknowledged.
"""


@dataclass(frozen=True)
class Finding:
    """A published claim, and the run that supports or contradicts it."""

    claim: Claim
    run: Path
    facts: Mapping[str, Any]
    validity: str
    reason: str
    effects: Effects
    accusations: tuple[str, ...] = ()
    """The anomalies of the checker that contradicts the claim."""

    @property
    def verdict(self) -> str:
        return f"**{self.validity}**" + (f" ({self.reason})" if self.reason else "")

    @property
    def meaning(self) -> str:
        """The meaning of the outcome for the claim."""
        claim = self.claim
        of_losses = not claim.broken_by and not claim.accused_by
        if self.noted or self.accusations or (self.effects.lost and of_losses):
            return self.claim.lost
        if self.validity == Validity.VALID.value:
            return self.claim.kept
        return "Something else is wrong, or could not be decided: see the verdict."

    @property
    def noted(self) -> tuple[str, ...]:
        """The notes of the run that contradict the claim."""
        broken_by = self.claim.broken_by
        notes = map(str, self.facts.get("notes") or ())
        return tuple(note for note in notes if broken_by and broken_by in note)

    @property
    def slug(self) -> str:
        """The name of the finding's picture, without the extension: the target, the claim, its
        nemesis, workload and settings in lower case."""
        words = [self.facts["target"], self.claim.id, self.claim.nemesis, self.claim.workload]
        words += [value for pair in sorted(self.claim.config.items()) for value in pair]
        return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")


def run_directories(paths: Sequence[Path]) -> list[Path]:
    """Return the given run directories and those directly below the given folders. Raise UsageError
    for a path that is neither a run directory nor holds one."""
    found: list[Path] = []
    for path in paths:
        here = [path] if (path / RUN_JSON).is_file() else sorted(path.glob(f"*/{RUN_JSON}"))
        if not here:
            raise UsageError(f"findings: {path} is not a run directory and holds none; name others")
        found += [each.parent if each.name == RUN_JSON else each for each in here]
    return found


def findings_of(paths: Sequence[Path]) -> list[Finding]:
    """Return the findings of runs, in the order of the claims; runs that no claim is about are left
    out. Of several runs for one claim and target, the one whose name comes last counts: it is the
    newest. Raise UsageError for a path without runs."""
    newest: dict[tuple[int, str], Finding] = {}
    for run in sorted(run_directories(paths), key=lambda path: path.name):
        finding = _finding(run)
        if finding is not None:
            newest[CLAIMS.index(finding.claim), str(finding.facts["target"])] = finding
    return [newest[key] for key in sorted(newest)]


def _finding(run: Path) -> Finding | None:
    """Return the run's finding, or None if the run concerns no claim, was not judged, or cannot
    decide it."""
    try:
        facts = run_directory.read(run)
    except RunDirectoryError:
        return None
    claim = next((claim for claim in CLAIMS if claim.is_of(facts)), None)
    if claim is None or not (run / VERDICT_FILE).is_file():
        return None
    # Readers whom an anomaly holds up do not finish: that is no reason to leave it out.
    effects = counted(history.scan(run)) if claim.accused_by else effects_of(run)
    if effects.problem:
        return None
    verdict = json.loads((run / VERDICT_FILE).read_text())
    accuser = verdict["checkers"].get(claim.accused_by, {})
    return Finding(
        claim,
        run,
        facts,
        verdict["validity"],
        verdict["reason"] or "",
        effects,
        tuple(sorted(each["message"] for each in accuser.get("anomalies", ()))),
    )


def write_findings(paths: Sequence[Path], out: Path) -> list[Finding]:
    """Write the page to `out`, and its pictures into a folder beside it that has its name without
    extension; return the findings. Raise UsageError if no run is about a claim."""
    findings = findings_of(paths)
    if not findings:
        raise UsageError(
            "findings: none of these runs is about a claim (ci/findings/claims.py); make one with"
            " `touchstone scenarios --table` or `touchstone nightly`"
        )
    pictures = out.with_suffix("")
    for finding in findings:
        draw(finding.run, pictures / f"{finding.slug}.svg")
    out.write_text("\n".join([HEAD, *_summary(findings), *_sections(findings, pictures.name)]))
    return findings


def _summary(findings: Sequence[Finding]) -> Iterator[str]:
    yield "| claim | on | what | records gone | verdict |"
    yield "|---|---|---|---|---|"
    for f in findings:
        gone = f"{f.effects.lost:,} of {f.effects.sent:,}"
        yield f"| {f.claim.id} | {_place(f)} | {f.claim.title} | {gone} | {f.validity} |"
    yield ""


def _sections(findings: Sequence[Finding], folder: str) -> Iterator[str]:
    for f in findings:
        yield f"## {f.claim.title} ({_place(f)})\n"
        yield f"**Claim {f.claim.id}.** {f.claim.claim}\n"
        yield f"**Seen.** {_seen(f)} {f.meaning}\n"
        yield f"![Acknowledged records by second]({folder}/{f.slug}.svg)\n"
        yield f"- scenario: workload `{f.facts['workload']}`, nemesis `{f.facts['nemesis']}`"
        yield f"- seed: {f.facts['seed']}; run `{f.run.name}`"
        yield f"- verdict: {f.verdict}"
        yield f"\n```\n{f.facts['reproduce']}\n```\n"


def _place(finding: Finding) -> str:
    return f"{finding.facts['target']} × {finding.facts['nodes']}"


def _seen(finding: Finding) -> str:
    effects = finding.effects
    if finding.accusations:
        first, *others = finding.accusations
        more = f" The same in {len(others)} more." if others else ""
        return f"In {first}.{more}"
    if finding.claim.broken_by:
        return f"{'; '.join(finding.noted) or 'Nothing of that kind was noted'}."
    if effects.lost:
        return f"{effects.lost:,} of {effects.sent:,} acknowledged records are gone."
    return f"All {effects.sent:,} acknowledged records are there."
