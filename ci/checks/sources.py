"""List the files of the project: those that git tracks or would track, or without git all files."""

import ast
import subprocess
from pathlib import Path

PACKAGES = ("reference_impl", "linearizability", "chaos", "conformance", "ci")
IGNORED_FOLDERS = {".git", ".venv", ".cache", "runs", "__pycache__"}


def project_files(root: Path) -> list[Path]:
    """Return tracked files and new ones that are not ignored, as absolute paths in a stable order;
    without git, all files outside IGNORED_FOLDERS."""
    command = ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        listed = None
    if listed is not None and listed.returncode == 0 and (root / ".git").exists():
        paths = {root / name for name in listed.stdout.split("\0") if name}
    else:  # a copy without its history, such as an unpacked archive
        paths = {path for path in root.rglob("*") if not IGNORED_FOLDERS & {*path.parts}}
    return sorted(path for path in paths if path.is_file())


def python_files(root: Path) -> list[Path]:
    """Return the packages' Python files."""
    return [
        path
        for path in project_files(root)
        if path.suffix == ".py" and path.relative_to(root).parts[0] in PACKAGES
    ]


def parsed(path: Path) -> ast.Module:
    """Return a file's syntax tree, or an empty one if it does not parse; the linter reports that
    error."""
    try:
        return ast.parse(path.read_text(), str(path))
    except SyntaxError:
        return ast.Module(body=[], type_ignores=[])


def module_name(root: Path, path: Path) -> str:
    """Return a file's module, such as chaos.nemeses.kill for chaos/nemeses/kill.py; a package is
    named without its __init__."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_test(path: Path, root: Path) -> bool:
    return "tests" in path.relative_to(root).parts or path.name == "conftest.py"
