"""Each check is green on a clean tree, red on a planted violation, and green on this very tree."""

import subprocess
import sys
from pathlib import Path

import pytest

from ci import places
from ci.checks import CHECKS, TOOLS
from ci.checks.diagrams import MARKS
from ci.checks.imports import MAY_IMPORT, part_of
from ci.checks.registries import REGISTRIES
from ci.checks.sizes import FILE_LINES_MAX, FUNCTION_LINES_MAX, size_advice
from ci.checks.sources import PACKAGES

BUG = "class EndEarly(Rules):\n    def {}(self, log):\n        return 0\n"
CHAPTER = "class Producing:\n    def append(self, {}):\n        return {}\n"
CLEAN = {
    "reference_impl/wire/frames.py": "import struct\n",
    "reference_impl/core/node.py": "from reference_impl.wire import frames\n",
    "reference_impl/core/handlers/__init__.py": (
        "from reference_impl.core.handlers import fetch\n\nHANDLERS = {1: fetch}\n"
    ),
    "reference_impl/core/handlers/fetch.py": (
        'def fetch():\n    """[Modified in Fetch v7: KIP-227] Sessions."""\n'
        "    # [New in v7: KIP-227]\n    # [New in Fetch v8: KIP-1] Why.\n    return None\n"
    ),
    "reference_impl/core/rules/reading.py": (
        "class Reading:\n    def end(self, log):\n        return log.end\n"
        "    def _begin(self):\n        return 0\n"
    ),
    "reference_impl/bugs/__init__.py": (
        "from reference_impl.bugs.end_early import EndEarly\n\nBUGS = {1: EndEarly}\n"
    ),
    "reference_impl/bugs/bug.py": 'WITHOUT_BUG = {"append": "why"}\n',
    "reference_impl/bugs/end_early.py": BUG.format("end"),
    "reference_impl/core/rules/producing.py": CHAPTER.format("log", "log.append()"),
    "chaos/nemeses/__init__.py": (
        "from chaos.nemeses.kill import Kill, KillLeader\n\n"
        "NEMESES = {n.name: n for n in (Kill, KillLeader)}\n"
    ),
    "chaos/nemeses/kill.py": "from chaos.values import faults\n",
    "chaos/values/faults.py": "",
    "chaos/tests/test_kill.py": "import linearizability\n",
    "conformance/cases/produce/test_a.py": '@case("PROD-01", "Produce")\ndef test_a(): ...\n',
    "linearizability/__init__.py": "import rich\nfrom confluent_kafka import Producer\n",
    "requirements.in": "rich\nconfluent-kafka  # one more client\n",
}

