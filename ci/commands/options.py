"""Options that several commands take, and the values that they stand for."""

from __future__ import annotations

import math
import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from ci import places
from ci.errors import UsageError

TargetOption = Annotated[
    str | None,
    typer.Option(
        help="Start this target: reference, apache, apache:3.9, apache:3.9-zookeeper, kfake,"
        " librdkafka-mock, docker:apache."
    ),
]
BootstrapOption = Annotated[
    str | None, typer.Option(help="Use the running cluster at host:port[,host:port…].")
]
ClusterOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Use the cluster that FILE.toml describes (docs/foreign.md); without --target, the"
        " touchstone.toml here or in a folder above.",
    ),
]
ConfigOption = Annotated[
    list[str] | None,
    typer.Option("--config", help="Broker setting key=value, by Kafka's name; repeatable."),
]
ConfigFileOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Settings in Java's properties format, also for secrets; --config overrides it.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
SarifOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the findings to this SARIF file.")
]
SummaryOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Append a Markdown summary to this file.")
]
MoreTargets = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TARGET]…", help="Further targets, besides --targets."),
]
TargetsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Targets (default: apache:4.3.1 reference); repeatable, or separated by commas."
    ),
]
RunsOption = Annotated[Path, typer.Option(help="Directory in which run directories are created.")]
EngineOption = Annotated[str, typer.Option(help="The engine that judges: auto, local or spark.")]
SparkMasterOption = Annotated[
    str | None, typer.Option(help="local[*], spark://host:port or, for Connect, sc://host:port.")
]
SPARK_MASTERS = ("local", "spark://", "sc://")
UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600}


def seconds_of(length: str) -> float:
    """Return the seconds that a text such as 90, 90s, 10m or 1h names. Raise BadParameter if it
    names none."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", length)
    if found is None or not float(found[1]):
        raise typer.BadParameter(f"{length}: give a time such as 90s, 10m or 1h")
    return float(found[1]) * UNITS_S[found[2]]


MaxTimeOption = Annotated[
    float | None,
    typer.Option(
        metavar="TIME",
        parser=seconds_of,
        help="End an examination after this time, such as 90s or 10m.",
    ),
]


def check_filled(**options: str | None) -> None:
    """Raise UsageError, which names the option, for an option that was given without a value, as
    an unset variable of a shell leaves it: another cluster must not be taken instead."""
    for name, value in options.items():
        if value is not None and not value.strip():
            raise UsageError(f"--{name} {value!r} names nothing; is a variable not set?")


def chosen_target(target: str | None, cluster: Path | None) -> str:
    """Return the target that --target or --cluster names, or else the touchstone.toml in the
    working directory or its nearest parent. Raise UsageError if there is none or more than one, or
    if --cluster names no .toml file."""
    from chaos.targets.foreign.target import SUFFIX, USUAL_FILE, usual_file

    check_filled(target=target)
    if target and cluster:
        raise UsageError(f"--target {target} and --cluster {cluster}: give one of them")
    if target:
        return target
    if cluster is None:
        found = usual_file(Path.cwd())
        if found is None:
            raise UsageError(
                f"nothing names a target; give --target NAME, or --cluster FILE, or write a"
                f" {USUAL_FILE} that describes your cluster"
            )
        cluster = Path(os.path.relpath(found))
        print(f"touchstone: using the cluster that {cluster} describes", file=sys.stderr)
    if cluster.suffix != SUFFIX:
        raise UsageError(f"--cluster {cluster}: name a file that ends in {SUFFIX}")
    return str(cluster)


def pairs(config: list[str] | None) -> dict[str, str]:
    """Return ["a=b"] as {"a": "b"}. Raise UsageError naming a word that is not key=value."""
    result = {}
    for word in config or []:
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise UsageError(f"--config {word!r}: write it as key=value, with Kafka's own key")
        result[key] = value
    return result


def settings(config: list[str] | None, file: Path | None) -> dict[str, str]:
    """Return the settings in the file, overridden by those of --config. Raise UsageError if one is
    malformed."""
    from reference_impl.core.configs.keys import BadConfig
    from reference_impl.host.settings import properties

    try:
        told = properties.read(file) if file else {}
    except BadConfig as error:
        raise UsageError(f"--config-file {error}") from error
    return told | pairs(config)


def typed(config: list[str] | None, file: Path | None) -> tuple[str, ...]:
    """Return the options that repeat these settings on a command line: the file, then the pairs.
    Return none without a file, since the run's command then lists the settings themselves."""
    if file is None:
        return ()
    pairs_typed = [word for pair in config or [] for word in ("--config", pair)]
    return ("--config-file", str(file), *pairs_typed)


def check_above_zero(**options: float | None) -> None:
    """Raise UsageError, which names the option, if a given number is not above zero and finite.
    None means that the option was not given."""
    for name, value in options.items():
        if value is not None and not 0 < value < math.inf:
            raise UsageError(
                f"--{name.replace('_', '-')} {value:g}: give a finite number above zero"
            )


def check_judges(engine: str, spark_master: str | None = None) -> None:
    """Raise UsageError for an unknown engine or a wrong Spark master; call this before an
    attack."""
    from linearizability.judging import ENGINES

    if engine not in ENGINES:
        raise UsageError(f"--engine {engine}: give one of {', '.join(ENGINES)}")
    if spark_master is None:
        return
    if engine == "local":
        raise UsageError(f"--engine local does not use --spark-master {spark_master}; leave it out")
    if not spark_master.startswith(SPARK_MASTERS):
        raise UsageError(
            f"--spark-master {spark_master}: give local[*], spark://host:port or sc://host:port"
        )


def check_directory(option: str, path: Path) -> None:
    """Raise UsageError if the path is a file, or a directory that cannot be written or made; call
    this before long runs. A directory that is made after this and stays empty is removed when the
    process ends."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{option} {path}: a file is there, not a directory; name another")
    nearest = next(each for each in (path, *path.absolute().parents) if each.exists())
    try:
        with TemporaryDirectory(prefix=".touchstone-", dir=nearest):
            places.leave_no_empty(path)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"{option} {path}: {why}; name a directory that can be written") from error
