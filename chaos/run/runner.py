"""One run: start a target, run a workload and a nemesis against it, heal, read everything, stop.

    start    the cluster, with every link proxied; then create the topics
    attack   let processes and nemesis work for the given seconds
    heal     undo all faults; let processes end their transactions; wait for a healthy cluster
    read     perform the final operations
    finish   always, also after Ctrl-C: heal, stop what was started, keep what was recorded

Judging is separate: `linearizability.check(directory)` reads the directory that a run leaves.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from chaos.clients import payload
from chaos.clients.confluent.client import ConfluentFactory
from chaos.clients.confluent.log import kept_log
from chaos.clients.factories import check_groups, clients_named
from chaos.clients.wire.admin import Admin
from chaos.clients.wire.operator import MakeClients
from chaos.clients.wire.own_topics import REMOVE_TIMEOUT_S
from chaos.clients.wire.raw import RawFactory
from chaos.means.connection import WireError
from chaos.means.real_world import REAL_WORLD
from chaos.record import run_directory, shown
from chaos.record.gathering import HISTORY
from chaos.record.hiding import scrub_files, scrubbed, secrets_of
from chaos.record.recorder import HistoryRecorder, RecorderError
from chaos.record.run_directory import RunDirectoryError, Scenario
from chaos.run.costs import Costs
from chaos.run.first_phase import REPLICAS_MAX
from chaos.run.fitting import Parts, check_fit, client_in_virtual_time, family_of
from chaos.run.guests.guest import Guest
from chaos.run.guests.own_names import RenamedAdmin
from chaos.run.interrupts import Interrupts
from chaos.run.nowhere import LINES_MAX, Nowhere, grave_lines
from chaos.run.phases import Administrator, Means, Phases
from chaos.run.progress import Progress, attack_line
from chaos.run.result import RunError, RunResult
from chaos.run.variety import drawn
from chaos.run.workers import FaultPerformer, Shared, Throttle
from chaos.targets.clusters.equipment import equipped
from chaos.values.able_targets import RunningTarget, SizedTarget
from chaos.values.protocols import Cluster, TargetError
from chaos.world import BringsWorld, World
from reference_impl.access import access_of

JOIN_INTERRUPTED_S = 15.0
VARIED = frozenset({"apache", "reference", "sim"})
"""The families of targets whose settings a run may choose, and which have the settings that are
drawn at random."""


@dataclass(frozen=True)
class Tools:
    """The makers of the clients and of the administrator by which operations reach the cluster; by
    default, the real ones."""

    clients: MakeClients = ConfluentFactory
    raw_clients: MakeClients = RawFactory
    admin: Callable[[World, str], Administrator] = Admin
    stop_s: float = JOIN_INTERRUPTED_S
    """The longest that an interrupted run waits for its processes, and then for the removal of what
    it made on a cluster of others."""


def run(
    scenario: Scenario,
    runs: Path,
    *,
    parts: Parts | None = None,
    tools: Tools | None = None,
    progress: bool = True,
    argv: Sequence[str] = (),
) -> RunResult:
    """Make one run in a new directory below `runs`; return its result, also if it is interrupted.
    Raise TargetError (or its RunError) if it cannot be made or recorded, and remove the directory
    if that was before the attack, unless a cluster had started and then did not answer. parts,
    tools: used instead of those that the scenario names. argv: the command line, for run.json."""
    parts = parts or Parts.of(scenario)
    nodes = parts.target.nodes if isinstance(parts.target, SizedTarget) else scenario.nodes
    scenario = replace(scenario, target=parts.target.name, nodes=nodes)
    if isinstance(parts.target, BringsWorld):
        scenario = replace(scenario, client=client_in_virtual_time(scenario))
    check_fit(parts.target, parts.workload, parts.nemesis, scenario.nodes)
    check_groups(scenario.client, parts.workload)
    if min(scenario.seconds, scenario.rate, scenario.nodes) <= 0:
        raise RunError("seconds, rate and nodes must be above zero; choose others")
    tools = tools or Tools(clients=clients_named(scenario.client))
    try:
        directory = run_directory.make(runs, scenario)
        with Interrupts() as interrupts:
            one = _Run(scenario, parts, directory, tools)
            one.progress = Progress(progress)
            try:
                return one.world.run(one.perform(argv, interrupts))
            except TargetError as error:
                # A run that was refused before the attack leaves nothing but the message. A cluster
                # that started and then did not obey has logs, which are kept.
                disobeyed = one.cluster is not None and isinstance(error.__cause__, WireError)
                if one.fault_performer is None and not disobeyed:
                    shutil.rmtree(directory, ignore_errors=True)
                raise
    except (RecorderError, RunDirectoryError, TargetError) as error:
        told = scrubbed(str(error), secrets_of(scenario.config))
        if isinstance(error, TargetError) and told == str(error):
            raise
        raise RunError(told) from error


class _Run:
    """The state of one run, and its phases. `run` makes one for each run; it is also the Onlooker
    of its Phases."""

    progress = Progress(wanted=False)

    def __init__(self, scenario: Scenario, parts: Parts, directory: Path, tools: Tools) -> None:
        self.scenario = scenario
        self.target = parts.target
        self.workload = parts.workload
        self.nemesis = parts.nemesis
        self.directory = directory
        self.world: World = REAL_WORLD
        run_id = directory.name
        if isinstance(parts.target, BringsWorld):
            self.world = parts.target.make_world(scenario.seed)
            # Leave out the time of day: nodes and clients get the id, and a run must be repeatable.
            run_id = run_directory.name_of(scenario)
        self.nonce = payload.nonce_of(f"{run_id}:{self.world.wall_ns()}")
        self.factory = tools.clients(self.world, self.nonce)
        self.raw_factory = tools.raw_clients(self.world, self.nonce)
        self.guest: Guest | None = None
        if isinstance(self.target, RunningTarget):
            self.guest = Guest(self.world, self.nonce, scenario.seconds)
            self.factory = self.guest.names.clients(self.factory)
            self.raw_factory = self.guest.names.clients(self.raw_factory)
        self.make_admin, self.stop_s = tools.admin, tools.stop_s
        self.admin: Administrator | None = None
        self.cluster: Cluster | None = None
        self.under_way: Phases | None = None
        self.interrupted = False
        self.answer: str | None = None
        """In a run without an acknowledged record, the answer to a raw Produce at its end."""
        self.facts: dict[str, Any] = {}
        self.costs = Costs()
        self.recorder = HistoryRecorder(directory, run_id)
        self.shared = Shared(
            run_id,
            "",
            self.recorder,
            scenario.seed,
            self.world,
            Throttle(self.world, scenario.rate),
        )
        if family_of(self.target.name) in VARIED:
            self.shared.variety = drawn(scenario.seed, self.workload, scenario.config)

    @property
    def fault_performer(self) -> FaultPerformer | None:
        """The performer of the nemesis's faults, None before the attack begins."""
        attack = self.under_way
        return attack.fault_performer if attack is not None and attack.has_attacked else None

    @property
    def recovered(self) -> bool:
        return self.under_way is not None and self.under_way.recovered

    @property
    def scratch(self) -> Path:
        """The directory with the nodes' data. Only their logs are kept after the run."""
        return self.directory / "cluster"

    async def perform(self, argv: Sequence[str], interrupts: Interrupts) -> RunResult:
        self.facts = run_directory.first_facts(
            self.directory, self.scenario, self.workload.judged_by, argv
        ) | {"drawn": self.shared.variety.as_dict()}
        run_directory.write(self.directory, self.facts)
        try:
            for phase, work in self.phases():
                with self.costs.phase(phase):
                    await work()
                self.costs.look(self.scratch)
        except KeyboardInterrupt:
            self.interrupted = True
            self.shared.problem("the run was interrupted")
        except BaseException as error:
            self.shared.problem(f"the run ended early: {error}")
            raise
        finally:
            interrupts.shield()
            try:
                with self.costs.phase("stop"):
                    await self.finish()
            finally:
                self._note_the_end()
        return RunResult(
            self.directory,
            self.facts["counts"],
            tuple(self.shared.problems),
            tuple(self.shared.notes),
            self.interrupted,
            self.recovered,
            self.scenario.command(),
        )

    # --- phases ---------------------------------------------------------------------------------

    def phases(self) -> tuple[tuple[str, Callable[[], Coroutine[Any, Any, None]]], ...]:
        """Return the phases in order, under their names in run.json."""
        return (
            ("start", self.start),
            ("attack", self.attack),
            ("heal", self.heal),
            ("recover", self.recover),
            ("read", self.read),
        )

    @property
    def begun(self) -> Phases:
        """The phases of the run after the cluster's start, from the creation of the topics on."""
        assert self.under_way is not None
        return self.under_way

    async def start(self) -> None:
        self.progress.phase(f"starting {self.target.name}, {self.scenario.nodes} node(s)")
        target = equipped(self.target, self.nemesis.faults)
        config = self._config() if self.guest is None else self.scenario.config
        cluster = target.start(self.scratch, self.scenario.nodes, config, proxied=True)
        self.cluster = cluster
        cluster.rng = Random(f"{self.scenario.seed}:roles")
        self.shared.bootstrap = cluster.bootstrap
        self.facts["versions"]["target"] = cluster.version
        self.admin = self.make_admin(self.world, cluster.bootstrap)
        first = self.workload.topics()[0].name
        try:
            brokers = await self.admin.brokers()
            await self._check_transactions(self.admin)
            replicas = replicas_of(self.scenario.config, brokers)
            if self.guest is not None:
                for note in await self.guest.begin(cluster, self.workload, replicas):
                    self.shared.note(note)
                self.admin = RenamedAdmin(self.admin, self.guest.names)
                self.facts["prefix"] = self.guest.names.prefix
                first = self.guest.names.outside(first)
            means = Means(self.factory, self.raw_factory, self.admin, brokers)
            attack = Phases(self.shared, self.workload, self.nemesis, cluster, means, self)
            await attack.make_topics(self.scenario.config, self._config(), replicas)
        except WireError as error:
            raise RunError(f"{self.target.name}: no run can begin: {error}; see its log") from error
        cluster.focus = (first, 0)
        self.under_way = attack

    def _config(self) -> Mapping[str, str]:
        """Return the settings that the run gives the brokers, or finds in force as a guest."""
        if self.guest is not None:
            return self.guest.standing
        varied = self.shared.variety.brokers
        return {**varied, **self.workload.config, **self.scenario.config}

    async def _check_transactions(self, admin: Administrator) -> None:
        settings = map(self.workload.settings, range(self.workload.processes))
        if any(one.transactional for one in settings) and not await admin.serves_transactions():
            raise RunError(
                f"target {self.target.name!r} serves no transactions, which workload"
                f" {self.workload.name} needs; choose the workload appends, or another target"
            )

    async def attack(self) -> None:
        await self.begun.attack(self.scenario.seconds)

    async def heal(self) -> None:
        self.progress.phase("healing")
        await self.begun.heal()

    async def recover(self) -> None:
        await self.begun.recover()

    async def read(self) -> None:
        self.progress.phase("reading everything")
        self._check_recorder()
        await self.begun.read()
        if not self.recorder.records_acknowledged:
            # Only after everything was read, since this record is not in the history.
            assert self.admin is not None
            topic = self.workload.topics()[0].name
            self.answer = await self.admin.answer_to_produce(topic, self.nonce)

    async def finish(self) -> None:
        """End everything that the run has started, and leave only its directory. Note each step
        that fails, and go on. Raise RecorderError if the history cannot be written."""
        if self.interrupted:
            self.progress.phase("interrupted: stopping what was started")
        if self.under_way is not None:
            await self.under_way.stop(self.stop_s)
        if self.admin is not None:
            await self._attempt("close the admin connection", _called(self.admin.close))
        if (guest := self.guest) is not None:
            await self._attempt("remove what it made", self._leave(guest))
        if (cluster := self.cluster) is not None:
            await self._attempt("collect logs", self._collect(cluster))
            await self._attempt("stop the cluster", _called(cluster.stop))
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.recorder.close()

    # --- helpers --------------------------------------------------------------------------------

    async def _leave(self, guest: Guest) -> None:
        self.shared.notes += await guest.end(self.stop_s if self.interrupted else REMOVE_TIMEOUT_S)

    async def _collect(self, cluster: Cluster) -> None:
        """Copy the nodes' logs and settings into the run directory, without secrets."""
        kept = self.directory / "nodes"
        cluster.collect(kept)
        scrub_files(kept, self.scenario.config, access_of(self.shared.bootstrap).secrets)

    def _note_the_end(self) -> None:
        counts = self.recorder.counts.as_dict()
        if not counts["records_acknowledged"] and not self.interrupted:
            self._tell_why_nowhere()
        if (
            self.nemesis.faults
            and self.fault_performer
            and not self.fault_performer.struck
            and not self.interrupted
        ):
            why = f" ({refusal})" if (refusal := self.fault_performer.refusal) else ""
            self.shared.problem(
                f"no fault affected any node, so the run says nothing about the nemesis{why}"
            )
        self._note_what_is_shown()
        self.facts |= {
            "counts": counts,
            "problems": list(self.shared.problems),
            "notes": list(self.shared.notes),
            "interrupted": self.interrupted,
            "recovered": self.recovered,
            "ended": run_directory.utc_now(),
            "costs": self.costs.as_dict(),
        }
        secrets = (*secrets_of(self.scenario.config), *access_of(self.shared.bootstrap).secrets)
        self.facts = scrubbed(self.facts, secrets)
        run_directory.write(self.directory, self.facts)

    def _tell_why_nowhere(self) -> None:
        logged = kept_log(self.shared.bootstrap).most_frequent(LINES_MAX)
        found = grave_lines(self.directory / "nodes")
        nowhere = Nowhere(self.recorder.counts, logged, found, self.answer)
        self.shared.problem(nowhere.why())
        self.facts["nowhere"] = nowhere.facts()

    def _note_what_is_shown(self) -> None:
        if not (self.directory / HISTORY).exists():  # the disk was full, which is reported already
            return
        seen = shown.shown_by(self.directory)
        missing = seen.missing(self.workload.name, bool(self.nemesis.faults))
        self.facts |= {"shown": seen.as_dict(), "not_shown": [sight.value for sight in missing]}
        if not self.interrupted:
            for sight in missing:
                self.shared.problem(shown.problem(sight))

    async def _attempt(self, what: str, action: Coroutine[Any, Any, None]) -> None:
        try:
            await action
        except Exception as error:
            self.shared.note(f"could not {what}: {error}")

    def watch(self, elapsed_s: float | None) -> None:
        self._check_recorder()
        if elapsed_s is None:
            self.progress.update("waiting for the first acknowledgement")
            return
        fault = self.fault_performer.current if self.fault_performer else "-"
        line = attack_line(self.recorder.counts, fault, elapsed_s, self.scenario.seconds)
        self.progress.update(line)

    def tell(self, sentence: str) -> None:
        self.progress.update(sentence)

    def _check_recorder(self) -> None:
        if self.recorder.problem:
            raise RecorderError(self.recorder.problem)


async def _called(action: Callable[[], None]) -> None:
    action()


def replicas_of(config: Mapping[str, str], brokers: int) -> int:
    """Return the number of replicas: `default.replication.factor`, or REPLICAS_MAX if that is not
    set, but not more than there are brokers. Raise RunError if it is not a number of 1 or more."""
    asked = config.get("default.replication.factor", str(REPLICAS_MAX))
    if not asked.isdigit() or int(asked) < 1:
        raise RunError(f"default.replication.factor={asked}: give a number of replicas, 1 or more")
    return min(int(asked), brokers)
