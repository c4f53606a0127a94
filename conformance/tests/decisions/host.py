"""`python -m conformance.tests.decisions.host NAME …`: the reference broker, which decides one
thing otherwise. The replaced code is made when its module is imported; no file is changed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from conformance.tests.decisions import Decision, decisions


class _Loader(SourceFileLoader):
    """The loader of a module whose source is replaced."""

    decision: Decision

    def get_code(self, fullname: str) -> CodeType:
        source = self.decision.replaced(self.get_data(self.path).decode())
        code: CodeType = compile(source, self.path, "exec", dont_inherit=True)
        return code


class Finder(MetaPathFinder):
    """The finder of the one module that decides otherwise."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._decision.module:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            spec.loader = loader = _Loader(fullname, spec.origin)
            loader.decision = self._decision
        return spec


def main() -> int:
    """Serve with the decision that the first argument names."""
    decision = decisions()[sys.argv.pop(1)]
    sys.meta_path.insert(0, Finder(decision))
    if decision.module in sys.modules:
        raise RuntimeError(f"{decision.module} was imported before it could be replaced")
    from reference_impl.host.serve import main as serve

    return serve()


if __name__ == "__main__":
    sys.exit(main())
