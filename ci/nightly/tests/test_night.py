"""Test a night with faked attacks: which are repeated, recorded and printed."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest

from chaos.values.protocols import TargetError
from ci.attack import Judged
from ci.errors import UsageError
from ci.nightly.night import Nightly, explained
from ci.nightly.plan import Plan
from linearizability import history
from linearizability.verdict import CheckerVerdict, Validity, Verdict, merge

VALID, INVALID = Validity.VALID, Validity.INVALID


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Nightly]:
    """Return a night of one minute, whose attacks end as given, 20 s after each other."""

    def make(*verdicts: Validity | None) -> Nightly:
        clock = _clock()
        monkeypatch.setattr("ci.nightly.night.time.monotonic", lambda: next(clock))
        endings = chain(verdicts, repeat(VALID))
        monkeypatch.setattr(Nightly, "_attack", lambda *_: _judged(tmp_path, next(endings)))
        nightly = Nightly(1, Plan(("kfake",), seed=1), tmp_path / "runs", 1)
        return nightly

    return make


def _clock() -> Iterator[float]:
    """Return a clock on which every look costs ten seconds."""
    return (10.0 * tick for tick in range(1_000))


def _judged(directory: Path, verdict: Validity | None) -> Judged:
    if verdict is None:
        raise TargetError("there is no Java here")
    path = directory / "runs" / "a-run"
    path.mkdir(parents=True, exist_ok=True)
    history.write(path / "history.parquet", history.frame([]))
    return Judged(path, Verdict(verdict, "local", {}), {"interrupted": False})


def test_what_was_not_finished_says_why() -> None:
    opinions = [
        CheckerVerdict("lost_writes", VALID, 7),
        CheckerVerdict("run", Validity.UNKNOWN, 0, reason="no fault affected any node"),
    ]
    assert explained(merge(opinions, engine="local")) == "no fault affected any node"
    lost = CheckerVerdict("lost_writes", INVALID, 7)
    assert explained(merge([*opinions, lost], engine="local")) == "invalid: lost_writes"


def test_a_night_ends_when_its_time_is_up_and_is_on_record(
    play: Callable[..., Nightly], capsys: pytest.CaptureFixture[str]
) -> None:
    nightly = play()
    assert nightly.perform() == 0
    (recorded,) = nightly.store.nights()
    assert recorded.exit_status == 0
    assert len(recorded.outcomes) == 2
    assert "2 scenarios: 2 as expected" in capsys.readouterr().out
    assert (nightly.store.home / "trend.html").is_file()


def test_what_ends_as_it_must_not_is_run_again(play: Callable[..., Nightly]) -> None:
    nightly = play(INVALID, INVALID)
    assert nightly.perform() == 1
    assert nightly.night.outcomes[0].verdicts == ("invalid", "invalid")


def test_another_verdict_with_the_same_seed_is_flaky(
    play: Callable[..., Nightly], capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(INVALID, VALID).perform() == 1
    assert "flaky" in capsys.readouterr().out


def test_a_defect_of_ours_costs_one_scenario_not_the_night(
    play: Callable[..., Nightly], monkeypatch: pytest.MonkeyPatch
) -> None:
    nightly = play()

    def broken(*_: object) -> Judged:
        raise ZeroDivisionError("a judge fell")

    monkeypatch.setattr(Nightly, "_attack", broken)
    assert nightly.perform() == 3
    assert len(nightly.night.outcomes) > 1
    assert "a judge fell" in nightly.night.outcomes[0].reason


def test_jobs_run_at_once_and_each_is_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nightly = Nightly(60, Plan(("kfake",), seed=1), tmp_path / "runs", 1, jobs=2)
    together = threading.Barrier(2, timeout=600)

    def attack(
        _: Nightly, _scenario: object, own_ports: range, say: Callable[[str], None]
    ) -> Judged:
        together.wait()
        nightly._agenda.close()
        return _judged(tmp_path / str(own_ports.start), VALID)

    monkeypatch.setattr(Nightly, "_attack", attack)
    assert nightly.perform() == 0
    (recorded,) = nightly.store.nights()
    assert len(recorded.outcomes) == 2


def test_what_no_scenario_is_to_blame_for_ends_the_night(
    play: Callable[..., Nightly], monkeypatch: pytest.MonkeyPatch
) -> None:
    nightly = play()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(Nightly, "_record", full)
    with pytest.raises(OSError, match="no space left"):
        nightly.perform()


def test_a_broken_record_of_an_earlier_night_is_told_before_anything_is_run(
    play: Callable[..., Nightly],
) -> None:
    nightly = play()
    nightly.perform()
    nightly.night.file.write_text("{}")
    with pytest.raises(UsageError, match="is not a record of a night"):
        play()


def test_what_cannot_be_run_is_not_judged_and_says_why(
    play: Callable[..., Nightly], capsys: pytest.CaptureFixture[str]
) -> None:
    assert play(None).perform() == 3
    said = capsys.readouterr().out
    assert "not judged" in said
    assert "there is no Java here" in said
