"""Fixtures of the cases about ACLs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.cases.security.secured_wire import come_in_as
from conformance.target.controlled import Guest
from conformance.target.examination import Examined
from conformance.wire import Wire


@pytest.fixture
def alice(wire: Wire, examined: Examined) -> Iterator[Guest]:
    """Provide a user, alice, of a target with the settings CONTROLLED."""
    yield from _guest(wire, examined, "alice")


@pytest.fixture
def bob(wire: Wire, examined: Examined) -> Iterator[Guest]:
    """Provide another user, bob, of the same target."""
    yield from _guest(wire, examined, "bob")


def _guest(wire: Wire, examined: Examined, user: str) -> Iterator[Guest]:
    guest = Guest(wire, come_in_as(wire, examined, user), f"User:{user}")
    yield guest
    guest.withdraw()
