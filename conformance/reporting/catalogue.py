"""The ids of the catalogue of cases: how many each area has, and the reasons for those without a
case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LAST: Mapping[str, int] = {
    "WIRE": 29,
    "APIV": 14,
    "META": 28,
    "ADMIN": 32,
    "CONF": 20,
    "PROD": 26,
    "BATCH": 33,
    "IDEM": 19,
    "TXN": 59,
    "FETCH": 39,
    "LIST": 29,
    "GRPC": 39,
    "GRP8": 29,
    "OFFS": 25,
    "SHARE": 22,
    "LOG": 16,
    "REPL": 11,
    "KRFT": 14,
    "SEC": 16,
    "QUOT": 8,
    "STRM": 5,
    "GUAR": 12,
}
"""Area -> the last number of the catalogue; cases with higher numbers were added here."""

WITHOUT_CASE: Mapping[str, str] = {}
"""Id -> the reason why it has no case."""


def ids_without_case(found: Iterable[str]) -> list[str]:
    """Return the ids of the catalogue that are not among these ids of cases."""
    known = set(found)
    every = (f"{area}-{number:02}" for area, last in LAST.items() for number in range(1, last + 1))
    return [id for id in every if id not in known]
