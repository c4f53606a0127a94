"""Limit the root of each package, and each subpackage of the reference, to ten files."""

from collections import Counter
from pathlib import Path

from ci.checks.registries import REGISTRIES
from ci.checks.sources import PACKAGES, python_files

LOOSE_FILES_MAX = 10
DIVIDED = "reference_impl"
"""The package in which the files of every subpackage are counted."""
NO_MODULES = frozenset({"__init__.py", "__main__.py", "conftest.py"})


def loose_file_violations(root: Path) -> list[str]:
    """Return a sentence for every counted folder with too many files."""
    paths = [path.relative_to(root) for path in python_files(root)]
    roots = Counter(
        path.parent.as_posix() for path in paths if is_root(path) and path.name not in NO_MODULES
    )
    return [
        f"{folder} has {count} loose files; at most {LOOSE_FILES_MAX} may lie there: move some"
        " into a subfolder"
        for folder, count in sorted(roots.items())
        if count > LOOSE_FILES_MAX
    ]


def is_root(path: Path) -> bool:
    """Return whether the file lies directly in a folder whose files are counted. Not counted are
    tests, and folders of registries, which have a file for each row of their table."""
    folder = path.parent
    is_room = folder.parts[0] == DIVIDED and "tests" not in folder.parts
    return folder.as_posix() not in REGISTRIES and (folder.as_posix() in PACKAGES or is_room)
