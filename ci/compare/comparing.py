"""Set the results of several targets beside each other, and group deviations by their cause; with
them their verdicts under attack and their speed, where these were asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ci.compare.attacks import Attacks, worse_and_better
from ci.compare.beside import Beside, beside
from ci.compare.profiles import PROFILES, Entry, Standing, standing
from ci.compare.speed import MEASURES, Speed
from ci.compare.variables import without_variables

RANK = ("failed", "passed", "unsupported")
"""The results that a case can have; of several versions of a case, the result that comes first here
counts."""
CLIPPED = 300
NOT_STATED = "not stated"


@dataclass(frozen=True)
class Cause:
    """Deviations of one target that show the same difference, and so probably have one cause."""

    what: str
    expected: str
    actual: str
    entries: tuple[Entry, ...]

    @property
    def ids(self) -> list[str]:
        return sorted({entry["id"] for entry in self.entries})


@dataclass(frozen=True)
class Compared:
    """The results of one target. attacks, speed: None if it was not attacked, or not measured."""

    name: str
    results: Mapping[str, Any]
    attacks: Attacks | None = None
    speed: Speed | None = None

    @property
    def entries(self) -> Sequence[Entry]:
        entries: Sequence[Entry] = self.results["cases"]
        return entries

    @property
    def summary(self) -> dict[str, int]:
        return {kind: int(self.results[kind]) for kind in ("passed", "failed", "unsupported")}

    @property
    def suite(self) -> str | None:
        """Return the version of the cases, or None if the results do not say it."""
        return self.results.get("suite")

    def versions(self, api: str) -> str | None:
        """Return the versions of an API that the target advertises, such as "0-11", or None if it
        advertises none. Results of an older Touchstone do not say it: NOT_STATED."""
        if (advertised := self.results.get("advertised")) is None:
            return NOT_STATED
        return None if api not in advertised else "{}-{}".format(*advertised[api])

    def by_case(self) -> dict[tuple[str, str], str]:
        """Return (case id, function) -> its result. If the function ran with several versions or
        parameters, the worst result counts."""
        found: dict[tuple[str, str], str] = {}
        for entry in self.entries:
            key = entry["id"], entry["name"]
            found[key] = min(found.get(key, entry["result"]), entry["result"], key=RANK.index)
        return found

    def causes(self) -> list[Cause]:
        """Return the failed runs, grouped by what differs; the largest group first."""
        groups: dict[tuple[str, str, str], list[Entry]] = defaultdict(list)
        for entry in self.entries:
            if entry["result"] == "failed":
                groups[_difference(entry)].append(entry)
        causes = [Cause(*key, tuple(entries)) for key, entries in groups.items()]
        return sorted(causes, key=lambda cause: (-len(cause.entries), cause.ids))

    def standings(self) -> list[Standing]:
        return [standing(profile, self.entries) for profile in PROFILES]


def _difference(entry: Entry) -> tuple[str, str, str]:
    """Return text that says what was compared, expected and found, without the parts that differ
    from run to run. For a bare error the text names the API, too, since the error alone says too
    little."""
    what = entry["what"] or entry["requirement"]
    if what in ("error", "answer", "errors"):
        what = f"{what} of {entry['api']}"
    sides = (what, entry["expected"] or "", entry["actual"] or "")
    what, expected, actual = (without_variables(str(side))[:CLIPPED] for side in sides)
    return what, expected, actual


def areas_of(all_of: Sequence[Compared]) -> dict[str, dict[str, dict[str, int]]]:
    """Return area -> target -> the number of its runs by result."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for one in all_of:
        for entry in one.entries:
            of_target = found.setdefault(entry["area"], {})
            counts = of_target.setdefault(one.name, dict.fromkeys(RANK, 0))
            counts[entry["result"]] += 1
    return found


def versions_of(all_of: Sequence[Compared]) -> dict[str, list[str | None]]:
    """Return API -> the versions that each target advertises, for each API on which they differ."""
    apis = sorted({api for one in all_of for api in one.results.get("advertised") or ()})
    found = {api: [one.versions(api) for one in all_of] for api in apis}
    return {api: versions for api, versions in found.items() if len(set(versions)) > 1}


