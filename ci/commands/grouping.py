"""Let a command declare its options as fields of a few dataclasses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import Parameter
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the signature that typer needs: each parameter whose type is a
    dataclass is replaced by the fields of that dataclass."""
    types: dict[str, Any] = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in types.items() if is_dataclass(kind)}

    def called(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        command(**given)

    parameters: list[Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            hints = get_type_hints(groups[name], include_extras=True)
            parameters += [_option(each, hints[each.name]) for each in fields(groups[name])]
        else:
            parameters.append(
                parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=types[name])
            )
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called


def _option(field: Field[Any], annotation: Any) -> Parameter:
    default = Parameter.empty if field.default is MISSING else field.default
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
