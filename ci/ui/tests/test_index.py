"""The index: every run is listed, what cannot be read is said, and the cache never lies."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ci.errors import UsageError
from ci.nightly.outcome import Outcome
from ci.nightly.records import Night, Store
from ci.report.model import Tone
from ci.ui import write_static
from ci.ui.badges import badge, badges_of
from ci.ui.index import CACHE, read_index
from ci.ui.page import FIELDS, PAGE_BYTES_MAX, page_of
from ci.ui.tests.stored import COMMIT, examinations, many, store, three_models

OPENED_S_MAX = 2.0


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return three_models(tmp_path_factory.mktemp("models"))


def test_every_run_is_listed_with_its_verdict_and_cause(
    tmp_path: Path, models: dict[str, Path]
) -> None:
    many(tmp_path, models, 20)
    index = read_index(tmp_path)
    assert [run.verdict for run in index.runs].count("invalid") == 2
    assert [run.verdict for run in index.runs].count("unknown") == 1
    assert len(index.runs) == 20
    assert not index.problems
    bad = next(run for run in index.runs if run.verdict == "invalid")
    assert bad.scenario == "apache:3.9.1 × 3, appends, pause"
    assert "lost" in bad.why
    assert bad.anomalies > 0
    assert bad.checkers["lost_writes"][0] == "invalid"
    assert bad.logs == ("nodes/1/node.log",)
    started = [run.started for run in index.runs]
    assert started == sorted(started, reverse=True)


def half(file: Path) -> None:
    content = file.read_bytes()
    file.unlink()  # a hard link of the model
    file.write_bytes(content[: len(content) // 2])


def newer(file: Path) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | {"version": 99}))


DAMAGES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "half a run.json": ("run.json", half, "run.json cannot be read (not complete JSON)"),
    "a newer run.json": ("run.json", newer, "update touchstone"),
    "no version": ("run.json", lambda f: f.write_text("{}"), "not a record of a run"),
    "a list": ("run.json", lambda f: f.write_text("[1]"), "not a JSON object"),
    "binary": ("run.json", lambda f: f.write_bytes(b"\xff\xfe\x00"), "cannot be read"),
    "deep": ("run.json", lambda f: f.write_text("[" * 100_000), "cannot be read"),
    "a number as target": (
        "run.json",
        lambda f: f.write_text('{"version": 1, "target": 7}'),
        "target is 7, not a text",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_that_cannot_be_read_is_told_in_a_sentence_and_the_others_are_shown(
    tmp_path: Path, models: dict[str, Path], damage: str
) -> None:
    file, harm, sentence = DAMAGES[damage]
    bad, good = store(tmp_path, models, "valid", 1), store(tmp_path, models, "valid", 2)
    harm(bad / file)
    index = read_index(tmp_path)
    assert [run.path for run in index.runs] == [good.name]
    assert sentence in index.problems[bad.name]
    assert "\n" not in index.problems[bad.name]
    assert bad.name in write_static(tmp_path, tmp_path).read_text()


NOT_JUDGED: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "half a verdict": ("verdict.json", half, "verdict.json cannot be read"),
    "no verdict in it": ("verdict.json", lambda f: f.write_text("{}"), "verdict.json cannot be"),
    "a strange verdict": (
        "verdict.json",
        lambda f: f.write_text('{"validity": "fine"}'),
        "verdict.json is not a verdict",
    ),
    "a newer verdict": (
        "verdict.json",
        lambda f: f.write_text(f.read_text().replace('"version": 1', '"version": 2')),
        "verdict.json is not a verdict",
    ),
    "not judged yet": ("verdict.json", Path.unlink, "there is no verdict.json"),
}


@pytest.mark.parametrize("damage", NOT_JUDGED)
def test_a_run_without_a_readable_verdict_is_listed_as_not_judged(
    tmp_path: Path, models: dict[str, Path], damage: str
) -> None:
    file, harm, sentence = NOT_JUDGED[damage]
    run = store(tmp_path, models, "valid", 1)
    (run / file).rename(run / "moved")
    (run / file).write_bytes((run / "moved").read_bytes())
    harm(run / file)
    (entry,) = read_index(tmp_path).runs
    assert entry.verdict == "not judged"
    assert sentence.removesuffix("cannot be") in entry.why


def test_a_valid_verdict_on_a_history_that_was_cut_off_is_not_shown_without_a_word(
    tmp_path: Path, models: dict[str, Path]
) -> None:
    run = store(tmp_path, models, "valid", 1)
    half(run / "history.parquet")
    (entry,) = read_index(tmp_path).runs
    assert entry.why == "history.parquet is cut off or damaged; record the run again"


def test_strange_values_are_shown_and_break_no_page(
    tmp_path: Path, models: dict[str, Path]
) -> None:
    hostile = "</script><script>alert(1)</script>\ud800"
    strange = {"seconds": 1e999, "counts": {"ok": 10**400, "fail": True}, "config": {hostile: 7}}
    store(tmp_path, models, "valid", 1, bug=hostile, **strange)
    (entry,) = read_index(tmp_path).runs
    page = page_of(read_index(tmp_path), "runs", lambda _: "")
    assert entry.seconds == 0.0
    assert "</script><script>alert" not in page
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(data)["rows"][0][FIELDS.index("bug")] == entry.bug
    for picture in badges_of(read_index(tmp_path)).values():
        picture.encode()


def test_a_single_run_is_refused(tmp_path: Path, models: dict[str, Path]) -> None:
    run = store(tmp_path, models, "valid", 1)
    with pytest.raises(UsageError, match="is one run: name the folder around it"):
        read_index(run)


def test_an_empty_directory_with_the_name_of_a_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "20260101T000000Z-reference-appends-none-1").mkdir()
    (sentence,) = read_index(tmp_path).problems.values()
    assert sentence.startswith("there is no run.json: the run was cut off before it began")


def test_the_cache_follows_a_run_that_changes_and_one_that_goes(
    tmp_path: Path, models: dict[str, Path]
) -> None:
    first, second = store(tmp_path, models, "valid", 1), store(tmp_path, models, "invalid", 2)
    assert {run.verdict for run in read_index(tmp_path).runs} == {"valid", "invalid"}
    assert read_index(tmp_path) == read_index(tmp_path)
    (second / "verdict.json").unlink()
    (second / "verdict.json").write_bytes((models["unknown"] / "verdict.json").read_bytes())
    assert {run.verdict for run in read_index(tmp_path).runs} == {"valid", "unknown"}
    for file in ("run.json", "verdict.json", "history.parquet", "report.html"):
        (first / file).unlink()
    (first / "nodes/1/node.log").unlink()
    assert [run.path for run in read_index(tmp_path).runs] == [second.name]


@pytest.mark.parametrize("broken", ["", "[]", '{"version": 1}', '{"version": 0, "places": {}}'])
def test_a_broken_cache_is_made_again(tmp_path: Path, models: dict[str, Path], broken: str) -> None:
    store(tmp_path, models, "valid", 1)
    whole = read_index(tmp_path)
    (tmp_path / CACHE).write_text(broken)
    assert read_index(tmp_path) == whole
    assert json.loads((tmp_path / CACHE).read_text())["places"]


def test_a_seed_with_two_verdicts_at_one_commit_is_flaky(
    tmp_path: Path, models: dict[str, Path]
) -> None:
    facts = {"target": "reference", "workload": "appends", "nemesis": "none"}
    store(tmp_path, models, "valid", 1, seed=5, **facts)
    store(tmp_path, models, "invalid", 2, seed=6, **facts)
    assert not read_index(tmp_path).flaky, "another seed"
    store(tmp_path, models, "invalid", 3, seed=5, commit="beef", **facts)
    store(tmp_path, models, "invalid", 4, seed=5, uncommitted_changes=True, **facts)
    assert not read_index(tmp_path).flaky, "another commit, or changes that are in none"
    store(tmp_path, models, "invalid", 5, seed=5, **facts)
    assert read_index(tmp_path).flaky == {"reference × 3, appends, none"}


def test_a_night_tells_what_was_expected_and_of_runs_that_were_deleted(
    tmp_path: Path, models: dict[str, Path]
) -> None:
    run = store(tmp_path, models, "invalid", 1, target="apache:4.3.1")
    night_store = Store(tmp_path)
    settings = {"commit": COMMIT, "seed": 1, "minutes": 5, "targets": ["apache:4.3.1"]}
    outcomes = [
        Outcome(
            "apache:4.3.1 × 3, transactions, kill-leader",
            f"touchstone … {name}",
            "apache:4.3.1",
            "regression",
            "acks=1 loses",
            "invalid",
            ("invalid",),
            "invalid: lost_writes",
            name,
            30.0,
            60.0,
        )
        for name in (run.name, "20251231T000000Z-gone")
    ]
    Night(
        night_store.night_file("2026-01-01T00:00:00+00:00"),
        settings,
        "2026-01-01T00:00:00+00:00",
        outcomes=outcomes,
    ).write()
    index = read_index(tmp_path)
    assert index.expected[run.name] == "invalid"
    assert [gone.path for gone in index.gone] == ["20251231T000000Z-gone"]
    assert "✓ 1 of 1 scenarios as expected" in badges_of(index)["chaos-apache_4.3.1.svg"]
    night_store.night_file("2026-01-02").parent.mkdir()
    night_store.night_file("2026-01-02").write_text("{")
    index = read_index(tmp_path)
    assert len(index.runs) == 1
    assert "is not a record of a night" in index.problems["nightly/nights/2026-01-02/nightly.json"]


def test_badges_never_show_unknown_as_green(tmp_path: Path, models: dict[str, Path]) -> None:
    store(tmp_path, models, "valid", 0)
    store(tmp_path, models, "unknown", 4)
    store(tmp_path, models, "valid", 1)
    examinations(tmp_path)
    badges = badges_of(read_index(tmp_path))
    assert "? 1 of 2 scenarios as expected" in badges["chaos-apache_4.3.1.svg"]
    assert "✓ 1 of 1 scenarios as expected" in badges["chaos-apache_3.9.1.svg"]
    assert "✓ 2 of 2 passed" in badges["conformance-reference.svg"]
    assert "✗ 1 of 2 passed" in badges["conformance-kfake.svg"]
    assert "&lt;script&gt;" in badge("<script>", "x", Tone.GOOD)


def test_a_file_that_is_nothing_of_ours_is_passed_over_and_a_damaged_result_is_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "settings.json").write_text('{"a": 1}')
    (tmp_path / "list.json").write_text("[1, 2]")
    told = {"target": "x", "passed": 1, "failed": 0, "unsupported": 0, "cases": [{"id": 7}]}
    (tmp_path / "results.json").write_text(json.dumps(told))
    index = read_index(tmp_path)
    assert list(index.problems) == ["results.json"]
    assert "the conformance results in results.json are damaged" in index.problems["results.json"]


def test_static_pages_among_the_runs_are_not_taken_for_runs(
    tmp_path: Path, models: dict[str, Path]
) -> None:
    store(tmp_path, models, "valid", 1)
    write_static(tmp_path, tmp_path / "site")
    assert list((tmp_path / "site").rglob("report.html"))
    index = read_index(tmp_path)
    assert len(index.runs) == 1
    assert not index.problems


def test_a_directory_that_may_only_be_read_is_listed_without_a_cache(
    tmp_path: Path, models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path, models, "valid", 1)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refuse)
    assert len(read_index(tmp_path).runs) == 1
    assert not (tmp_path / CACHE).exists()


def test_a_name_that_is_no_utf_8_is_told(tmp_path: Path, models: dict[str, Path]) -> None:
    store(tmp_path, models, "valid", 1)
    os.mkdir(os.fsencode(tmp_path) + b"/20260101T000000Z-\xff")
    index = read_index(tmp_path)
    assert len(index.runs) == 1
    assert list(index.problems.values()) == ["the name of this file is not UTF-8; rename it"]
    page_of(index, "runs", lambda _: "").encode()


def test_a_directory_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such directory of runs"):
        read_index(tmp_path / "nothing")


def test_a_thousand_runs_are_listed_in_two_seconds_and_two_megabytes(
    tmp_path: Path, models: dict[str, Path]
) -> None:
    many(tmp_path, models, 1000)
    read_index(tmp_path)
    begun = time.process_time()  # of this process alone: the machine may be busy
    page = page_of(read_index(tmp_path), "runs", lambda run: f"{run.path}/report.html")
    assert time.process_time() - begun < OPENED_S_MAX
    assert len(page.encode()) < PAGE_BYTES_MAX
    assert "do not fit" not in page


def test_of_very_many_runs_the_newest_fit_and_the_page_says_so(
    tmp_path: Path, models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = many(tmp_path, models, 60)
    monkeypatch.setattr("ci.ui.page.PAGE_BYTES_MAX", 90_000)
    page = page_of(read_index(tmp_path), "runs", lambda run: f"{run.path}/report.html")
    assert len(page.encode()) < 90_000
    assert "oldest do not fit into this page" in page
    assert runs[-1].name in page
    assert runs[0].name not in page
