"""Each bug of a cluster is in its table, breaks one rule, and its header says who finds it."""

from __future__ import annotations

import pkgutil

import pytest

import reference_impl.bugs.cluster as package
from reference_impl.bugs import BUGS
from reference_impl.bugs.cluster import CLUSTER_BUGS
from reference_impl.core.rules import Rules

RULES = {
    name for chapter in Rules.__bases__ for name, value in vars(chapter).items() if callable(value)
}

PAIRS = ("serve-replaced-shards",)
"""Bugs in two rules, each of which would prevent the mistake of the other."""


def test_every_file_of_the_folder_is_in_the_table() -> None:
    files = {one.name for one in pkgutil.iter_modules(package.__path__)} - {"tests"}
    assert {name.replace("-", "_") for name in CLUSTER_BUGS} == files
    assert not CLUSTER_BUGS.keys() & BUGS.keys()


@pytest.mark.parametrize("name", sorted(CLUSTER_BUGS))
def test_the_header_names_what_the_table_names(name: str) -> None:
    bug = CLUSTER_BUGS[name]
    text = " ".join((bug.rules.__doc__ or "").split())
    named = ["Breaks:", "Within:", f"workload {bug.workload},", f"nemesis {bug.nemesis}"]
    assert [word for word in (*named, *bug.caught_by) if word not in text] == []
    assert bug.caught_by and bug.nodes > 1


@pytest.mark.parametrize("name", sorted(CLUSTER_BUGS))
def test_a_bug_overrides_one_rule(name: str) -> None:
    assert len(RULES & vars(CLUSTER_BUGS[name].rules).keys()) == (2 if name in PAIRS else 1)
