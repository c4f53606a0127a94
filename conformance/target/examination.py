"""Provide the target under test: one that is started here, and restarted if a case kills it, or an
address."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from chaos.targets import parse_target
from chaos.targets.bootstrap import BootstrapTarget, addresses
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.clusters.node import LocalNode
from chaos.targets.clusters.probe import listens
from chaos.targets.foreign.target import ForeignTarget
from chaos.values.faults import Heal, Kill
from chaos.values.protocols import Cluster, Target, TargetError
from chaos.world import joined
from conformance.case import Case, Deviation, Unsupported
from conformance.patience import PATIENCE
from conformance.target.reach import Unreachable, check, reachable
from conformance.target.tidying import END_TIMEOUT_S, Tidying
from conformance.terms import TERMS
from conformance.wire import Connection, ConnectionClosed
from reference_impl.access import Endpoint, access_of
from reference_impl.wire import ApiKey, Malformed, request_definition

QUICK_CLEANUP = {
    # Retention and compaction at once; by default every 5 minutes and 15 seconds, after 30.
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "500",
    "log.cleaner.backoff.ms": "200",
    # Transactions that last too long are looked for at once, too; by default every 10 seconds.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    # A group gets a new target as soon as it needs one; by default at most once a second.
    "group.consumer.assignment.interval.ms": "0",
}
"""The settings by which a target that is started here does at once what cases wait for."""
QUICK_ON_APACHE = {
    # A change of the cluster's metadata waits for no other; by default it does for 25 ms.
    "controller.quorum.append.linger.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
}
"""The same on Apache Kafka alone: the reference does not wait, and has no such groups."""
IN_RACKS = {
    "broker.rack": "rack-{node}",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}
"""The settings of several nodes: each is in a rack of its own, and consumers are sent to the
replica in their rack (KIP-392)."""
SHUTDOWN_TIMEOUT_S = 60.0
RETURN_TIMEOUT_S = 15.0
RETURN_POLL_S = 0.25
ALIVE_TIMEOUT_S = 5.0
BUSY_TIMEOUT_S = 20.0
REPLICAS_MAX = 3
CONFIGURED = ("apache", "reference")
"""Targets that accept a configuration at their start."""
CAMEL = {key: "".join(word.capitalize() for word in key.name.split("_")) for key in ApiKey}


@dataclass
class Examined:
    """The target under test, with the versions that it advertises (API name -> first and last
    version)."""

    name: str
    bootstrap: str
    cluster: Cluster
    can_restart: bool
    directory: Path | None
    advertised: Mapping[str, tuple[int, int]]
    options: str
    cleans_up_quickly: bool = False
    tidying: Tidying | None = None
    """Removes what the cases create on a cluster that was not started here, or None for one
    that was."""
    start_with: Callable[[Mapping[str, str]], Examined] | None = None
    """A function that starts a second instance with these settings, or None if the target
    takes none."""
    _variant: tuple[tuple[tuple[str, str], ...], Examined] | None = field(default=None, repr=False)

    @staticmethod
    def start(
        target: str | None,
        bootstrap: str | None,
        bug: str | None,
        directory: Path | None,
        settings: Mapping[str, str] | None = None,
        nodes: int = 1,
    ) -> Examined:
        """Start the target, or connect to the address. Raise TargetError (one sentence) if that
        fails.

        directory: the data's place, or None for a temporary one. settings: more broker settings.
        nodes: how many brokers to start; with several, cases with own settings are unsupported.
        """
        chosen = parse_target(target, bug=bug) if target else BootstrapTarget(bootstrap or "")
        if isinstance(chosen, BootstrapTarget):
            chosen = _answering(chosen)
        made = None if directory else Path(tempfile.mkdtemp(prefix="touchstone-conform-"))
        try:
            racks = IN_RACKS if nodes > 1 else {}
            quick = QUICK_CLEANUP | (QUICK_ON_APACHE if _is_apache(target) else {})
            ours = quick | racks | dict(settings or {})
            config = ours if _is_configured(target) else None
            cluster = chosen.start(directory or made or Path(), nodes=nodes, config=config)
        except BaseException:
            if made:
                shutil.rmtree(made, ignore_errors=True)
            raise
        options = f"--target {target}" if target else f"--bootstrap {bootstrap}"
        options += f" --nodes {nodes}" if nodes > 1 else ""
        options += f" --prefix {TERMS.prefix}" if TERMS.prefix else ""
        takes_settings = _is_configured(target) and nodes == 1
        try:
            advertised = advertised_versions(cluster.bootstrap)
        except (OSError, ConnectionClosed, Malformed, Deviation) as error:
            cluster.stop()
            raise TargetError(
                f"{cluster.bootstrap} does not answer ApiVersions v0 ({error}); is it a Kafka?"
            ) from error
        return Examined(
            target or bootstrap or "",
            cluster.bootstrap,
            cluster,
            Kill in chosen.faults,
            made,
            advertised,
            options + (f" --bug {bug}" if bug else ""),
            _is_configured(target),
            _tidying(chosen, cluster),
            partial(_start_second, target, bug) if takes_settings else None,
        )

    def for_case(self, stated: Case | None) -> Examined:
        """Return the target on which this case runs: this one, or a second instance, started if
        need be, with the settings that the case demands. Raise Unsupported if the API is not
        advertised, if no instance can be started here, or if the target refuses settings that it
        may lack; TargetError if it refuses others.

        Only one second instance lives at a time; it is stopped when a case needs another.
        """
        if stated is None or not stated.config:
            return self
        if stated.api not in self.advertised:  # settings cannot add an API
            raise Unsupported(f"{stated.api} is not advertised")
        if self.start_with is None:
            raise Unsupported(
                "the case needs broker settings of its own: a single node that is started here"
            )
        if self._variant is None or self._variant[0] != stated.config:
            self._stop_variant()
            self._variant = (stated.config, self._started_for(stated))
        return self._variant[1]

    def _started_for(self, stated: Case) -> Examined:
        """Return a second instance with the settings of a case. Raise Unsupported if the target
        refuses settings that it may lack, and TargetError if it refuses others."""
        assert self.start_with is not None
        try:
            return self.start_with(dict(stated.config))
        except TargetError as error:
            if "settings-it-may-lack" not in stated.requires:
                raise
            raise Unsupported(f"the target refuses the settings of the case: {error}") from error

    def running_for(self, stated: Case | None) -> Examined:
        """Return the second instance if it runs with the settings of this case, else this one;
        start nothing."""
        if stated is not None and self._variant is not None and self._variant[0] == stated.config:
            return self._variant[1]
        return self

    def _stop_variant(self) -> None:
        if self._variant is not None:
            self._variant[1].stop()
            self._variant = None

    def require(self, stated: Case, version: int | None = None) -> None:
        """Raise Unsupported unless the target can do what the case needs (its API, in the version
        in which the case runs, if it runs in one, and `requires`) and the terms of the examination
        allow it."""
        if stated.api not in self.advertised:
            raise Unsupported(f"{stated.api} is not advertised")
        first, last = self.advertised[stated.api]
        if version is not None and not first <= version <= last:
            raise Unsupported(f"{stated.api} v{version} is not advertised (only v{first}-{last})")
        if "restart" in stated.requires:
            TERMS.require("restart", "a case that kills and restarts the target")
        if "restart" in stated.requires and not self.can_restart:
            raise Unsupported("the case kills and restarts the target, which was not started here")
        if "single-broker" in stated.requires and self.cluster.nodes > 1:
            raise Unsupported("the case needs a target of one broker")
        if "quick-cleanup" in stated.requires and not self.cleans_up_quickly:
            raise Unsupported("the case waits for retention or compaction, minutes on this target")

    def kill_and_restart(self, while_down: Callable[[Path], None] | None = None) -> None:
        """Kill all nodes by SIGKILL, start them again on the same data, and wait until the target
        answers. while_down: called with the first node's data directory while nothing runs on it.
        Raise Unsupported if that directory cannot be seen here."""
        self.cluster.perform(Kill("all"))
        if while_down is not None:
            while_down(_data_of(self._local_cluster().members()[0]))
        self.cluster.perform(Heal())
        self._restart()

    def start_again(self, broker_id: int) -> None:
        """Start the node of one broker again after a kill; leave the others as they are. Raise
        Unsupported if the processes run elsewhere."""
        number = self.number_of(broker_id)
        for member in self._local_cluster().members():
            if member.number == number:
                member.start()

    def data_of(self, broker_id: int) -> Path:
        """Return the data directory of one broker. Raise Unsupported if the suite does not see its
        disk."""
        number = self.number_of(broker_id)
        return next(_data_of(m) for m in self._local_cluster().members() if m.number == number)

    def number_of(self, broker_id: int) -> int:
        """Return the node number, as faults use it, of a broker id. Raise Unsupported if the
        target's processes run elsewhere."""
        return self._local_cluster().number_of(broker_id)

    def stop_and_restart(self) -> None:
        """Send SIGTERM, so that the target can shut down cleanly, and SIGKILL after
        SHUTDOWN_TIMEOUT_S; then start again on the same data. Raise Unsupported if its processes
        run elsewhere."""
        for member in self._local_cluster().members():
            if member.child is not None:
                member.child.end(SHUTDOWN_TIMEOUT_S)
        self._restart()

    def _restart(self) -> None:
        """Start the target again, and note how long it took."""
        began = time.monotonic()
        self.cluster.restart()
        PATIENCE.note_return(time.monotonic() - began)

    def _local_cluster(self) -> LocalCluster:
        TERMS.require("restart", "a case that needs the processes of the target")
        if not isinstance(self.cluster, LocalCluster) or not _is_configured(self.name):
            raise Unsupported("the case needs the processes of the target, which run elsewhere")
        return self.cluster

    def restart_if_dead(self) -> str | None:
        """Return None if the target lives. Otherwise restart it and return a sentence that says
        what was dead.

        Raise TargetError if it does not come back. A foreign target cannot be restarted; it gets
        RETURN_TIMEOUT_S to come back by itself.
        """
        if not self.can_restart:
            return self._wait_for_return()
        if self._lives():
            return None
        try:
            self.cluster.restart()
        except OSError as error:
            raise TargetError(f"{self.name} cannot be restarted: {error}") from error
        return f"{self.name} at {self.bootstrap} no longer answered ApiVersions"

    def _lives(self) -> bool:
        """Return whether the target answers. If it only accepts connections it gets BUSY_TIMEOUT_S,
        since it may just be busy."""
        deadline = time.monotonic() + BUSY_TIMEOUT_S
        while not self.cluster.alive():
            if time.monotonic() > deadline or not listens(
                self.bootstrap.partition(",")[0], ALIVE_TIMEOUT_S
            ):
                return False
            time.sleep(RETURN_POLL_S)
        return True

    def _wait_for_return(self) -> str | None:
        """Return None if the foreign target answers at once. Otherwise wait for it, and return the
        sentence that says why it did not answer at first. Raise TargetError if it does not answer
        within RETURN_TIMEOUT_S."""
        first: str | None = None
        deadline = time.monotonic() + RETURN_TIMEOUT_S
        while True:
            try:
                first_of_all = addresses(self.bootstrap)[0]
                check(Endpoint(*first_of_all, access_of(self.bootstrap)), ALIVE_TIMEOUT_S)
                return first
            except Unreachable as cause:
                if time.monotonic() > deadline:
                    raise TargetError(str(cause)) from cause
                first = first or str(cause)
            time.sleep(RETURN_POLL_S)

    def stop(self, removal_s: float = END_TIMEOUT_S) -> None:
        """Stop what was started here, and its directory with it; on a cluster that was not started
        here, remove what the cases created, within removal_s seconds."""
        self._stop_variant()
        if self.tidying is not None:
            with suppress(TargetError):  # an interrupted examination may have left nodes down
                if self.can_restart and not self.cluster.alive():
                    self.cluster.restart()
            self.tidying.end(removal_s)
        self.cluster.stop()
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)


