"""A claim of a published document about Kafka."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """One claim about Kafka. correction: what Apache Kafka does instead, or "" if the claim holds
    there. cases: the ids of the conformance cases that decide. why_none: the reason if there are no
    such cases."""

    id: str
    text: str
    correction: str = ""
    cases: tuple[str, ...] = ()
    why_none: str = ""
