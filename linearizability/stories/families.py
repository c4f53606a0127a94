"""Rank each kind of anomaly by the harm it does, and give its meaning in a few words."""

from __future__ import annotations

from collections.abc import Mapping

from linearizability.guarantees import abouts
from linearizability.guarantees.about import Family

MEANINGS: Mapping[str, tuple[Family, str]] = {
    name: (family, meaning)
    for family, _, name, meaning in sorted(
        [
            *((about.family, about.place, name, about.meaning) for name, about in abouts().items()),
            (Family.ORDER, 6, "register", "reads of a register that no order of writes explains"),
            (Family.WAITING, 3, "availability", "clients were not served"),
        ],
        key=lambda known: (known[0].rank, known[1]),
    )
}
"""Checker -> family and meaning. In each family, the checker that describes an incident best comes
first. A second opinion belongs to the checker with which its name begins."""

KINDS: Mapping[str, tuple[Family, str]] = {
    kind: meaning for about in abouts().values() for kind, meaning in about.kinds.items()
}
"""Kind of anomaly -> family and meaning, for kinds that differ from the rest of their checker."""

UNKNOWN_MEANING = (Family.ORDER, "a guarantee was broken")


def family_of(checker: str, kind: str) -> Family:
    """Return the family of an anomaly, or ORDER if neither its kind nor its checker is known."""
    return _known(checker, kind)[0]


def meaning_of(checker: str, kind: str) -> str:
    """Return the meaning of a kind of anomaly in a few words, general ones if neither the kind nor
    the checker is known."""
    return _known(checker, kind)[1]


def _known(checker: str, kind: str) -> tuple[Family, str]:
    return KINDS.get(kind) or MEANINGS.get(base_of(checker), UNKNOWN_MEANING)


def precedence(checker: str) -> int:
    """Return a checker's place in the order of MEANINGS, the last place for an unknown one; of
    several checkers, the story quotes the one with the lowest."""
    names = list(MEANINGS)
    base = base_of(checker)
    return names.index(base) if base in names else len(names)


def base_of(checker: str) -> str:
    """Return the name of the checker that an opinion belongs to: the first word of the opinion's
    name."""
    return checker.split(" ", maxsplit=1)[0]
