"""The README's table of checkers is the registry's."""

from pathlib import Path

from linearizability.checkers import markdown_table

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_table_of_checkers_is_the_registry() -> None:
    text = README.read_text()
    table = text.split("a test compares -->\n")[1].split("\n<!-- end -->")[0]
    assert table == markdown_table()
