"""Describe a run directory for the list of runs, from run.json and verdict.json alone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from chaos.record.run_directory import RUN_JSON, why_unreadable
from linearizability.verdict import VERSION, Validity

FILES = (RUN_JSON, "verdict.json", "history.parquet", "report.html")
"""The files of a run that the list of runs is made from. The run is read again when one of them
changes."""
BYTES_MAX = 64 << 20
MAGIC = b"PAR1"
"""The bytes with which Parquet files begin and end."""
NOT_JUDGED = "not judged"
WHY_MAX = 240
NUMBER_MAX = 10**15
USUAL = "confluent"
"""The default client, which the name of a scenario does not mention."""
COUNTS = ("ok", "fail", "info", "records_acknowledged", "records_read", "faults")


class Unreadable(Exception):
    """Raised if a run cannot be listed; the message is one sentence that says why and what to
    do."""


@dataclass(frozen=True)
class Entry:
    """One run in the list. path: its directory, relative to the directory of runs.

    what: number of nodes, workload, nemesis and settings: the scenario without its target.
    checkers: name -> (validity, number of checks, number of anomalies). served: the measures of
    `availability`. logs: the nodes' log files, relative to the run.
    """

    path: str
    started: str
    target: str
    target_version: str
    workload: str
    nemesis: str
    bug: str
    what: str
    seconds: float
    seed: str
    commit: str
    is_committed: bool
    command: str
    verdict: str
    why: str
    anomalies: int
    engine: str
    checkers: Mapping[str, tuple[str, int, int]]
    counts: Mapping[str, int]
    served: Mapping[str, float]
    phases_s: Mapping[str, float]
    logs: tuple[str, ...]
    has_report: bool

    @property
    def scenario(self) -> str:
        """A name for the scenario and its target, which runs share that differ only in seed and
        date, or the path of a run without run.json."""
        return f"{self.target} {self.what}" if self.target else self.path

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Entry:
        """Return the entry that `as_dict` made this mapping of. Raise KeyError if a field is
        missing."""
        return Entry(**{field.name: data[field.name] for field in fields(Entry)})


def stamp_of(directory: Path) -> str:
    """Return a text that changes when a file of the run changes: size and modification time of
    each, "-" for one that is not there."""
    words = []
    for name in FILES:
        try:
            found = os.stat(directory / name)
        except OSError:
            words.append("-")
        else:
            words.append(f"{found.st_mtime_ns}.{found.st_size}")
    return " ".join(words)


def read_entry(directory: Path, path: str) -> Entry:
    """Return the entry for a run directory; `path` is the name that it gets. Raise Unreadable if
    run.json is damaged, of a newer version, or missing while there is no verdict or history either.
    A damaged verdict.json only leaves the run not judged, and the entry says why."""
    facts = _facts(directory)
    verdict, trouble = _verdict(directory)
    versions = _mapping(facts, "versions")
    counts = _mapping(facts, "counts")
    return Entry(
        path=path,
        started=_text(facts, "started") or _time_of_name(directory.name),
        target=_text(facts, "target"),
        target_version=_text(versions, "target"),
        workload=_text(facts, "workload"),
        nemesis=_text(facts, "nemesis"),
        bug=_text(facts, "bug"),
        what=_what(facts),
        seconds=_number(facts, "seconds"),
        seed=str(facts["seed"]) if isinstance(facts.get("seed"), int) else "",
        commit=_text(facts, "commit"),
        is_committed=facts.get("uncommitted_changes") is False,
        command=_text(facts, "reproduce"),
        verdict=str(verdict["validity"]) if verdict else NOT_JUDGED,
        why=_shortened(trouble or _why(facts, verdict)),
        anomalies=sum(int(c["anomaly_count"]) for c in verdict["checkers"].values())
        if verdict
        else 0,
        engine=encodable(str(verdict["engine"])) if verdict else "",
        checkers=_checkers(verdict),
        counts={key: int(n) for key, n in _numbers(counts).items() if key in COUNTS},
        served=_numbers(_mapping(verdict or {}, "availability")),
        phases_s=_numbers(_mapping(_mapping(facts, "costs"), "phases_s")),
        logs=tuple(sorted(f"nodes/{p.parent.name}/{p.name}" for p in _logs(directory))),
        has_report=(directory / "report.html").is_file(),
    )


def _facts(directory: Path) -> dict[str, Any]:
    """Return run.json, or an empty dict for a history that was judged outside of a run. Raise
    Unreadable if the run was cut off before it began, or run.json is unreadable."""
    if not (directory / RUN_JSON).exists():
        if (directory / "history.parquet").exists() or (directory / "verdict.json").exists():
            return {}
        raise Unreadable(
            "there is no run.json: the run was cut off before it began; delete the directory"
        )
    facts = read_json(directory / RUN_JSON, "record the run again, or delete the directory")
    if why := why_unreadable(facts):
        raise Unreadable(why)
    return facts


def read_json(file: Path, advice: str) -> dict[str, Any]:
    """Return the JSON object in a file. Raise Unreadable, ending with the advice, if the file
    cannot be read, is too large, or holds no object."""
    data = loaded(file, advice)
    if not isinstance(data, dict):
        raise Unreadable(f"{file.name} is not a JSON object; {advice}")
    return data


def loaded(file: Path, advice: str) -> Any:
    """Return the JSON value in a file. Raise Unreadable, ending with the advice, if the file cannot
    be read, is too large, or holds no JSON."""
    try:
        if file.stat().st_size > BYTES_MAX:
            raise Unreadable(f"{file.name} is larger than {BYTES_MAX >> 20} MB; {advice}")
        return json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not complete JSON"
        raise Unreadable(f"{file.name} cannot be read ({reason}); {advice}") from error


def _verdict(directory: Path) -> tuple[dict[str, Any] | None, str]:
    """Return verdict.json, or None if it is missing or holds no verdict; and the problem of that
    file or else of the history, or "" if neither has one."""
    file = directory / "verdict.json"
    again = "`touchstone check RUN` writes it again"
    try:
        data = read_json(file, again) if file.exists() else None
        if data is not None:
            if Validity(data["validity"]) is Validity.NOT_APPLICABLE:
                raise ValueError("a run is never not applicable")
            if data.get("version", VERSION) != VERSION:
                raise ValueError("a newer touchstone may mean something else")
            _checkers(data)
            str(data["engine"])
    except Unreadable as unreadable:
        return None, str(unreadable)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None, f"verdict.json is not a verdict; {again}"
    return data, _trouble_of_history(directory / "history.parquet")


def _trouble_of_history(file: Path) -> str:
    """Return why a history is incomplete, judging by the last bytes of its file, or ""."""
    try:
        with file.open("rb") as stream:
            start = stream.read(len(MAGIC))
            stream.seek(-len(MAGIC), os.SEEK_END)
            whole = start == stream.read() == MAGIC
    except FileNotFoundError:
        return ""
    except OSError:
        whole = False
    return "" if whole else "history.parquet is cut off or damaged; record the run again"


def _why(facts: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> str:
    """Return the reason for the verdict: the first cause if it is INVALID, else its stated reason,
    else why there is no verdict."""
    if verdict is None:
        begun = bool(facts) and facts.get("ended") is None
        return (
            "the run did not come to its end: run.json says no time at which it ended"
            if begun
            else "there is no verdict.json; `touchstone check RUN` writes it"
        )
    groups = verdict.get("groups")
    if verdict["validity"] == Validity.INVALID.value and isinstance(groups, list) and groups:
        first = groups[0].get("headline") if isinstance(groups[0], dict) else None
        return f"{verdict.get('reason')}: {first}" if first else str(verdict.get("reason") or "")
    return str(verdict.get("reason") or "")


def _what(facts: Mapping[str, Any]) -> str:
    """Return the scenario without its target, named as in the rows of the nightly trend."""
    nodes = facts.get("nodes")
    words = [f"× {nodes}" if isinstance(nodes, int) else ""]
    words += [_text(facts, "workload"), _text(facts, "nemesis")]
    client = _text(facts, "client")
    words.append(f"client {client}" if client not in ("", USUAL) else "")
    words.append(f"bug {bug}" if (bug := _text(facts, "bug")) else "")
    config = sorted(_mapping(facts, "config").items())
    words += [encodable(f"config {key}={value}") for key, value in config]
    return ", ".join(word for word in words if word)


def _checkers(verdict: Mapping[str, Any] | None) -> dict[str, tuple[str, int, int]]:
    return {
        str(name): (Validity(one["validity"]).value, int(one["checked"]), int(one["anomaly_count"]))
        for name, one in (verdict["checkers"].items() if verdict else ())
    }


def _logs(directory: Path) -> list[Path]:
    return [file for file in directory.glob("nodes/*/*.log") if file.stat().st_size]


def _time_of_name(name: str) -> str:
    """Return the time that a run directory's name begins with, such as
    20260102T030405Z-reference-…, in ISO 8601, or "" if it begins otherwise."""
    stamp = name[:16]
    digits = stamp[:8] + stamp[9:15]
    if len(stamp) != 16 or not digits.isdecimal() or stamp[8] + stamp[15] != "TZ":
        return ""
    day, time = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}", digits[8:]
    return f"{day}T{time[:2]}:{time[2:4]}:{time[4:6]}+00:00"


def _text(facts: Mapping[str, Any], key: str) -> str:
    value = facts.get(key)
    if value is not None and not isinstance(value, str):
        raise Unreadable(f"run.json: {key} is {value!r}, not a text; record the run again")
    return encodable(value or "")


def encodable(text: str) -> str:
    """Return the text with "?" for each lone surrogate, which JSON may contain but UTF-8 cannot
    encode."""
    return text.encode(errors="replace").decode()


def _number(facts: Mapping[str, Any], key: str) -> float:
    return _numbers(facts).get(key, 0.0)


def _mapping(facts: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = facts.get(key)
    return value if isinstance(value, dict) else {}


def _numbers(facts: Mapping[str, Any]) -> dict[str, float]:
    """Return the finite numbers of an object, since JSON has no NaN or infinity."""
    return {
        encodable(key): round(float(value), 4)
        for key, value in facts.items()
        if isinstance(value, int | float) and -NUMBER_MAX < value < NUMBER_MAX
    }


def _shortened(text: str) -> str:
    text = encodable(" ".join(text.split()))
    return text if len(text) <= WHY_MAX else text[: WHY_MAX - 1] + "…"
