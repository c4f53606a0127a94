"""Quotas of clients are set, described by filters, and removed. QUOT-01.

Sources: KIP-546; ClientQuotaControlManager.java, ClientQuotasImage.java. Every quota here is far
beyond what a case could use up.
"""

from __future__ import annotations

import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.quotas.quotas import (
    ALTER,
    ANY,
    CLIENT_ID,
    DEFAULT,
    DESCRIBE,
    EXACT,
    USER,
    Entity,
    alter,
    component,
    described,
    entry,
    key_of,
    quota,
    quotas_of,
)
from conformance.target.examination import Examined
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode, Struct

NONE, INVALID = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
PLENTY, MORE = 1e12, 2e12


@pytest.mark.parametrize("kinds", [(USER,), (CLIENT_ID,), (USER, CLIENT_ID)], ids="+".join)
@case("QUOT-01", ALTER, spec="KIP-546, Alter Client Quotas", priority="P1")
def test_quotas_are_set_changed_and_removed(
    wire: Wire, version: int, kinds: tuple[str, ...]
) -> None:
    """Quotas of a user, of a client id, and of both together are set, changed and taken away, each
    key on its own; an entity without quotas is no longer described."""
    entity = {kind: wire.new_name(kind) for kind in kinds}

    def altered(expected: dict[str, float], **quotas: float | None) -> None:
        expect(alter(wire, entry(entity, **quotas), version=version), [NONE], "errors")
        eventually(
            lambda: quotas_of(wire, entity), lambda found: found == expected, f"now {expected}"
        )

    altered(
        {"producer_byte_rate": PLENTY, "consumer_byte_rate": MORE},
        producer_byte_rate=PLENTY,
        consumer_byte_rate=MORE,
    )
    altered({"producer_byte_rate": MORE, "consumer_byte_rate": MORE}, producer_byte_rate=MORE)
    altered({"producer_byte_rate": MORE}, consumer_byte_rate=None)
    altered({}, producer_byte_rate=None)
    expect(
        alter(wire, entry(entity, producer_byte_rate=None), version=version),
        [NONE],
        "errors of a removal where there is nothing",
    )


@case("QUOT-01", ALTER, spec="KIP-546, validate_only", priority="P1")
def test_validate_only_changes_nothing(wire: Wire, version: int) -> None:
    """With validate_only the answer is the same, NONE or INVALID_REQUEST (42), and no quota is
    set."""
    entity = {CLIENT_ID: wire.new_name()}
    rows = [entry(entity, producer_byte_rate=PLENTY), entry(entity | {USER: "u"}, no_such_key=1.0)]
    errors = alter(wire, *rows, version=version, validate_only=True)
    expect(sorted(errors), [NONE, INVALID], "errors")
    with quota(wire, {CLIENT_ID: wire.new_name()}, producer_byte_rate=PLENTY):
        expect(quotas_of(wire, entity), {}, "quotas")  # what came later is described by now


@case(
    "QUOT-01",
    DESCRIBE,
    spec="KIP-546, Describe Client Quotas; ClientQuotasImage.describe",
    priority="P1",
)
def test_filters_match_exactly_by_default_or_any_name(wire: Wire, version: int) -> None:
    """A filter matches a name, the default, or any name of a type. Without `strict`, entities that
    have other types besides are described too; without components, all are."""
    user, client = wire.new_name("u"), wire.new_name("c")
    entities: list[Entity] = [
        {USER: user},
        {USER: user, CLIENT_ID: client},
        {USER: user, CLIENT_ID: None},
        {CLIENT_ID: client},
    ]

    def found(*components: Struct, strict: bool = False) -> list[int]:
        answer = described(wire, *components, version=version, strict=strict)
        return [n for n, entity in enumerate(entities) if key_of(entity) in answer]

    with (
        quota(wire, entities[0], producer_byte_rate=PLENTY),
        quota(wire, entities[1], producer_byte_rate=PLENTY),
        quota(wire, entities[2], producer_byte_rate=PLENTY),
        quota(wire, entities[3], producer_byte_rate=PLENTY),
    ):
        this_user, any_user = component(USER, EXACT, user), component(USER, ANY)
        this_client, any_client = component(CLIENT_ID, EXACT, client), component(CLIENT_ID, ANY)
        default_client = component(CLIENT_ID, DEFAULT)
        expect(found(), [0, 1, 2, 3], "without a filter")
        expect(found(strict=True), [], "strict, without a filter")
        expect(found(this_user), [0, 1, 2], "this user")
        expect(found(this_user, strict=True), [0], "this user, strict")
        expect(found(this_user, this_client), [1], "this user and client id")
        expect(found(this_user, default_client), [2], "this user and the default client id")
        expect(found(this_user, any_client), [1, 2], "this user and any client id")
        expect(found(any_user, strict=True), [0], "any user, strict")
        expect(found(any_user, any_client, strict=True), [1, 2], "any user and client id, strict")
        expect(found(component(USER, EXACT, client)), [], "a user who has no quota")


