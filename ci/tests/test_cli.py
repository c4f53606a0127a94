"""The command line: what is wrong is said in one sentence, with the documented exit status."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ci.bench.table import Ratio, Table
from ci.bugs import render_bugs
from ci.cli import app
from ci.commands.judging import _seeds_done
from ci.commands.nights import targets_named
from ci.commands.options import check_above_zero, check_directory, check_judges, pairs
from ci.errors import UsageError, explain
from linearizability import history
from reference_impl.bugs.clients import CLIENT_BUGS
from reference_impl.bugs.cluster import BROKER_BUGS

ROOT = Path(__file__).resolve().parents[2]
INTERRUPTED = "touchstone: interrupted before it was done\n"


def touchstone(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ci.cli", *words],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=cwd,
    )


@pytest.mark.sliced(3)
@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["conform"], "--target"),
        (["conform", "--target", "apach"], "apache"),
        (["chaos", "run", "--target", "apach", "--workload", "appends"], "apache"),
        (["chaos", "run", "--target", "reference", "--workload", "append"], "appends"),
        (
            ["chaos", "run", "--target", "reference", "--workload", "appends", "--nemesis", "kil"],
            "kill",
        ),
        (
            ["chaos", "run", "--target", "reference", "--workload", "appends", "--config", "x"],
            "key=value",
        ),
        (
            [
                "chaos",
                "run",
                "--target",
                "reference",
                "--workload",
                "appends",
                "--config-file",
                "no-such-file",
            ],
            "--config-file no-such-file: No such file",
        ),
        (
            [
                "chaos",
                "run",
                "--target",
                "reference",
                "--workload",
                "appends",
                "--nemesis",
                "partition-link",
            ],
            "needs at least 2 nodes",
        ),
        (["check", "no-such-run"], "no-such-run"),
        (["report", "no-such-run"], "no-such-run"),
        (["serve", "--nodes", "3", "--controllers", "4"], "--controllers 4"),
        (["serve", "--config", "no.such.key=1"], "no.such.key"),
        (["conform", "--target", "reference", "--nodes", "2"], "--nodes 2: give 1 or 3"),
        (["bench", "nothing"], "recorder"),
        (["nightly", "--targets", "apach"], "apache"),
    ],
    ids=lambda value: "-".join(value[:3]) if isinstance(value, list) else None,
)
def test_what_is_wrong_is_one_sentence_and_exit_2(
    words: list[str], names: str, tmp_path: Path
) -> None:
    ended = touchstone(*words, cwd=tmp_path)
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    assert names in ended.stderr


def test_a_wrong_option_is_exit_2() -> None:
    ended = touchstone("check", "--no-such-option")
    assert ended.returncode == 2
    assert "--no-such-option" in ended.stderr


def test_check_ends_in_the_status_of_its_verdict(tmp_path: Path) -> None:
    sent = {"f": "send", "topic": "t", "partition": 0, "acks": -1, "idempotent": True, "value": 1}
    read = {"f": "poll", "topic": "t", "partition": 0, "value": 1, "isolation": "read_uncommitted"}
    valid, invalid, empty = (tmp_path / f"{name}.parquet" for name in ("valid", "invalid", "empty"))
    history.write(valid, history.frame([{**sent, "offset": 0}, {**read, "offset": 0}]))
    history.write(
        invalid,
        history.frame(
            [{**sent, "offset": 0}, {**read, "offset": 0}, {**read, "offset": 1, "process": 1}]
        ),
    )
    history.write(empty, history.frame([]))
    for file, status, said in ((valid, 0, "valid"), (invalid, 1, "invalid"), (empty, 3, "unknown")):
        ended = touchstone("check", str(file), "--engine", "local", "--json")
        assert ended.returncode == status, ended.stderr
        assert json.loads(ended.stdout)["validity"] == said


def test_check_judges_a_history_of_jepsen(tmp_path: Path) -> None:
    event = {"process": 0, "f": "send", "value": [["send", 1, [0, 7]]]}
    file = tmp_path / "history.txt"
    file.write_text(
        json.dumps(event | {"index": 0, "time": 0, "type": "invoke"})
        + "\n"
        + json.dumps(event | {"index": 1, "time": 1, "type": "ok"})
        + "\n"
        + json.dumps({"index": 2, "time": 2, "process": 1, "type": "invoke", "f": "poll"})
        + "\n"
        + json.dumps(
            {
                "index": 3,
                "time": 3,
                "process": 1,
                "type": "ok",
                "f": "poll",
                "value": [["poll", {"1": [[0, 7], [1, 7]]}]],
            }
        )
        + "\n"
    )
    ended = touchstone("check", str(file), "--format", "jepsen", "--json")
    verdict = json.loads(ended.stdout)
    assert (ended.returncode, verdict["validity"], verdict["engine"]) == (1, "invalid", "local")
    (anomaly,) = verdict["checkers"]["duplicates"]["anomalies"]
    assert anomaly["operations"] == [1, 3]
    file.write_text("{}")
    ended = touchstone("check", str(file), "--format", "jepsen")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "line 1: 'process' is missing" in ended.stderr


def test_check_judges_by_the_rules_of_jepsen() -> None:
    """Jepsen allows that a later send lands at a lower offset."""
    histories = Path(__file__).resolve().parents[2] / "linearizability" / "tests" / "histories"
    command = ("check", str(histories / "later-send-at-lower-offset.jsonl"), "--engine", "local")
    assert touchstone(*command).returncode == 1
    allowed = touchstone(*command, "--profile", "jepsen")
    assert allowed.returncode == 0, allowed.stderr
    assert "append-order" in allowed.stdout
    assert "reported only (Jepsen: G0-realtime, allowed)" in allowed.stdout
    refused = touchstone(*command, "--profile", "elle")
    assert refused.returncode == 2
    assert "'elle' is not one of touchstone, jepsen" in refused.stderr


def test_check_explains_what_it_found(tmp_path: Path) -> None:
    histories = Path(__file__).resolve().parents[2] / "linearizability" / "tests" / "histories"
    command = ("check", str(histories / "lost-write.jsonl"), "--engine", "local", "--explain")
    ended = touchstone(*command, cwd=tmp_path)
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr.endswith("explained: lost-write.explained.html\n")
    text = (tmp_path / "lost-write.explained.html").read_text()
    assert "operations show it" in text
    assert "<svg" in text


def test_check_judges_the_judges() -> None:
    ended = touchstone("check", "--self-test", "--seeds", "2", "--first-seed", "7000")
    assert ended.returncode in (0, 3), ended.stdout  # so few may leave a judge idle
    assert "false alarms" in ended.stdout.splitlines()[0]
    assert ended.stderr == "self-test: 0 of 2 seeds\nself-test: 2 of 2 seeds\n"
    ended = touchstone("check")
    assert ended.returncode == 2
    assert "name a run directory or a history, or give --self-test" in ended.stderr


def test_a_long_self_test_tells_its_progress_each_minute_or_twentieth(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = [0.0]
    say = _seeds_done(10_000, lambda: now[0])
    for done, now[0] in ((100, 1.0), (500, 2.0), (600, 61.0), (700, 63.0), (10_000, 64.0)):
        say(done)
    told = [line.split()[1] for line in capsys.readouterr().err.splitlines()]
    assert told == ["500", "700", "10,000"]
    now[0] = 0.0
    say = _seeds_done(10_000, lambda: now[0])
    for done, now[0] in ((100, 59.0), (200, 60.0), (300, 61.0), (400, 120.0)):
        say(done)
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["200", "400"]


def test_pairs_takes_the_value_after_the_first_equals_sign() -> None:
    assert pairs(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
    with pytest.raises(UsageError, match="key=value"):
        pairs(["=b"])


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_number_that_is_none_or_not_above_zero_is_refused_by_name(value: float) -> None:
    with pytest.raises(UsageError, match=r"--keep-gib .*: give a finite number above zero"):
        check_above_zero(minutes=1, seconds=None, keep_gib=value)


@pytest.mark.parametrize(
    ("engine", "master", "names"),
    [
        ("sprk", None, "auto, local, spark"),
        ("spark", "yarn", "spark://host:port"),
        ("local", "local[2]", "does not use --spark-master"),
    ],
)
def test_judges_that_nobody_has_are_refused(engine: str, master: str | None, names: str) -> None:
    with pytest.raises(UsageError, match=names):
        check_judges(engine, master)
    check_judges("auto", "spark://host:7077")


def test_what_many_runs_need_is_looked_at_before_they_are_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="a file is there, not a directory"):
        check_directory("--runs", tmp_path / "file")
    check_directory("--runs", tmp_path / "yet" / "to-be-made")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    with pytest.raises(UsageError, match="name a directory that can be written"):
        check_directory("--out", Path("/proc/nowhere"))
    with pytest.raises(UsageError, match="names nothing"):
        targets_named([","], None)
    assert targets_named(["kfake"], ["reference,kfake"]) == ("kfake", "reference")


@pytest.mark.sliced(3)
@pytest.mark.parametrize(
    "line",
    [
        "chaos run --target 127.0.0.1:1 --workload appends --nemesis none --runs new/runs",
        "chaos run --workload appends --nemesis none --summary new/a.md",
        "nightly --minutes 1 --targets 127.0.0.1:1",
        "nightly --minutes 1 --cluster touchstone.toml",
        "conform --bootstrap 127.0.0.1:1 --out new/a.json --junit new/junit/a.xml",
        "conform --fuzz 1s --bootstrap 127.0.0.1:1 --out new/a.json",
        "compare 127.0.0.1:1 reference --out new",
    ],
)
def test_a_command_that_finds_no_cluster_leaves_nothing(tmp_path: Path, line: str) -> None:
    (tmp_path / "touchstone.toml").write_text('[[node]]\naddress = "127.0.0.1:1"\n')
    done = touchstone(*line.split(), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "127.0.0.1:1" in done.stderr.splitlines()[-1]
    assert [each.name for each in tmp_path.iterdir()] == ["touchstone.toml"]


def test_bugs_says_what_each_breaks_and_who_catches_it() -> None:
    text = render_bugs()
    bugs = {*BROKER_BUGS, *CLIENT_BUGS}
    for name in bugs:
        assert name in text
    assert text.count("Breaks:") == text.count("Caught by:") == len(bugs)


def test_bugs_lists_only_the_named_ones() -> None:
    pair = "never-end-sessions,reuse-producer-ids"
    done = CliRunner().invoke(app, ["bugs", "--list", "--json", "--only", pair])
    assert sorted(each["name"] for each in json.loads(done.output)) == pair.split(",")
    done = CliRunner().invoke(app, ["bugs", "--list", "--only", "never-end-sessions"])
    assert done.output.count("Breaks:") == 1 and "\nnever-end-sessions\n" in done.output


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("bugs --list --only nonsense", "--only nonsense: there is no such bug; `touchstone"),
        ("kills --bug nonsense", "--bug nonsense: there is no such bug; `touchstone"),
        ("fuzz --first -2 --cases 1", "'--first': -2 is not in the range x>=0"),
    ],
)
def test_a_wrong_bug_or_case_is_one_short_sentence(line: str, sentence: str) -> None:
    done = CliRunner().invoke(app, line.split())
    assert done.exit_code == 2 and sentence in done.output
    assert len(done.output) < 600


def test_a_table_names_the_bounds_that_are_broken() -> None:
    table = Table(("load", "ratio"))
    table.add("good", Ratio(0.7, at_least=0.5))
    table.add("slow", Ratio(0.4, at_least=0.5))
    assert [ratio.value for ratio in table.broken] == [0.4]
    assert "0.40 (≥ 0.5, BROKEN)" in table.render()
    assert "0.70 (≥ 0.5)" in table.render()


def test_a_reader_that_goes_away_is_no_defect() -> None:
    listing = subprocess.Popen(
        [sys.executable, "-m", "ci.cli", "conform", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert listing.stdout is not None
    listing.stdout.close()
    _, said = listing.communicate(timeout=600)
    assert "Traceback" not in said
    assert listing.returncode == 3


def test_an_interrupt_that_python_wraps_is_no_defect(capsys: pytest.CaptureFixture[str]) -> None:
    # Python 3.11 raises a RuntimeError in place of whatever strikes while it makes a class.
    try:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()
    except RuntimeError as error:
        assert explain(error) == 3
    assert capsys.readouterr().err == INTERRUPTED


@pytest.mark.parametrize("module", ["typer", "ci.commands.judging"])
def test_an_interrupt_before_the_command_begins_is_one_sentence(module: str) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    where, _, function = settings["project"]["scripts"]["touchstone"].partition(":")
    code = f"""
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}: raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from {where} import {function}
{function}()
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (3, INTERRUPTED)
