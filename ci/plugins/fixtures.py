"""pytest plugin `touchstone`: a broker, a fault and a verdict for the tests of other projects.

kafka_target  a running cluster: --kafka-target, the setting kafka_target, or the reference
wire          a client that sends it exactly the given bytes
chaos_run     attacks a target with a workload and a nemesis, and names the run's directory
judged        judges a run's directory or a history, and prints the verdict that it hands over

Nothing heavy is imported before a test asks for a fixture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from chaos.values.protocols import Cluster
    from conformance.wire import Wire
    from linearizability.verdict import Verdict

DEFAULT = "reference"
EXAMINING = "conformance.session.examining"
CASES = EXAMINING.removesuffix(".session.examining")


def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Make the options of the cases known to `pytest --pyargs touchstone.conformance --target …`:
    pytest reads the conftest.py of an installed package only after its options."""
    if any(word.startswith(CASES) for word in args):
        early_config.pluginmanager.import_plugin(EXAMINING)


def pytest_addoption(parser: pytest.Parser) -> None:
    help = "reference, apache:4.3.1, kfake, host:port or FILE.toml: what the tests use"
    parser.getgroup("touchstone").addoption("--kafka-target", metavar="NAME", help=help)
    parser.addini("kafka_target", help, default=DEFAULT)
    parser.addini("kafka_nodes", "how many brokers of it are started", default="1")


def _name(config: pytest.Config) -> str:
    return str(config.getoption("--kafka-target") or config.getini("kafka_target"))


def _nodes(config: pytest.Config) -> int:
    given = str(config.getini("kafka_nodes"))
    if not given.isdigit() or int(given) < 1:
        raise pytest.UsageError(f"kafka_nodes = {given}: write a number of brokers from 1 on")
    return int(given)


@pytest.fixture(scope="session")
def kafka_target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Provide one running cluster for all tests, with its `bootstrap`, and `perform(Kill(1))`,
    `perform(Heal())` …; stop it after them. A test fails if it cannot be started."""
    from chaos.targets import parse_target
    from chaos.values.protocols import TargetError
    from ci import plugins

    plugins.load_and_tell()
    name, nodes = _name(request.config), _nodes(request.config)
    directory = tmp_path_factory.mktemp("kafka")
    try:
        cluster = parse_target(name).start(directory, nodes)
    except TargetError as error:
        pytest.fail(str(error), pytrace=False)
    yield cluster
    cluster.stop()


@pytest.fixture
def wire(kafka_target: Cluster) -> Iterator[Wire]:
    """Provide a client of kafka_target that sends exactly the given requests."""
    from conformance.target.examination import advertised_versions
    from conformance.wire import Wire

    client = Wire(kafka_target.bootstrap, advertised_versions(kafka_target.bootstrap))
    yield client
    client.close()


@pytest.fixture
def chaos_run(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Path]:
    """Provide the function that attacks a target of its own and returns the run's directory. The
    test fails if the run cannot be made.

    chaos_run(workload, nemesis="none", seconds=10, seed=1, target=…, nodes=…, config={…}, …), as
    the options of `touchstone chaos run`.
    """
    from chaos.record.run_directory import Scenario
    from chaos.run.runner import run
    from chaos.values.protocols import TargetError
    from ci import plugins

    plugins.load_and_tell()
    usual: dict[str, Any] = {"seconds": 10, "seed": 1, "target": _name(request.config)}

    def attack(workload: str, nemesis: str = "none", **options: Any) -> Path:
        given = {"nodes": _nodes(request.config), **usual, **options}
        scenario = Scenario(workload=workload, nemesis=nemesis, **given)
        try:
            made = run(scenario, tmp_path, progress=False)
        except TargetError as error:
            pytest.fail(str(error), pytrace=False)
        return made.directory

    return attack


@pytest.fixture
def judged() -> Callable[..., Verdict]:
    """Provide the function that judges a run's directory or a history in any supported format, and
    prints the verdict.

    The verdict that it returns has `validity` ("valid", "invalid" or "unknown"), `reason` and
    `checkers`.
    """
    from ci import plugins
    from ci.attack import judge, judge_foreign, print_verdict
    from linearizability.importers.formats import AUTO, OURS, chosen_format

    plugins.load_and_tell()

    def judgement(path: Path | str, engine: str = "local") -> Verdict:
        form = chosen_format(Path(path), AUTO)
        if form == OURS:
            found = judge(Path(path), engine=engine)
        else:
            found = judge_foreign(Path(path), engine=engine, history_format=form)
        print_verdict(found)
        return found.verdict

    return judgement
