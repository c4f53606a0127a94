"""Take the steps of a user with nothing but the wheel, each with a bound on its time or size."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree

from ci import places
from ci.bench.table import Ratio, Table
from ci.tools.wheel_backend import PACKAGES
from ci.wheel.stranger import Stranger, WalkFailed

BUILD = "import wheel_backend as b; print(b.build_wheel({0!r})); print(b.build_sdist({0!r}))"
BASE_MB_MAX = 80.0
INSTALL_S_MAX, FIRST_CASE_S_MAX = 20.0, 2.0
FIRST_VERDICT_S_MAX, VERDICT_OF_RECORD_S_MAX = 12.0, 25.0
FOREIGN = re.compile(r"java|jdk|pyspark|go[-_]bin|polars", re.IGNORECASE)
"""The pattern of names of packages that an installation of the wheel without extras must not
install."""
ADDRESS = re.compile(r"[\w.]+:\d+")
TEMPLATE = places.ROOT / "docs" / "plugin-template"
STEP = re.compile(r"^      - run: (.*)$", re.MULTILINE)
ATTACK = "touchstone chaos run --target reference --workload appends --nemesis kill --seconds 5"

Step = tuple[str, Callable[[], Ratio | float | str]]


class Walk:
    """The steps of one user with the wheel, in order. dist: the folder for the wheel and the source
    distribution."""

    def __init__(self, stranger: Stranger, dist: Path) -> None:
        self.stranger = stranger
        self.dist = dist
        self.wheel = ""

    def perform(self) -> Table:
        """Take every step, and print each as it ends. Return a table of their results. Raise
        WalkFailed at the first that fails; a result beyond its bound is only marked in the
        table."""
        table = Table(("step", "result"))
        for name, step in self.steps():
            result = step()
            table.add(name, result)
            print(f"wheel: {name}: {result}", flush=True)
        return table

    def steps(self) -> Iterator[Step]:
        yield "build the wheel and the source distribution", self._build
        yield "an environment with pip alone", self._begin
        yield "install the base, caches cold or warm (s)", self._install_base
        yield "the base takes (MB)", self._size
        yield "install it again, caches warm (s)", self._install_again
        yield "beside packages of the same names: the first case after (s)", self._first_case
        yield "what needs an extra names it", self._name_the_extra
        yield "install [chaos] (s)", lambda: self._types(f"pip install -q '{self.wheel}[chaos]'")
        yield (
            "toxiproxy and porcupine (s)",
            lambda: self._types("touchstone setup toxiproxy porcupine"),
        )
        yield "an attack of 5 s: the first verdict after (s)", self._attack
        yield "check and report (s)", self._judge
        yield "the cases by pytest --pyargs (s)", self._pyargs
        yield "the plugin template's own CI", self._template
        yield "install [spark] (s)", lambda: self._types(f"pip install -q '{self.wheel}[spark]'")
        yield "an attack of 5 s: the verdict of record after (s)", self._attack_on_record

    # --- steps --------------------------------------------------------------------------------

    def _build(self) -> str:
        self.dist.mkdir(parents=True, exist_ok=True)
        code = f"import sys; sys.path.insert(0, 'ci/tools'); {BUILD.format(str(self.dist))}"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=places.ROOT, capture_output=True, text=True
        )
        if done.returncode:
            raise WalkFailed(f"the build failed:\n{done.stderr[-3000:]}")
        built = re.findall(r"^(\S+\.whl|\S+\.tar\.gz)$", done.stdout, re.MULTILINE)
        self.wheel = str(self.dist / next(name for name in built if name.endswith(".whl")))
        return ", ".join(built)

    def _begin(self) -> str:
        self.stranger.begin()
        return "made"

    def _install_base(self) -> float:
        before = self.stranger.packages()
        taken = self._types(f"pip install -q '{self.wheel}'")
        foreign = [name for name in self.stranger.packages() - before if FOREIGN.search(name)]
        if foreign:
            raise WalkFailed(f"the base brings {', '.join(sorted(foreign))}")
        return taken

    def _size(self) -> Ratio:
        return Ratio(self.stranger.megabytes(), at_most=BASE_MB_MAX)

    def _install_again(self) -> Ratio:
        self.stranger.begin()
        return Ratio(self._types(f"pip install -q '{self.wheel}'"), at_most=INSTALL_S_MAX)

    def _first_case(self) -> Ratio:
        for name in PACKAGES:
            (self.stranger.folder / name).mkdir()
            (self.stranger.folder / name / "__init__.py").write_text("raise SystemExit('mine')\n")
        self._types("touchstone --version")
        with self.stranger.running("touchstone serve --port 0 --data data") as output:
            address = next(found[0] for text in output if (found := ADDRESS.search(text)))
            line = f"touchstone conform --bootstrap {address} -k test_acks --out runs/mine.json"
            took = self.stranger.seconds_until(line, "^[.uF]")
        return Ratio(took, at_most=FIRST_CASE_S_MAX)

    def _name_the_extra(self) -> str:
        lines = ("chaos list", "check runs", "sim --seeds 1", "demo", "bench judges", "bugs --list")
        for line in lines:
            self.stranger.types(f"touchstone {line}", status=2)
        return ", ".join(lines)

    def _attack(self) -> Ratio:
        took = self.stranger.seconds_until(f"{ATTACK} --engine local", "^VALID by ")
        return Ratio(took, at_most=FIRST_VERDICT_S_MAX)

    def _attack_on_record(self) -> Ratio:
        """Attack, and return after how many seconds Spark's verdict, the one of record, was
        printed, beside the most that is allowed. polars' verdict comes before it."""
        took = self.stranger.seconds_until(f"{ATTACK} --engine auto", "^VALID by spark.*: ")
        return Ratio(took, at_most=VERDICT_OF_RECORD_S_MAX)

    def _judge(self) -> float:
        [run] = (self.stranger.folder / "runs").glob("2*")
        self._types("touchstone ui runs --static pages")
        return self._types(f"touchstone check {run} --engine local") + self._types(
            f"touchstone report {run}"
        )

    def _pyargs(self) -> float:
        return self._types(
            "pytest --pyargs touchstone.conformance.cases --target reference -k test_acks -q"
        )

    def _template(self) -> str:
        """Type the lines of the template's workflow in a copy of it. Return a text with their
        number."""
        project = self.stranger.folder / "template"
        copytree(TEMPLATE, project)
        lines = STEP.findall((TEMPLATE / ".github" / "workflows" / "test.yml").read_text())
        for line in lines:
            self.stranger.types(line, folder=project)
        return f"{len(lines)} commands"

    def _types(self, line: str) -> float:
        return self.stranger.types(line)[1]
