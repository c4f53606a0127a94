"""Patterns over topic names: the same answers as Python's `re` where both know the syntax."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.core.groups.consumer.patterns.topic_regex import BadRegex, TopicRegex

ATOMS = st.sampled_from(
    ["a", "b", "-", "\\.", ".", "[ab]", "[^a]", "\\d", "[b-d_]", "\\w", "^", "$"]
)


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Make larger patterns from smaller ones."""
    return st.one_of(
        st.lists(parts, min_size=1, max_size=4).map("".join),
        st.tuples(parts, parts).map("(?:{0[0]}|{0[1]})".format),
        st.tuples(parts, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "*?"])).map(
            "({0[0]}){0[1]}".format
        ),
    )


PATTERNS = st.recursive(ATOMS, joined, max_leaves=8)
NAMES = st.text("abcd.-_1", max_size=12)


@settings(max_examples=400)
@given(PATTERNS, st.lists(NAMES, min_size=1, max_size=8))
def test_a_pattern_matches_what_it_matches_in_python(pattern: str, names: list[str]) -> None:
    regex = TopicRegex.compile(pattern)
    for name in names:
        assert regex.matches(name) == (re.fullmatch(pattern, name) is not None), (pattern, name)


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("(?i)orders-.*", "Orders-EU", True),
        ("(?i:orders)-EU", "ORDERS-eu", False),
        ("\\Qa.b\\E.*", "a.bc", True),
        ("\\Qa.b\\E", "axb", False),
        ("[[:alpha:]_]+[[:^digit:]]", "ab_c", True),
        ("[\\d-]+", "1-2", True),
        ("[\\W]+", "a", False),
        ("(?P<region>eu|us)-x", "us-x", True),
        ("a{,2}", "a{,2}", True),
        ("", "", True),
        ("foo", "foobar", False),
        ("\\bfoo\\b.*", "foo-bar", True),
        ("x\\Bx", "xx", True),
        ("\\p{Greek}+-\\pL", "αβ-γ", True),
    ],
)
def test_what_re2_knows_besides(pattern: str, name: str, matches: bool) -> None:
    assert TopicRegex.compile(pattern).matches(name) is matches


REFUSED = r"""
    (?=a)b (?!a) (a)\1 ( a) [a a** *a a|* [z-a] a{1001} \pX (a{100}){100}
    (?<x a{3,2} [[:nope:]] \ (?x)a
"""


@pytest.mark.parametrize("pattern", [*REFUSED.split(), "(" * 1001, "a" * 32_000])
def test_what_re2_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(BadRegex):
        TopicRegex.compile(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("((a*)*)*(a|a)*b", id="ways to split"),
        pytest.param("[\0-\U0010ffff]" * 20, id="wide classes"),
        pytest.param("(a*)*" * 3000, id="many groups"),
        pytest.param("(x?a*)*" * 1000, id="many states"),
        pytest.param(f"({'|'.join(['[a-z]'] * 5000)})*", id="many alternatives"),
    ],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    """A backtracking matcher would not come back, and one that lists the characters of classes
    would need gigabytes."""
    begin_s = time.process_time()
    TopicRegex.compile(pattern).matches("a" * 249)
    assert time.process_time() - begin_s < 0.5