@pytest.mark.parametrize(
    "components",
    [
        [component("", EXACT, "x")],
        [component(USER, EXACT, "x"), component(USER, ANY)],
        [component(USER, EXACT, None)],
        [component(USER, DEFAULT, "x")],
        [component(USER, ANY, "x")],
        [component(USER, 3)],
        [component(USER, ANY), component("ip", ANY)],
    ],
    ids=[
        "empty type",
        "type twice",
        "exact without name",
        "default with name",
        "any with name",
        "unknown match type",
        "user and ip",
    ],
)
@case("QUOT-01", DESCRIBE, spec="ClientQuotasImage.describe", priority="P1")
def test_a_filter_that_makes_no_sense_is_refused(
    wire: Wire, version: int, components: list[Struct]
) -> None:
    """An empty type, a type twice, a match that contradicts its type: INVALID_REQUEST (42) with a
    message, and no entries."""
    answer = wire.call(DESCRIBE, version, components=components, strict=False)
    expect(answer.error_code, INVALID, "error")
    expect_that(bool(answer.error_message), "message", "a sentence", answer.error_message)
    expect(answer.entries, None, "entries")


@case("QUOT-01", DESCRIBE, spec="ClientQuotasImage.describe", priority="P1")
def test_a_filter_by_an_unknown_type_is_not_supported(wire: Wire, version: int) -> None:
    """An unknown entity type gets UNSUPPORTED_VERSION (35), since a later version may know it."""
    components = [component("colour", EXACT, "red")]
    answer = wire.call(DESCRIBE, version, components=components, strict=False)
    expect(answer.error_code, ErrorCode.UNSUPPORTED_VERSION, "error")


@pytest.mark.parametrize(
    ("entity", "quotas"),
    [
        ({}, {"producer_byte_rate": PLENTY}),
        ({"colour": "red"}, {"producer_byte_rate": PLENTY}),
        ({USER: ""}, {"producer_byte_rate": PLENTY}),
        ({CLIENT_ID: ""}, {"producer_byte_rate": PLENTY}),
        ({USER: "u", "ip": "127.0.0.1"}, {"producer_byte_rate": PLENTY}),
        ({"ip": "127.0.0.1"}, {"producer_byte_rate": PLENTY}),
        ({"ip": "no address"}, {"connection_creation_rate": 10.0}),
        ({"ip": "127.0.0.1"}, {"connection_creation_rate": 2.0**31}),
        ({USER: "u"}, {"no_such_key": PLENTY}),
        ({USER: "u"}, {"connection_creation_rate": 10.0}),
        ({USER: "u"}, {"producer_byte_rate": 1.5}),
        ({USER: "u"}, {"producer_byte_rate": 0.0}),
        ({USER: "u"}, {"consumer_byte_rate": -1.0}),
    ],
    ids=[
        "empty",
        "unknown type",
        "user without name",
        "client id without name",
        "user and ip",
        "byte rate of an ip",
        "ip that is none",
        "rate beyond an int",
        "unknown key",
        "key of an ip",
        "fraction of a byte",
        "nothing at all",
        "less than nothing",
    ],
)
@case("QUOT-01", ALTER, spec="ClientQuotaControlManager.alterClientQuotas", priority="P1")
def test_an_impossible_quota_is_refused_and_the_others_are_set(
    wire: Wire, version: int, entity: dict[str, str], quotas: dict[str, float]
) -> None:
    """An unknown entity type or key, and a value that the key cannot take, get INVALID_REQUEST (42)
    in their entry; the other entries of the request take effect."""
    good = {CLIENT_ID: wire.new_name()}
    errors = alter(
        wire, entry(entity, **quotas), entry(good, producer_byte_rate=PLENTY), version=version
    )
    expect(sorted(errors), [NONE, INVALID], "errors")
    eventually(lambda: quotas_of(wire, good), bool, "the other entry is set")
    alter(wire, entry(good, producer_byte_rate=None))


@case("QUOT-01", ALTER, spec="ClientQuotaControlManager.alterClientQuotas", priority="P1")
def test_what_is_named_twice_is_refused(wire: Wire, version: int) -> None:
    """A key twice in one entry gets INVALID_REQUEST (42), and nothing of the entry is set; so does
    an entity that a request names twice, of which at most one entry is set."""
    entity = {CLIENT_ID: wire.new_name()}
    first, second = (entry(entity, producer_byte_rate=value) for value in (PLENTY, MORE))
    both = entry(entity, producer_byte_rate=PLENTY)
    both.ops = [*first.ops, *second.ops]
    expect(alter(wire, both, version=version), [INVALID], "errors of a key named twice")
    with quota(wire, {CLIENT_ID: wire.new_name()}, producer_byte_rate=PLENTY):
        expect(quotas_of(wire, entity), {}, "quotas")  # what came later is described by now
    errors = alter(wire, first, second, version=version)
    expect(INVALID in errors, True, "an entity named twice is refused")
    alter(wire, entry(entity, producer_byte_rate=None))


@case("QUOT-01", ALTER, spec="QuotaRecord.json", priority="P1", requires={"restart"})
def test_quotas_outlive_the_broker(wire: Wire, examined: Examined, version: int) -> None:
    """A quota is described after the broker was killed and started again."""
    entity = {USER: wire.new_name(), CLIENT_ID: None}
    with quota(wire, entity, consumer_byte_rate=PLENTY):
        wire.forget_connections()
        examined.kill_and_restart()
        expect(quotas_of(wire, entity), {"consumer_byte_rate": PLENTY}, "quotas")
