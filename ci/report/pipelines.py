"""Write findings for continuous integration: as SARIF 2.1.0, which code forges show as annotations,
and as Markdown for the summary of a step.

SARIF needs a place in a file for each finding. It is the first line of the file that describes the
cluster, where there is one, since the user can change that file; else it is the file of the
conformance case.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaos.targets.foreign.target import SUFFIX
from ci.errors import UsageError
from ci.places import leave_no_empty

if TYPE_CHECKING:
    from ci.attack import Judged

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FAILED_MAX = 50
"""The most failed cases that a summary shows."""


def check_apart(places: Mapping[str, Path | None]) -> None:
    """Raise UsageError if two options name the same file, since one would overwrite the other. A
    path that is there but no regular file, such as /dev/null, may be named twice."""
    named: dict[Path, str] = {}
    for option, path in places.items():
        if path is None or (path.exists() and not path.is_file()):  # such as /dev/null
            continue
        first = named.setdefault(path.resolve(), option)
        if first != option:
            raise UsageError(f"{first} and {option} name the same file, {path}; name two files")


def check_places(sarif: Path | None, summary: Path | None) -> None:
    """Raise UsageError if one of the files cannot be written; call this before the run."""
    check_apart({"--sarif": sarif, "--summary": summary})
    check_place("--sarif", sarif)
    check_place("--summary", summary)


def check_place(option: str, path: Path | None) -> None:
    """Raise UsageError if the file cannot be written. Make its folder, but leave no empty file. Do
    nothing without a path."""
    if path is None:
        return
    leave_no_empty(path.parent)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        with path.open("ab"):
            pass
        if is_new:
            path.unlink()
    except OSError as error:
        why = f"{error.strerror or error}; name a file that can be written"
        raise UsageError(f"{option} {path}: {why}") from error


def write_sarif(path: Path | None, document: Mapping[str, Any]) -> None:
    """Write the document as JSON, unless path is None."""
    if path is not None:
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def write_summary(path: Path | None, text: str) -> None:
    """Append the text to the file, unless path is None."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(text.rstrip() + "\n")


# --- conform --------------------------------------------------------------------------------------


def sarif_of_examination(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return the failed cases of a conformance run as SARIF: one rule per case, one result per
    failed version."""
    failed = [entry for entry in results["cases"] if entry["result"] == "failed"]
    rules = {each["id"]: (each["name"], each["requirement"]) for each in failed}
    found = [
        _result(
            entry["id"],
            f"{entry['what']}: expected {entry['expected']}, actual {entry['actual']}\n"
            f"must: {entry['requirement']}\nreproduce: {entry['reproduce']}",
            _place(results["target"], entry["nodeid"].partition("::")[0]),
            entry["nodeid"],
        )
        for entry in failed
    ]
    return _document(rules, found)


def summary_of_examination(results: Mapping[str, Any]) -> str:
    """Return Markdown with the counts, and a row for each failed case, up to FAILED_MAX of them:
    its requirement, and the expected and the actual value."""
    counts = ", ".join(f"{results[each]:,} {each}" for each in ("passed", "failed", "unsupported"))
    lines = [f"### touchstone conform: `{results['target']}`", "", f"{counts}."]
    if results["ended"]:
        lines += [
            "",
            f"Ended early: {results['ended']}; {results['not_run']:,} cases were not run.",
        ]
    failed = [entry for entry in results["cases"] if entry["result"] == "failed"]
    if failed:
        lines += ["", "| case | requirement | expected | actual |", "|---|---|---|---|"]
        columns = ("id", "requirement", "expected", "actual")
        for each in failed[:FAILED_MAX]:
            lines.append(f"| {' | '.join(_cell(each[name]) for name in columns)} |")
    if len(failed) > FAILED_MAX:
        lines += ["", f"And {len(failed) - FAILED_MAX:,} more."]
    return "\n".join([*lines, ""])


# --- chaos ----------------------------------------------------------------------------------------


def sarif_of_verdict(judged: Judged) -> dict[str, Any]:
    """Return SARIF with one result per cause of an INVALID verdict, or one result with the reason
    of an UNKNOWN verdict."""
    from linearizability.checkers.table import CHECKERS
    from linearizability.stories.telling import facts_of

    verdict, place = judged.verdict, _place(str(judged.run.get("target", "")), "touchstone.toml")
    reproduce = judged.run.get("reproduce", f"touchstone check {judged.path}")
    rules, found = {}, []
    for group in verdict.groups:
        checker = group.example[0]
        known = CHECKERS.get(checker.partition(" ")[0])
        rules[checker] = (checker, known.title if known else group.family)
        told = f"{group.headline} ({'; '.join(facts_of(group))})\n{group.story}"
        found.append(_result(checker, f"{told}\nreproduce: {reproduce}", place, f"{group.number}"))
    if verdict.validity == "unknown":
        rules["unknown"] = ("unknown", "A run without a certain verdict has not passed")
        told = f"The run is UNKNOWN: {verdict.reason}\nreproduce: {reproduce}"
        found.append(_result("unknown", told, place, "unknown", level="warning"))
    return _document(rules, found)


# --- SARIF ----------------------------------------------------------------------------------------


def _document(rules: Mapping[str, tuple[str, str]], found: Iterable[Any]) -> dict[str, Any]:
    described = [
        {"id": id, "name": name, "shortDescription": {"text": text}}
        for id, (name, text) in rules.items()
    ]
    driver = {"name": "Touchstone", "rules": described}
    run = {"tool": {"driver": driver}, "results": list(found)}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(rule: str, text: str, place: str, print_: str, level: str = "error") -> dict[str, Any]:
    where = {"artifactLocation": {"uri": place}, "region": {"startLine": 1}}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": where}],
        "partialFingerprints": {"touchstone/v1": print_},
    }


def _place(target: str, otherwise: str) -> str:
    return target if target.endswith(SUFFIX) else otherwise


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")
