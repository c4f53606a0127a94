"""`touchstone compare` and `touchstone claims`: set the results of several targets beside each
other, and beside what is claimed about Kafka."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ci.commands.examining import Cases
from ci.commands.options import JsonOption, MaxTimeOption, check_above_zero, check_directory
from ci.errors import UsageError

if TYPE_CHECKING:
    from ci.compare.attacks import Attacks
    from ci.compare.comparing import Compared
    from ci.compare.public import Row
    from ci.compare.speed import Speed

EXAMINED = ".json"
CLAIMED = ("id", "what", "actual")
COMPARED = ("id", "name", "area", "api", "priority", "requirement", "what", "expected", "actual")
"""The properties of a case that each command reads."""


def compare(
    targets: Annotated[
        list[str],
        typer.Argument(
            help="Two or more: targets to start (apache:4.3.1, kfake, …), addresses, or results of "
            "`conform --out FILE.json`."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Directory for comparison.html, .md and .json.")] = Path(
        "comparison"
    ),
    priority: Annotated[str, typer.Option(help="Lowest priority to run: P0, P1 or P2.")] = "P1",
    keyword: Annotated[
        str | None, typer.Option("-k", help="Run only these ids or names (pytest -k).")
    ] = None,
    max_time: MaxTimeOption = None,
    chaos: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Attack each target, too: three workloads under no fault, kills and pauses, each"
            " for this long; below 20 too little may happen to judge.",
        ),
    ] = None,
    nodes: Annotated[int, typer.Option(help="Number of nodes that --chaos attacks.")] = 1,
    speed: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Measure latency, throughput and memory of each target, too: each load for this"
            " long, after as long a warm-up.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare implementations: levels by profile, the cases that differ with their bytes and, if
    asked for, verdicts under attack and speed. Exits with 0 if every target was judged to the end,
    whatever the results, and with 3 otherwise."""
    from ci.compare.pages import write

    if len(targets) < 2:
        raise UsageError("compare: name at least two targets, or files of results")
    check_above_zero(chaos=chaos, speed=speed, nodes=nodes)
    if nodes != 1 and chaos is None:
        raise UsageError(f"--nodes {nodes} is for --chaos; give that, too")
    check_directory("--out", out)
    options = Cases(keyword=keyword, priority=priority, max_time=max_time).words(())
    for given in targets:
        _check(given)
    found = list(_examined(targets, options))
    started = [None if given.endswith(EXAMINED) else given for given in targets]
    if chaos is not None:
        attacks = (_attacks_on(given, chaos, nodes, out) for given in started)
        found = [replace(o, attacks=seen) for o, seen in zip(found, attacks, strict=True)]
    if speed is not None:
        speeds = (_speed_of(given, speed) for given in started)
        found = [replace(o, speed=seen) for o, seen in zip(found, speeds, strict=True)]
    _print(found, write(found, out), as_json=as_json)
    raise typer.Exit(0 if all(map(_is_judged, found)) else 3)


def _print(found: Sequence[Compared], page: Path, *, as_json: bool) -> None:
    """Print the whole comparison as JSON, or else a few lines, the last with the path of the
    page."""
    from ci.compare.comparing import as_dict, changed

    if as_json:
        print(json.dumps(as_dict(found), indent=2))
        return
    for one in found:
        counts = ", ".join(f"{number} {word}" for word, number in one.summary.items())
        print(f"{one.name}: {counts}, {len(one.causes())} groups of deviations")
        if one.attacks is not None:
            print(f"{one.name}, {one.attacks.told()}")
    if (change := changed(found)) is not None:
        print(change.told())
    print(page)


def _is_judged(one: Compared) -> bool:
    """Return whether cases of a target were judged, to the end, and so was each of its attacks."""
    examined = one.results["passed"] + one.results["failed"] and one.results["ended"] is None
    return bool(examined) and (one.attacks is None or one.attacks.are_judged)


def _examined(targets: Sequence[str], options: list[str]) -> Iterator[Compared]:
    """Examine each target, or read its file of results, one after the other. Yield the results
    under a name of its own, with a number if a target is named twice. Raise UsageError if one
    cannot be compared."""
    from ci.compare.comparing import Compared

    names: Counter[str] = Counter()
    for given in targets:
        results = _results_of(given, options)
        name = str(results["target"])
        names[name] += 1
        yield Compared(f"{name} #{names[name]}" if names[name] > 1 else name, results)


def _attacks_on(given: str | None, seconds: float, nodes: int, out: Path) -> Attacks | None:
    """Attack a target, and return its runs, or None for a file of results, which names none."""
    from ci.compare.attacking import attack

    return attack(given, seconds, nodes, out) if given is not None else None