def differing(all_of: Sequence[Compared]) -> list[tuple[str, str, list[str]]]:
    """Return (id, function, result of each target) of each case on which the targets differ, with
    "-" where a target has no result."""
    found = [one.by_case() for one in all_of]
    rows = []
    for key in sorted({key for results in found for key in results}):
        results = [of_target.get(key, "-") for of_target in found]
        if len(set(results)) > 1:
            rows.append((*key, results))
    return rows


@dataclass(frozen=True)
class Changed:
    """The cases and attacks on which one implementation has changed between two examinations of it;
    a case is (id, function)."""

    before: str
    after: str
    worse: tuple[tuple[str, str], ...]
    """Cases that fail now, and did not fail before."""
    better: tuple[tuple[str, str], ...]
    """Cases that failed before, and pass now."""
    attacks: tuple[str, ...] = ()
    """A sentence for each attack whose verdict was INVALID only before, or is only now."""

    def told(self) -> str:
        """Return the change as one sentence."""
        return (
            f"from {self.before} to {self.after}: {len(self.worse)} more cases fail,"
            f" {len(self.better)} that failed pass"
        )


def changed(all_of: Sequence[Compared]) -> Changed | None:
    """Return how an implementation has changed if there are two results, both of one
    implementation, in two versions or at two times; else None. The first result counts as the
    earlier one."""
    if len(all_of) != 2 or not _is_one(*(str(one.results["target"]) for one in all_of)):
        return None
    old, new = (one.by_case() for one in all_of)
    worse = sorted(k for k in new if new[k] == "failed" and old.get(k) != "failed")
    better = sorted(k for k in new if new[k] == "passed" and old.get(k) == "failed")
    attacks = tuple(worse_and_better(all_of[0].attacks, all_of[1].attacks))
    return Changed(all_of[0].name, all_of[1].name, tuple(worse), tuple(better), attacks)


def _is_one(first: str, second: str) -> bool:
    """Return whether two names are of one target, such as apache:3.9 and apache:4.3.1. Two
    addresses are of one target only if they are the same."""
    (name, _, _), (other, _, version) = first.partition(":"), second.partition(":")
    return first == second or (name == other and not version.partition(",")[0].isdigit())


def beside_others(entry: Entry, own: Compared, all_of: Sequence[Compared]) -> Beside | None:
    """Return a failed case of a target beside the same case of another one, or None if there is no
    other target."""
    return beside(entry, [(one.name, one.entries) for one in all_of if one is not own])


def as_dict(all_of: Sequence[Compared]) -> dict[str, Any]:
    """Return the whole comparison as JSON values, for programs."""
    return {
        "version": 1,
        "summary": {one.name: one.summary for one in all_of},
        "suites": {one.name: one.suite for one in all_of},
        "ended": {one.name: one.results["ended"] for one in all_of},
        "profiles": {
            one.name: {each.profile: each.as_dict() for each in one.standings()} for one in all_of
        },
        "areas": areas_of(all_of),
        "versions": {
            api: dict(zip((o.name for o in all_of), versions, strict=True))
            for api, versions in versions_of(all_of).items()
        },
        "changed": None if (found := changed(all_of)) is None else asdict(found),
        "differences": [
            {
                "id": id,
                "name": name,
                "results": dict(zip((o.name for o in all_of), results, strict=True)),
            }
            for id, name, results in differing(all_of)
        ],
        "deviations": {
            one.name: [_deviation(cause, one, all_of) for cause in one.causes()] for one in all_of
        },
        "attacks": {one.name: one.attacks and one.attacks.as_list() for one in all_of},
        "measures": {name: {"title": m.title, "unit": m.unit} for name, m in MEASURES.items()},
        "speed": {one.name: one.speed and one.speed.as_dict(all_of[0].speed) for one in all_of},
    }


def _deviation(cause: Cause, own: Compared, all_of: Sequence[Compared]) -> dict[str, Any]:
    first = cause.entries[0]
    other = beside_others(first, own, all_of)
    return {
        "what": cause.what,
        "expected": cause.expected,
        "actual": cause.actual,
        "cases": cause.ids,
        "runs": len(cause.entries),
        "reproduce": first["reproduce"],
        "exchange": first.get("exchange", []),
        "beside": None if other is None else other.as_dict(),
    }