def _data_of(node: LocalNode) -> Path:
    """Return the data directory of a node, as the target lays it out."""
    return node.directory.parent.parent / "data" / str(node.number)


def is_elsewhere(target: str | None, bootstrap: str | None, bug: str | None) -> bool:
    """Return whether the cluster that these options name is not started here. Raise TargetError if
    there is no such target, or if a file describes a cluster whose nodes Touchstone starts: several
    processes cannot all do so."""
    chosen = parse_target(target, bug=bug) if target else BootstrapTarget(bootstrap or "")
    if isinstance(chosen, ForeignTarget) and chosen.is_started_by_us:
        raise TargetError(
            f"--jobs: {target} has commands that reset or start the cluster, which several"
            " processes would give at the same time; leave out --jobs, or these commands"
        )
    return isinstance(chosen, BootstrapTarget | ForeignTarget)


def _answering(target: BootstrapTarget) -> BootstrapTarget:
    """Return the target with only the addresses that answer. Raise TargetError if none does."""
    try:
        answering = reachable(addresses(target.bootstrap))
    except Unreachable as cause:
        raise TargetError(str(cause)) from cause
    return BootstrapTarget(",".join(joined(address) for address in answering))


def _tidying(target: Target, cluster: Cluster) -> Tidying | None:
    """Return the means to clean up a cluster that was not started here, after marking what this run
    makes there, or None if it was started here."""
    if not isinstance(target, BootstrapTarget | ForeignTarget):
        return None
    return Tidying(cluster.bootstrap, min(cluster.nodes, REPLICAS_MAX))


