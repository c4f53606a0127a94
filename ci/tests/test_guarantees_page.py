"""Changes of the guarantees page by hand are reported, and the page is made again."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ci import places
from ci.checks.guarantees import CLAIMS, FOLDER, PAGE, README, draw_guarantees, guarantee_violations
from linearizability.checkers.table import CHECKERS
from linearizability.guarantees import GUARANTEES, abouts


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / README).parent.mkdir()
    for page in (PAGE, README):
        shutil.copy(places.ROOT / page, tmp_path / page)
    shutil.copytree(places.ROOT / FOLDER, tmp_path / FOLDER)
    return tmp_path


def test_what_was_changed_is_named_and_drawn_anew(tree: Path) -> None:
    text = (tree / PAGE).read_text()
    assert text.count("after sequence 1") == 1
    (tree / PAGE).write_text(text.replace("after sequence 1", "after sequence 9"))
    (tree / FOLDER / "fencing.svg").unlink()
    old, absent = guarantee_violations(tree)
    assert old.startswith("docs/guarantees.md is old")
    assert absent.startswith("docs/guarantees/fencing.svg is old or absent")
    draw_guarantees(tree)
    assert (tree / PAGE).read_text() == text
    assert guarantee_violations(tree) == []


def test_every_checker_has_its_section_picture_and_claims() -> None:
    text = (places.ROOT / PAGE).read_text()
    assert {claim for about in abouts().values() for claim in about.claims} == set(CLAIMS)
    pictures = {file.stem for file in (places.ROOT / FOLDER).iterdir()}
    assert pictures == set(CHECKERS)
    for name, checker in CHECKERS.items():
        section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert section.strip().startswith(f"**{checker.title[0].upper()}{checker.title[1:]}.**")


@pytest.mark.parametrize("name", GUARANTEES)
def test_a_picture_names_operations_that_prove_it(name: str) -> None:
    drawn = ElementTree.parse(places.ROOT / FOLDER / f"{name}.svg").getroot()
    bold = drawn.findall(".//{*}g/{*}text[@class='words bold']")
    assert bold, "no operation is bold"