def _speed_of(given: str | None, seconds: float) -> Speed | None:
    """Measure a target, and return its figures, or None for a file of results, which names none."""
    from ci.compare.measuring import measure

    return measure(given, seconds) if given is not None else None


def _check(given: str) -> None:
    """Raise UsageError for a file of results that is missing or cannot be compared, and TargetError
    for a wrong target. Call this before the first examination, which takes minutes."""
    from chaos.targets import parse_target

    if not given.endswith(EXAMINED):
        parse_target(given)
    elif not Path(given).is_file():
        raise UsageError(f"compare: {given}: no such file; `touchstone conform --out` writes one")
    else:
        _compared(Path(given))


def _results_of(given: str, options: list[str]) -> dict[str, Any]:
    """Return the results in a file, or those of an examination. Raise UsageError if the file cannot
    be compared, or no case could be run."""
    from ci.conform import examine

    if given.endswith(EXAMINED):
        return _compared(Path(given))
    return examine(["--target", given, *options, "--results-messages"], quiet=True)


def _compared(file: Path) -> dict[str, Any]:
    """Return the results in a file. Raise UsageError if they cannot be compared."""
    from conformance.reporting.reading import KINDS

    results = read_results(file, *COMPARED)
    if not all(isinstance(results.get(kind), int) for kind in KINDS):
        raise UsageError(
            f"{file} does not say how many cases passed and failed; give a file that"
            " `touchstone conform --out` has written"
        )
    return results


def read_results(path: Path, *needed: str) -> dict[str, Any]:
    """Return the results that `conform --out` has written, of which each case has the needed
    properties. Raise UsageError for any other file."""
    from conformance.reporting.reading import results_in

    try:
        return results_in(path.read_text(encoding="utf-8"), *needed)
    except ValueError as error:
        raise UsageError(f"{path} is not a result of conform: {error}") from None


def implementations(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[[NAME[:VERSION]=]FILE]…",
            help="Results of `conform --out`; NAME and VERSION if the results lack them, as in"
            " mine:2.1=mine.json.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE.md", help="Write this page; its rows are kept beside it.")
    ] = Path("implementations.md"),
    as_json: JsonOption = False,
) -> None:
    """Add examinations to a dated table of implementations: levels by profile, results by area, and
    the version of the suite. Without files, write the page again from its stored rows."""
    from ci.compare import public
    from ci.report.pipelines import check_place

    check_place("--out", out)
    rows_at = out.with_suffix(".json")
    if out == rows_at:
        raise UsageError(f"--out {out}: name a Markdown file; its rows go to {rows_at.name}")
    old, new = public.stored(rows_at), [_row_of(given) for given in files or ()]
    if not old and not new:
        raise UsageError("implementations: name a file of results; `conform --out` writes one")
    rows = public.merged(old, new)
    rows_at.write_text(public.as_json(rows), encoding="utf-8")
    out.write_text(public.as_page(rows), encoding="utf-8")
    print(public.as_json(rows) if as_json else out)


def _row_of(given: str) -> Row:
    """Return the table's row for FILE or NAME[:VERSION]=FILE. Raise UsageError if there is no such
    file or name, the file holds no results that can be compared, or the examination is not whole
    or judged nothing."""
    from ci.compare.public import row_of

    name, equals, file = given.rpartition("=")
    if Path(given).is_file():
        name, equals, file = "", "", given
    if equals and not name.partition(":")[0]:
        raise UsageError(f"implementations: {given}: give a name before =")
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"implementations: {file}: no such file; `conform --out` writes one")
    results = _compared(path)
    if results["ended"] is not None or results.get("not_run"):
        why = results["ended"] or f"{results['not_run']} cases were not run"
        raise UsageError(
            f"implementations: {file}: the examination is not whole: {why}; "
            "examine the target again"
        )
    if not results["passed"] + results["failed"]:
        raise UsageError(f"implementations: {file}: nothing was judged; examine the target again")
    return row_of(results, name or None, path.stat().st_mtime)


def claims(
    files: Annotated[
        list[Path], typer.Argument(exists=True, dir_okay=False, help="Results of `conform --out`.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table to this Markdown file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show which published claims about Kafka hold on the examined targets, by the cases that
    decide each."""
    from ci.claims.judging import as_dict, as_markdown, judged
    from ci.claims.table import CLAIMS
    from ci.report.pipelines import check_place

    check_place("--out", out)
    all_of = [read_results(path, *CLAIMED) for path in files]
    if out is not None:
        out.write_text(as_markdown(all_of), encoding="utf-8")
    if as_json:
        print(json.dumps(as_dict(all_of), indent=2))
        return
    for results in all_of:
        words = Counter(judged(claim, results).word for claim in CLAIMS)
        counts = ", ".join(f"{number} {word}" for word, number in sorted(words.items()))
        print(f"{results['target']}: {counts}")