def _start_second(target: str | None, bug: str | None, settings: Mapping[str, str]) -> Examined:
    return Examined.start(target, None, bug, None, settings)


def _is_apache(target: str | None) -> bool:
    return target is not None and target.partition(":")[0] == "apache"


def _is_configured(target: str | None) -> bool:
    return target is not None and target.partition(":")[0] in CONFIGURED


def advertised_versions(bootstrap: str) -> dict[str, tuple[int, int]]:
    """Return API name -> (first, last) version that the first broker of these addresses advertises
    (ApiVersions v0), for the APIs that this suite knows. Raise OSError, ConnectionClosed, Malformed
    or Deviation if it does not answer correctly."""
    connection = Connection(*addresses(bootstrap)[0], access=access_of(bootstrap))
    try:
        answer = connection.call("ApiVersions", 0)
    finally:
        connection.close()
    known = {int(key): name for key, name in CAMEL.items()}
    return {
        known[a.api_key]: (a.min_version, a.max_version)
        for a in sorted(answer.api_keys, key=lambda row: int(row.api_key))
        if a.api_key in known
    }


def chosen_versions(
    stated: Case, examined: Examined | None, *, all_versions: bool = False
) -> list[int]:
    """Return the versions in which a case runs: the first and the last that case, target and this
    suite share, or all of them (all_versions). If the target shares none, return those of the case
    (their results are then unsupported)."""
    key = next(key for key, name in CAMEL.items() if name == stated.api)
    valid = request_definition(int(key)).valid_versions
    low, high = stated.versions or (valid[0], valid[-1])
    low, high = max(low, valid[0]), min(high, valid[-1])
    if examined is not None and stated.api in examined.advertised:
        first, last = examined.advertised[stated.api]
        if max(low, first) <= min(high, last):
            low, high = max(low, first), min(high, last)
    shared = list(range(low, high + 1)) or [low]
    return shared if all_versions or len(shared) <= 2 else [shared[0], shared[-1]]