LOOP = "def test_a(answer):\n    for row in {}:\n        expect(row.error_code, 0)\n"
CASE = '@case("PROD-01", "Produce"{})\ndef test_{}(): ...\n'
PLANTED: dict[str, list[tuple[str, str, str]]] = {
    "imports": [
        ("linearizability/a.py", "from chaos.values import faults\n", "may import nothing"),
        (
            "linearizability/b.py",
            "from chaos.values.faults import Kill\n",
            "yet imports chaos.values.faults",
        ),
        (
            "linearizability/self_test/lookup.py",
            "from linearizability.ingest import resolved\n",
            "yet imports linearizability.ingest",
        ),
        ("chaos/nemeses/stop.py", "import chaos.sim\n", "yet imports chaos.sim"),
        ("reference_impl/core/a.py", "from ..host import disk\n", "imports reference_impl.host"),
        ("reference_impl/core/b.py", "import time\n", "from its host, yet imports time"),
        (
            "chaos/run/workers.py",
            "import threading\n",
            "chaos.run.workers must run in virtual time, too (chaos.world), yet imports threading",
        ),
        ("reference_impl/core/c.py", "def f():\n    from os import path\n", "yet imports os"),
        ("ci/a.py", "from chaos.tests import storms\n", "imports no test, yet ci.a imports"),
        ("chaos/tests/test_x.py", "from ci import doctor\n", "only ci may import ci"),
        ("chaos/novel.py", "", "chaos.novel is in no row of the import table"),
        ("chaos/sim/a.py", "import reference_impl.host.disk\n", "imports reference_impl.host.disk"),
    ],
    "circles": [
        (
            "chaos/values/faults.py",
            "from chaos.nemeses import kill\n",
            "kill -> chaos.values.faults -> chaos.nem",
        ),
        (
            "reference_impl/wire/frames.py",
            "if TYPE_CHECKING:\n    from reference_impl.core.node import Node\n",
            "reference_impl.core.node -> reference_impl.wire.frames -> reference_impl.core.node",
        ),
        (
            "chaos/values/faults.py",
            "def f():\n    import chaos.nemeses\n",
            "chaos.nemeses.kill -> cha",
        ),
    ],
    "registries": [
        ("chaos/nemeses/pause.py", "class Pause: ...\n", "nemeses/pause.py stands in no table"),
        ("reference_impl/core/handlers/produce.py", "", "handlers/produce.py stands in no table"),
        ("chaos/workloads/appends.py", "", "chaos/workloads/appends.py stands in no table"),
    ],
    "rules": [
        ("reference_impl/core/rules/producing.py", CHAPTER.format("log", "True"), "decides noth"),
        ("reference_impl/core/rules/producing.py", CHAPTER.format("log", "log"), "decides nothing"),
        ("reference_impl/core/rules/producing.py", CHAPTER.format("*, log", "LOG"), "decides noth"),
        ("reference_impl/bugs/bug.py", "WITHOUT_BUG = {}\n", "no planted bug overrides append"),
        ("reference_impl/bugs/end_early.py", BUG.format("_end"), "no planted bug overrides end"),
        ("reference_impl/core/rules/producing.py", "", "WITHOUT_BUG names append, which is no"),
        (
            "reference_impl/bugs/end_early.py",
            BUG.format("end") + "class EndLate(EndEarly):\n    def ends(self): ...\n",
            "ends is not the name of a rule",
        ),
    ],
    "sizes": [
        ("ci/a.py", "def f():\n" + "    pass\n" * FUNCTION_LINES_MAX, "function of 71 lines"),
        ("ci/b.py", "pass\n" * (FILE_LINES_MAX + 1), "file of 451 lines"),
    ],
    "diagrams": [
        ("reference_impl/README.md", "no marks\n", "has no lines"),
        (
            "reference_impl/client/README.md",
            "".join(
                f"{MARKS[0].format(name)}\nold\n{MARKS[1]}\n"
                for name in ("producer", "member", "consumer-member")
            ),
            "a diagram is old",
        ),
    ],
    "guarantees": [("docs/guarantees.md", "no marks\n", "has no lines '<!-- guarantee: table of")],
    "dependencies": [
        ("ci/a.py", "import rich\nimport pluggy\n", "nothing in requirements.in brings pluggy"),
        (
            "chaos/means/links.py",
            "def f():\n    from yaml import load\n",
            "chaos/means/links.py:2:",
        ),
        ("requirements.in", "rich\nconfluent-kafka\nplotly\n", "no module imports plotly"),
    ],
    "leaks": [
        ("docs/a.md", "see /" + "work/main/README.md\n", "docs/a.md:1:"),
        ("ci/a.py", "\nROOT = '/" + "root'\n", "ci/a.py:2:"),
        ("Makefile", "all:\n\techo /" + "tmp/x\n", "Makefile:2:"),
        ("a.toml", "url = 'https://py" + "pi.org/simple'\n", "a package registry's host"),
        ("a.lock", "--index-" + "url https://x.invalid/\n", "must not choose an index"),
    ],
    "citations": [
        ("reference_impl/a.py", "x = 1  # [New in v8: KIP-467]\n", "begin the comment with"),
        ("reference_impl/b.py", "# [new in v8: KIP-467]\n", "reference_impl/b.py:1:"),
        ("reference_impl/c.py", "# [Added in v8: KIP-467]\n", "reference_impl/c.py:1:"),
        ("conformance/a.py", "# [New in v8]\n", "conformance/a.py:1:"),
        ("conformance/b.py", "# [New in v8: KIP-467]why\n", "conformance/b.py:1:"),
    ],
    "cases": [
        (
            "conformance/cases/produce/test_b.py",
            CASE.format(', priority="P1"', "b"),
            "PROD-01 has the priority P1 here and P0 in conformance/cases/produce/test_a.py",
        ),
        ("conformance/cases/fetch/test_b.py", CASE.format("", "b"), "in another folder than"),
        ("conformance/cases/produce/test_b.py", CASE.format("", "a"), "two functions called"),
    ],
    "loops": [
        ("conformance/cases/a.py", LOOP.format("answer.topics"), "cases/a.py:2: a loop that"),
        ("conformance/cases/b.py", LOOP.format("[t for t in answer.topics]"), "cases/b.py:2:"),
    ],
    "parameters": [
        ("ci/a.py", "def f(a, b, c, d, e, f, g): ...\n", "ci/a.py:1: f takes 7 parameters"),
        ("ci/b.py", "class A:\n    def f(self, a, b, c, d, e, *, f, g): ...\n", "A.f takes 7"),
        ("ci/c.py", "def run_nightly(a): ...\n", "run_nightly takes 1 parameters now"),
    ],
    "prose": [
        ("chaos/a.py", '"""Who missed a generation may commit."""\n', "begins with 'Who'"),
        ("chaos/b.py", 'class A:\n    """What is in force."""\n', "begins with 'What'"),
        ("chaos/c.py", 'def f():\n    """How far it is."""\n', "begins with 'How'"),
        ("chaos/d.py", 'def f():\n    """Ask it; raises Refused."""\n', "'; raises'"),
        ("chaos/e.py", 'def f():\n    """Return it; None if absent."""\n', "'; None if'"),
        ("chaos/f.py", '"""The index is built anew."""\n', "'anew'"),
        ("chaos/g.py", '"""The log. Who reads it, waits."""\n', "begins with 'Who'"),
        ("chaos/h.py", 'A = 1\n"""What is left."""\n', "chaos/h.py:2: a sentence begins"),
        ("chaos/n.py", "A = 1 " + " # it is made anew\n", "chaos/n.py:1: 'anew'"),
        ("chaos/m.py", 'def f():\n    """Whether it is."""\n', "with 'Return whether'"),
        ("chaos/j.py", 'A = 1\n"""How long it waits."""\n', "chaos/j.py:2: begins with 'How'"),
        ("chaos/k.py", 'class A:\n    """Why it is refused."""\n', "begins with 'Why'"),
        ("chaos/i.py", "A = 1\n" + "# Whoever comes first wins.\n", "chaos/i.py:2: a sentence"),
        (
            "chaos/o.py",
            'def f(a):\n    """Return it."""\n    if a:\n        raise Bad\n',
            "f raises Bad",
        ),
        (
            "chaos/p.py",
            'def f(a):\n    """Return it."""\n    raise a.refuse("no")\n',
            "f raises refuse",
        ),
    ],
    "formatting": [
        ("chaos/a.py", "\nx = [1,2]  # fmt: " + "skip\n", "chaos/a.py:2: it switches"),
        ("ci/b.py", "# fmt:" + "off\n", "ci/b.py:1: it switches"),
    ],
}


