"""The table of permissions says what the handlers ask."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import pytest

from reference_impl.core import handlers
from reference_impl.core.handlers import BROKER, CONTROLLER
from reference_impl.core.security.authorization.permissions import PERMISSIONS, REFUSALS, Permission
from reference_impl.wire import ApiKey


def permissions_in(handle: Callable[..., Any]) -> set[Permission]:
    """Return every permission that a handler's module, or one of its helpers beside it, knows by
    name."""
    found, todo, seen = set(), [sys.modules[handle.__module__]], set[ModuleType]()
    while todo:
        module = todo.pop()
        seen.add(module)
        for value in vars(module).values():
            if isinstance(value, Permission):
                found.add(value)
            home = inspect.getmodule(value) if isinstance(value, FunctionType) else None
            if home is not None and home not in seen and home.__name__.startswith(HOME):
                todo.append(home)
    return found


HOME = f"{handlers.__name__}."


@pytest.mark.parametrize("key", BROKER, ids=lambda key: ApiKey(key).name)
def test_a_handler_asks_for_what_the_table_says_and_nothing_else(key: int) -> None:
    assert ApiKey(key) in PERMISSIONS, "an API that is served has its row in permissions.py"
    served = CONTROLLER.get(key, BROKER[key])
    assert permissions_in(served.handle) == set(PERMISSIONS[ApiKey(key)])


def test_every_refusal_has_a_name() -> None:
    asked = {permission.resource_type for row in PERMISSIONS.values() for permission in row}
    assert asked == set(REFUSALS)
