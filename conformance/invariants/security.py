"""Invariants of SASL, ACLs and credentials: filters are applied, and codes are known."""

from __future__ import annotations

from conformance.case import expect_that
from conformance.invariants.shared import NONE, once_each
from reference_impl.wire import ErrorCode, Struct

UNKNOWN, ANY, MATCH, PREFIXED = 0, 1, 2, 4
ITERATIONS_MIN = 1


def mechanisms(version: int, asked: Struct, answer: Struct) -> None:
    """Require that a mechanism is accepted if, and only if, it is in the list of enabled ones."""
    once_each(answer.mechanisms, "mechanisms")
    if answer.error_code in (NONE, ErrorCode.UNSUPPORTED_SASL_MECHANISM):
        accepted = answer.error_code == NONE
        expect_that(
            (asked.mechanism in answer.mechanisms) == accepted,
            "mechanisms",
            f"{'with' if accepted else 'without'} {asked.mechanism}",
            answer.mechanisms,
        )


def authenticated(version: int, asked: Struct, answer: Struct) -> None:
    """Require a session lifetime (from v1 on) that is not negative, and zero beside an error."""
    if version >= 1:
        told = answer.session_lifetime_ms
        allowed = told >= 0 if answer.error_code == NONE else told == 0
        expect_that(allowed, "session lifetime", ">= 0, and 0 beside an error", told)


def described_acls(version: int, asked: Struct, answer: Struct) -> None:
    """Require each entry once, and only entries that match the filter (KIP-140, KIP-290)."""
    entries = []
    for resource in answer.resources:
        where = (resource.resource_type, resource.resource_name, _pattern(version, resource))
        expect_that(bool(resource.acls), f"entries of {where}", "at least one", 0)
        for acl in resource.acls:
            entry = (*where, acl.principal, acl.host, acl.operation, acl.permission_type)
            _passes(version, asked, entry)
            entries.append(entry)
    once_each(entries, "entries")


def deleted_acls(version: int, asked: Struct, answer: Struct) -> None:
    """Require that each deleted entry matches its filter, and is named once for it."""
    for wanted, found in zip(asked.filters, answer.filter_results, strict=False):
        entries = []
        for acl in found.matching_acls:
            entry = (
                acl.resource_type,
                acl.resource_name,
                _pattern(version, acl),
                acl.principal,
                acl.host,
                acl.operation,
                acl.permission_type,
            )
            _passes(version, wanted, entry)
            entries.append(entry)
        once_each(entries, "entries deleted by one filter")


def _pattern(version: int, found: Struct) -> int | None:
    return int(found.pattern_type) if version >= 1 else None


def _passes(version: int, wanted: Struct, entry: tuple[object, ...]) -> None:
    """Raise Deviation unless the entry (resource type and name, pattern type, principal, host,
    operation, permission) matches the filter `wanted`."""
    kind, name, pattern, principal, host, operation, permission = entry
    codes = {
        "resource type": (wanted.resource_type_filter, kind),
        "operation": (wanted.operation, operation),
        "permission": (wanted.permission_type, permission),
    }
    for what, (code, told) in codes.items():
        allowed = isinstance(told, int) and told > ANY if code == ANY else told == code
        expect_that(allowed, what, "any that exists" if code == ANY else code, told)
    for what, text, told in (
        ("principal", wanted.principal_filter, principal),
        ("host", wanted.host_filter, host),
    ):
        expect_that(told == text if text is not None else bool(told), what, text or "one", told)
    if wanted.resource_name_filter is not None and wanted.pattern_type_filter != MATCH:
        expected = wanted.resource_name_filter
        expect_that(name == expected, "resource name", expected, name)
    expect_that(bool(name), "resource name", "one", name)
    if pattern is not None:
        code = wanted.pattern_type_filter
        expect_that(
            pattern == code or (code in (ANY, MATCH) and pattern in (MATCH + 1, PREFIXED)),
            "pattern type",
            "LITERAL or PREFIXED, as asked for",
            pattern,
        )


def scram_credentials(version: int, asked: Struct, answer: Struct) -> None:
    """Require of each user's row: known mechanisms, each at most once, with enough iterations, and
    no credentials beside an error (KIP-554)."""
    for found in answer.results:
        if found.error_code != NONE:
            told = len(found.credential_infos)
            expect_that(told == 0, "credentials beside an error", 0, told)
        once_each((info.mechanism for info in found.credential_infos), "mechanisms")
        for info in found.credential_infos:
            valid = info.mechanism in (1, 2) and info.iterations >= ITERATIONS_MIN
            expect_that(
                valid,
                "(mechanism, iterations)",
                "one that exists, and >= 1",
                (info.mechanism, info.iterations),
            )