def plant(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize("name", CHECKS)
def test_a_clean_tree_has_no_violation(name: str, tmp_path: Path) -> None:
    plant(tmp_path, CLEAN)
    assert CHECKS[name](tmp_path) == []


@pytest.mark.parametrize(
    ("name", "path", "text", "sentence"),
    [(name, *case) for name, cases in PLANTED.items() for case in cases],
)
def test_a_planted_violation_is_named(
    name: str, path: str, text: str, sentence: str, tmp_path: Path
) -> None:
    plant(tmp_path, CLEAN | {path: text})
    sentences = CHECKS[name](tmp_path)
    assert len(sentences) == 1, sentences
    assert sentence in sentences[0]


@pytest.mark.parametrize("name", CHECKS)
def test_this_tree_has_no_violation(name: str) -> None:
    assert CHECKS[name](places.ROOT) == []


@pytest.mark.parametrize("name", TOOLS)
def test_this_tree_passes_lint_and_types(name: str) -> None:
    command = [sys.executable, "-m", *TOOLS[name]]
    done = subprocess.run(command, cwd=places.ROOT, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nobody_may_import_the_composition_root() -> None:
    rows = [row for row, allowed in MAY_IMPORT.items() if "ci" in allowed]
    assert rows == ["ci"]
    assert {row.partition(".")[0] for row in MAY_IMPORT} == set(PACKAGES)


def test_every_registry_folder_named_is_there() -> None:
    assert [folder for folder in REGISTRIES if not (places.ROOT / folder).is_dir()] == []


def test_a_function_between_aim_and_limit_is_advice_only(tmp_path: Path) -> None:
    plant(tmp_path, {"ci/a.py": "def f():\n" + "    pass\n" * 60})
    assert CHECKS["sizes"](tmp_path) == []
    assert size_advice(tmp_path) == ["ci/a.py:1: f: a function of 61 lines (aim 50)"]


def test_a_root_of_eleven_loose_files_is_refused(tmp_path: Path) -> None:
    plant(tmp_path, {f"reference_impl/core/m{number}.py": "" for number in range(11)})
    plant(tmp_path, {f"chaos/run/m{number}.py": "" for number in range(11)})
    (sentence,) = CHECKS["loose files"](tmp_path)
    assert sentence.startswith("reference_impl/core has 11 loose files; at most 10 may")
    (tmp_path / "reference_impl/core/m0.py").unlink()
    assert CHECKS["loose files"](tmp_path) == []


def test_a_module_belongs_to_the_longest_row_that_covers_it() -> None:
    assert part_of("chaos.nemeses.kill") == "chaos.nemeses"
    assert part_of("linearizability.engine.spark") == "linearizability"
    assert part_of("chaos.novel") is None
    assert part_of("numpy") is None


@pytest.mark.parametrize(
    "body",
    [
        '    """Return it. Raise Bad if it is empty."""\n    raise Bad\n',
        '    """Require it."""\n    raise Bad\n',
        '    """Turn any error into Bad."""\n    raise Bad\n',
        '    """Do it."""\n    try:\n        raise Bad\n    except (Bad, Worse):\n        pass\n',
        '    """Handle it."""\n    try:\n        g()\n    except Bad:\n        raise\n',
        '    """Handle it."""\n    raise TypeError("no such call")\n',
        '    """Handle it."""\n    def g():\n        raise Bad\n    return g\n',
    ],
)
def test_an_error_that_is_told_or_does_not_leave_is_no_violation(body: str, tmp_path: Path) -> None:
    plant(tmp_path, CLEAN | {"chaos/a.py": f"def f(a):\n{body}"})
    assert CHECKS["prose"](tmp_path) == []


def test_the_help_of_a_command_need_not_name_its_errors(tmp_path: Path) -> None:
    command = 'def f(a: Annotated[int, typer.Option()]):\n    """Do it."""\n    raise UsageError\n'
    plant(tmp_path, CLEAN | {"ci/a.py": command})
    assert CHECKS["prose"](tmp_path) == []
