"""Every case states what it must; the listing shows them all."""

from __future__ import annotations

import json
import re

from conformance.reporting.catalogue import LAST, WITHOUT_CASE, ids_without_case
from conformance.reporting.listing import AREAS, all_cases, list_cases
from conformance.wire import api_key
from reference_impl.wire import request_definition

CASES = all_cases()


def test_every_case_states_requirement_and_citation() -> None:
    for listed in CASES:
        where = f"{listed.file}: {listed.case.function}"
        assert len(listed.case.requirement) > 30, where
        assert listed.case.requirement.endswith("."), where
        assert len(listed.case.spec) > 5, where


def test_no_citation_names_a_section_number() -> None:
    numbered = [
        c.case.spec for c in CASES if re.search(r"§|\bsection \d|\b\d+\.\d+\.\d+\b", c.case.spec)
    ]
    assert numbered == []


def test_ids_are_those_of_known_areas() -> None:
    strange = [
        c.case.id for c in CASES if not re.fullmatch(rf"({'|'.join(AREAS)})-\d\d", c.case.id)
    ]
    assert strange == []


def test_every_id_of_the_catalogue_has_a_case_or_a_reason() -> None:
    ids = [listed.case.id for listed in CASES]
    assert ids_without_case(ids) == list(WITHOUT_CASE)
    assert set(LAST) == set(AREAS)
    assert ids_without_case(id for id in ids if id != "KRFT-09") == [*WITHOUT_CASE, "KRFT-09"]


def test_every_version_named_is_one_of_the_api() -> None:
    for listed in CASES:
        valid = request_definition(api_key(listed.case.api)).valid_versions
        low, high = listed.case.versions or (valid[0], valid[-1])
        assert low <= high, listed.case.id
        assert low in valid or high in valid, listed.case.id


def test_the_listing_names_every_case_and_the_apis_without() -> None:
    text, markdown, machine = (
        list_cases("text"),
        list_cases("markdown"),
        json.loads(list_cases("json")),
    )
    for listed in CASES:
        assert listed.case.id in text
        assert listed.case.id in markdown
    assert len(machine["cases"]) == len(CASES) > 200
    assert "Vote" in machine["apis_without_cases"]
    assert "Produce" not in machine["apis_without_cases"]
    assert "| Vote | none |" in markdown
