"""Each bug of a client is in its table, breaks one rule, and its header says who finds it."""

from __future__ import annotations

import pkgutil

import pytest

from reference_impl.bugs import BUGS
from reference_impl.bugs.clients import CLIENT_BUGS, RULES_WITHOUT_BUG, consuming, producing
from reference_impl.client.rules import ClientRules

RULES = {
    name
    for chapter in ClientRules.__bases__
    for name, value in vars(chapter).items()
    if callable(value) and not name.startswith("_")
}


def test_every_file_of_the_folder_is_in_the_table() -> None:
    folders = (producing, consuming)
    files = {one.name for each in folders for one in pkgutil.iter_modules(each.__path__)}
    rows = {name.removeprefix("client-").replace("-", "_") for name in CLIENT_BUGS}
    assert rows == files and not CLIENT_BUGS.keys() & BUGS.keys()


@pytest.mark.parametrize("name", sorted(CLIENT_BUGS))
def test_the_header_names_what_the_table_names(name: str) -> None:
    bug = CLIENT_BUGS[name]
    text = " ".join((bug.rules.__doc__ or "").split())
    told = "any nemesis or none" if bug.nemesis == "none" else f"nemesis {bug.nemesis}"
    named = ["Breaks:", "Caught by:", f"workload {bug.workload},", told, *bug.caught_by]
    assert [word for word in named if word not in text] == []


@pytest.mark.parametrize("name", sorted(CLIENT_BUGS))
def test_a_bug_overrides_one_rule(name: str) -> None:
    assert len({one for one in vars(CLIENT_BUGS[name].rules) if one in RULES}) == 1


def test_every_rule_of_clients_has_a_bug_or_a_reason() -> None:
    broken = {one for bug in CLIENT_BUGS.values() for one in vars(bug.rules)}
    assert RULES - broken == set(RULES_WITHOUT_BUG)
