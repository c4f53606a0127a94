"""The documents: each command in them exists, the guides are followed word by word, links lead
somewhere, and the site is built without a warning."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ci import places
from ci.docs import site
from ci.docs.__main__ import CONFIG, build
from ci.docs.commands import GUIDES, PROGRAM, Block, blocks, documents, every_command, problem_of
from ci.docs.reference import pages
from ci.docs.site import DOCS, bent, dead_links, sources

GUIDE_PAGES = [file for folder in GUIDES for file in sorted((DOCS / folder).glob("*.md"))]
LONG = {file: [each for each in blocks(file) if each.is_run] for file in GUIDE_PAGES}
LOADED = re.compile(r'<(?:script|img|link)[^>]+(?:src|href)="(?:https?:)?//')
TIMEOUT_S = 300


@pytest.mark.parametrize("file", documents(), ids=places.shown)
def test_every_command_of_a_document_exists(file: Path) -> None:
    assert [problem for command in every_command(file) if (problem := problem_of(command))] == []


def test_commands_are_found_and_wrong_ones_are_told() -> None:
    assert len({command for file in documents() for command in every_command(file)}) > 60
    assert problem_of("touchstone chaos run --nodes 3 --seed -1") == ""
    assert problem_of("touchstone chaos run --nodess 3").endswith("has no option --nodess")
    assert problem_of("touchstone conformity").endswith("there is no command touchstone conformity")
    assert problem_of("touchstone chaos rum").endswith("there is no command touchstone chaos rum")
    assert problem_of("touchstone check 'half").endswith("No closing quotation")


@pytest.mark.parametrize("file", GUIDE_PAGES, ids=places.shown)
def test_each_block_of_a_guide_says_who_runs_it(file: Path) -> None:
    found = list(blocks(file))
    assert found
    assert [block for block in found if not block.mark] == []
    reasons = [each.mark.partition(":")[2].strip() for each in found if not each.is_run]
    assert all(reasons), "say why it is not run"


def follow(steps: list[Block], folder: Path) -> None:
    """Type the commands of a page in a folder of their own."""
    touchstone = Path(sys.executable).with_name(PROGRAM)
    for block in steps:
        for number, command in enumerate(block.commands, 1):
            words = [str(touchstone), *shlex.split(command)[1:]]
            done = subprocess.run(
                words, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S
            )
            wanted = block.exit_status if number == len(block.commands) else 0
            said = f"{block.source}:{block.line}: {command}\n{done.stdout}{done.stderr}"
            assert done.returncode == wanted, said
            assert "Traceback" not in done.stderr, said


def test_the_first_guide_can_be_followed_word_by_word(tmp_path: Path) -> None:
    follow([each for each in LONG[DOCS / "start" / "validate.md"] if not each.is_long], tmp_path)
    page = (tmp_path / "runs" / "index.html").read_text()
    assert "PROD-01" in page


@pytest.mark.nightly
@pytest.mark.parametrize("file", [file for file, found in LONG.items() if found], ids=places.shown)
def test_every_guide_can_be_followed_word_by_word(file: Path, tmp_path: Path) -> None:
    follow(LONG[file], tmp_path)


def test_no_link_of_the_documents_is_dead() -> None:
    assert list(dead_links()) == []


def test_a_dead_link_and_a_missing_heading_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# Top\n[a](docs/a.md#a-heading) [b](docs/b.md)\n")
    text = "# A `heading`\n[up](../README.md#top) [wrong](#nothing)\n```\n[code](x.md)\n```\n"
    (tmp_path / "docs" / "a.md").write_text(text)
    monkeypatch.setattr("ci.places.ROOT", tmp_path)
    monkeypatch.setattr(site, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(site, "INSIDE", {})
    assert list(dead_links()) == [
        "README.md: docs/b.md leads to no file",
        "docs/a.md: #nothing names no heading of that page",
    ]


def test_links_are_bent_to_the_pages_of_the_site() -> None:
    where = {"docs/foreign.md": "foreign.md", "chaos/README.md": "inside/chaos.md"}
    text = (
        "[a](../docs/foreign.md#x) [code](run/runner.py) ![p](../docs/report.png) [h](https://x.y)"
    )
    assert bent(text, "chaos/README.md", "inside/chaos.md", where) == (
        "[a](../foreign.md#x) code (`chaos/run/runner.py`) ![p](../report.png) [h](https://x.y)"
    )


def test_the_reference_names_every_part() -> None:
    from chaos.nemeses import NEMESES
    from chaos.values.fault_kinds import FAULTS
    from chaos.workloads import WORKLOADS
    from linearizability.checkers.table import CHECKERS

    written = pages()
    assert all(f"## {name}\n" in written["reference/checkers.md"] for name in CHECKERS)
    parts = [*FAULTS, *NEMESES, *WORKLOADS]
    assert [name for name in parts if f"`{name}`" not in written["reference/faults.md"]] == []
    assert "## touchstone chaos run" in written["reference/commands.md"]
    assert "`--nemesis` `NEMESIS`" in written["reference/commands.md"]
    assert "| PROD-01 |" in written["reference/cases.md"]
    assert "`lose_power`" in written["reference/cluster.md"]
    assert "`t_invoke_ns`" in written["reference/files.md"]


def test_every_page_stands_in_the_navigation_of_the_site() -> None:
    listed = set(re.findall(r": ([\w/.-]+\.md)$", CONFIG.read_text(), re.MULTILINE))
    assert listed == {*sources().values(), *pages()}, f"see to {places.shown(CONFIG)}"


@pytest.mark.nightly
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(
    tmp_path: Path,
) -> None:
    build(tmp_path / "site")
    built = sorted((tmp_path / "site").rglob("*.html"))
    assert len(built) > 25
    assert [page.name for page in built if LOADED.search(page.read_text())] == []
    assert (tmp_path / "site" / "search" / "search_index.json").is_file()
    shutil.rmtree(tmp_path / "site")
