"""Decide for each claim and each target whether it holds there, from the results of its cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ci.claims.claim import Claim
from ci.claims.table import CLAIMS
from ci.findings.claims import CLAIMS as OF_RUNS

HOLDS, DIFFERS, UNSUPPORTED, NOT_EXAMINED = "holds", "differs", "unsupported", "not examined"
DIFFERS_AS_TOLD = "differs, as corrected"
"""The word for a claim that does not hold, while the target does what the correction says."""
IDS_TOLD = 3


@dataclass(frozen=True)
class Judged:
    """The result of one claim on one target. evidence: the cases that decided, or the reason why
    none did."""

    word: str
    evidence: str

    @property
    def text(self) -> str:
        return f"{self.word} ({self.evidence})" if self.evidence else self.word


def judged(claim: Claim, results: Mapping[str, Any]) -> Judged:
    """Return the result of a claim on one target, from the results of its cases there: it differs
    if one failed, and holds if one passed and none failed (a claim with a correction then differs
    as corrected). If none was judged, it is unsupported if one of them is, else not examined."""
    if not claim.cases:
        return Judged(NOT_EXAMINED, claim.why_none)
    own = [entry for entry in results["cases"] if entry["id"] in claim.cases]
    by_result = {
        kind: sorted({entry["id"] for entry in own if entry["result"] == kind})
        for kind in ("failed", "passed", "unsupported")
    }
    if by_result["failed"]:
        failed = by_result["failed"]
        first = next(entry for entry in own if entry["result"] == "failed")
        why = f"{', '.join(failed)} failed: {first['what'] or 'answer'}: {first['actual']}"
        return Judged(DIFFERS, why)
    if by_result["passed"]:
        word = DIFFERS_AS_TOLD if claim.correction else HOLDS
        return Judged(word, ", ".join(by_result["passed"][:IDS_TOLD]))
    if by_result["unsupported"]:
        reasons = sorted({str(entry["actual"]) for entry in own})
        return Judged(UNSUPPORTED, reasons[0])
    return Judged(NOT_EXAMINED, "its cases were not run")


def with_runs() -> frozenset[str]:
    """Return the ids of the claims for which docs/findings.md has recorded runs."""
    return frozenset(claim.id for claim in OF_RUNS)


def as_dict(all_of: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the document that programs read: for each claim and target the result's word and the
    cases that decided. all_of: the results of each target."""
    return {
        "version": 1,
        "claims": {
            claim.id: {
                "claim": claim.text,
                "correction": claim.correction,
                "targets": {
                    results["target"]: {"word": found.word, "evidence": found.evidence}
                    for results in all_of
                    for found in [judged(claim, results)]
                },
            }
            for claim in CLAIMS
        },
    }


def as_markdown(all_of: Sequence[Mapping[str, Any]]) -> str:
    """Return the table claim × target in Markdown. all_of: the results of each target."""
    names = [str(results["target"]) for results in all_of]
    runs = with_runs()
    lines = [
        "# Claims about Kafka",
        "",
        "Each row is a claim of published documents, with the cases that decide it. *Differs, as "
        "corrected*: the claim is wrong, and the target does what the correction says.",
        "`touchstone claims FILE…` wrote it from results of `touchstone conform --out FILE`.",
        "",
        "| id | claim | correction | runs | " + " | ".join(names) + " |",
        "|---" * (4 + len(names)) + "|",
    ]
    for claim in CLAIMS:
        cells = [
            claim.id,
            claim.text,
            claim.correction,
            "[findings](findings.md)" if claim.id in runs else "",
            *(judged(claim, results).text for results in all_of),
        ]
        lines.append("| " + " | ".join(_cell(text) for text in cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
