"""A quorum under a seeded hostile schedule, and the promises of Raft, checked after every step.

The watcher sees what the nodes do from outside: which of them lead, what they answer to Vote, what
their logs hold. It asks no rule of theirs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.image_records import records_of
from reference_impl.core.controller.records import config_record
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request, RequestArrived
from reference_impl.core.log.results import OffsetOutOfRange
from reference_impl.core.quorum.states import State
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.core.storage import StorageError
from reference_impl.core.tests.cluster import Cluster, Handle
from reference_impl.core.waiting.waits import Applied
from reference_impl.wire import ApiKey, ErrorCode, request_definition, response_definition

ANSWER = response_definition(ApiKey.HEARTBEAT)
WRITE = request_definition(ApiKey.HEARTBEAT)
PATIENCE_MS = 5_000
FORGETFUL = {
    "metadata.log.max.record.bytes.between.snapshots": "200",
    "metadata.max.retention.bytes": "0",
    "internal.metadata.log.segment.bytes": "300",
    "controller.quorum.fetch.snapshot.max.bytes": "400",
}
"""Settings with which nodes write snapshots often, and keep little of the log before them."""
FIRST_CLIENT = 1_000_000


class Broken(AssertionError):
    """A promise of the quorum is broken."""


def write(broker: Broker, request: Request) -> Iterator[Effect]:
    """Write one record, and answer when this node has applied it."""
    code = ErrorCode.NONE
    try:
        record = config_record(4, "", f"k{request.body.generation_id}", "v")
        yield Applied(broker.controller.write([record]), PATIENCE_MS)
    except Refused as refused:
        code = refused.code
    yield Respond(request, ANSWER.new(error_code=code))


@dataclass
class Watcher:
    """The observations of all nodes so far."""

    cluster: Cluster
    leaders: dict[int, int] = field(default_factory=dict)
    """Epoch -> the node that led in it."""
    votes: dict[tuple[int, int], int] = field(default_factory=dict)
    """(Voter, epoch) -> the candidate that got the vote."""
    committed: list[bytes] = field(default_factory=list)
    """Each batch that some node has taken for committed, in the log's order."""
    ends: list[int] = field(default_factory=lambda: [0])
    """The offset at which each of them begins, and the one after the last."""
    seen: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Node -> its high watermark, and the number of committed batches it was compared up to."""

    def look(self, node: int) -> None:
        """Check what a node is now, after its step. Raise Broken."""
        quorum = self.cluster.nodes[node].broker.quorum
        is_settled = quorum.log.voters.latest.kraft_version == 0
        if (is_settled and not quorum.is_voter) and (
            quorum.state not in (State.UNATTACHED, State.FOLLOWER) or quorum.election.voted_id
        ):
            raise Broken(f"node {node} is not a voter, and takes part in elections: {quorum.state}")
        if quorum.state is State.LEADER:
            first = self.leaders.setdefault(quorum.epoch, node)
            if first != node:
                raise Broken(f"epoch {quorum.epoch} has two leaders: nodes {first} and {node}")
        voted = quorum.election.voted_id
        if voted is not None:
            first = self.votes.setdefault((node, quorum.epoch), voted)
            if first != voted:
                raise Broken(f"node {node} votes for {first} and {voted} in epoch {quorum.epoch}")
        if quorum.high_watermark > quorum.end_offset:
            raise Broken(
                f"node {node} takes {quorum.high_watermark} records for committed, and has"
                f" {quorum.end_offset}"
            )
        if quorum.high_watermark > self.seen.get(node, (0, 0))[0]:
            self._compare_committed(node)

    def restarted(self, node: int) -> None:
        """Compare the log of a node from its beginning."""
        self.seen.pop(node, None)

    def _compare_committed(self, node: int) -> None:
        quorum = self.cluster.nodes[node].broker.quorum
        _, place = self.seen.get(node, (0, 0))
        place = max(place, bisect_left(self.ends, quorum.log.start_offset))
        for data in quorum.log.log.batches(self.ends[place]):
            batch = bytes(data)
            end = self.ends[place] + int.from_bytes(batch[23:27], "big") + 1
            if end > quorum.high_watermark:
                break
            if place == len(self.committed):
                self.committed.append(batch)
                self.ends.append(end)
            elif self.committed[place] != batch:
                raise Broken(
                    f"node {node} commits another batch at offset {self.ends[place]} than others"
                    " have committed there"
                )
            place += 1
        self.seen[node] = quorum.high_watermark, place

    def logs_match(self) -> None:
        """Check that two logs which have one batch in common agree on all before it (Raft, 5.3).
        Raise Broken."""
        found: dict[tuple[int, int], bytes] = {}
        before: dict[tuple[int, int], tuple[int, int]] = {}
        for node, each in self.cluster.nodes.items():
            last: tuple[int, int] | None = None
            for data in each.broker.quorum.log.log.batches():
                key = int.from_bytes(data[0:8], "big"), int.from_bytes(data[12:16], "big")
                if found.setdefault(key, bytes(data)) != data:
                    raise Broken(f"node {node} has another batch at offset and epoch {key}")
                if last is not None and before.setdefault(key, last) != last:
                    raise Broken(f"node {node} has another log below offset and epoch {key}")
                last = key

    def images_match(self) -> None:
        """Check that nodes which have applied the log up to the same offset know the same cluster,
        by the log or by snapshots. Raise Broken."""
        images: dict[int, list[str]] = {}
        for node, each in self.cluster.nodes.items():
            image = each.broker.image
            records = sorted(map(repr, records_of(image)))
            if images.setdefault(image.end_offset, records) != records:
                raise Broken(f"node {node} knows another cluster at offset {image.end_offset}")


class Schedule:
    """Faults and writes by a seed."""

    cluster_class = Cluster

    def __init__(
        self,
        seed: int,
        voters: int = 3,
        rules: type[Rules] = Rules,
        observers: int = 0,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        self.random = Random(seed)
        apis: dict[int, Handle] = {ApiKey.HEARTBEAT: write}
        self.cluster = self.cluster_class(apis, seed, voters, rules, observers, configs)
        self.nodes = list(self.cluster.nodes)
        self.watcher = Watcher(self.cluster)
        self.cluster.watch = self.look
        self.written = 0
        self.voted: dict[int, int | None] = {}
        self.faults: Sequence[Callable[[], None]] = (
            *(self.kill, self.cut, self.isolate_leader, self.slow, self.heal, self.boot_all),
        )
        self.weights: Sequence[int] = (2, 3, 2, 1, 3, 2)

    def run(self, seconds: int) -> None:
        """Let faults come and go, and writes go to every node; then let the quorum recover. Raise
        Broken."""
        try:
            self._disturb(seconds)
            self._settle()
        except (StorageError, OffsetOutOfRange) as error:
            raise Broken(f"a node stops: {error}") from error

    def _disturb(self, seconds: int) -> None:
        for _ in range(seconds * 4):
            self.random.choices(self.faults, self.weights)[0]()
            for node in self.nodes:
                self.write(node)
            self.cluster.run(self.random.choice((20, 100, 250, 600, 1_500)))
        self.watcher.logs_match()

    def _settle(self) -> None:
        """End all faults, and require that the quorum works again."""
        self.heal()
        self.boot_all()
        self.cluster.run(15_000)
        leaders = [n for n, each in self.cluster.nodes.items() if each.broker.quorum.is_leader]
        if len(leaders) != 1:
            raise Broken(f"15 s after the last fault the leaders are {leaders}")
        before = self.cluster.nodes[leaders[0]].broker.quorum.high_watermark
        self.write(leaders[0])
        self.cluster.run(2_000)
        reached = {n: each.broker.quorum.high_watermark for n, each in self.cluster.nodes.items()}
        if min(reached.values()) <= before:  # sessions of brokers may have ended meanwhile
            raise Broken(f"a write at offset {before} is committed so far: {reached}")
        self.watcher.logs_match()
        self.watcher.images_match()

    def look(self, node: int) -> None:
        """Check what a node is after its step, and sometimes kill it when it has just voted."""
        self.watcher.look(node)
        voted = self.cluster.nodes[node].broker.quorum.election.voted_id
        if self.voted.get(node) != voted:
            self.voted[node] = voted
            if self.random.random() < 0.2:
                self.cluster.at(2, lambda: self.restart(node))

    def restart(self, node: int) -> None:
        if node in self.cluster.nodes:
            self.cluster.kill(node, loses_power=True)
            self.boot(node)

    def write(self, node: int) -> None:
        """Let another client write to a node."""
        self.written += 1
        body = WRITE.new(generation_id=self.written)
        request = Request(FIRST_CLIENT + self.written, 12, 4, 1, "test", "/1.2.3.4", body)
        self.cluster.step(node, RequestArrived(*self.cluster.moment(), request))

    def kill(self) -> None:
        node = self.random.choice(self.nodes)
        if node in self.cluster.nodes:
            self.cluster.kill(node, loses_power=self.random.random() < 0.5)
            if self.random.random() < 0.7:
                self.boot(node)
        else:
            self.boot(node)

    def boot_all(self) -> None:
        for node in self.nodes:
            self.boot(node)

    def boot(self, node: int) -> None:
        if node not in self.cluster.nodes:
            self.watcher.restarted(node)
            self.cluster.boot(node)

    def cut(self) -> None:
        """Cut a node off in one direction or both, or one pair of nodes."""
        node = self.random.choice(self.nodes)
        others = [other for other in self.nodes if other != node]
        if self.random.random() < 0.5:
            others = [self.random.choice(others)]
        ways = [(node, other) for other in others], [(other, node) for other in others]
        for way in self.random.choice(((ways[0],), (ways[1],), ways)):
            self.cluster.silent.update(way)

    def isolate_leader(self) -> None:
        """Cut one that leads off from all others, in both directions; clients reach it."""
        for node, each in self.cluster.nodes.items():
            if each.broker.quorum.is_leader:
                for other in self.nodes:
                    if other != node:
                        self.cluster.silent |= {(node, other), (other, node)}
                return

    def heal(self) -> None:
        self.cluster.silent.clear()
        self.cluster.delays_ms.clear()

    def slow(self) -> None:
        for source in self.nodes:
            for target in self.nodes:
                self.cluster.delays_ms[source, target] = self.random.choice((0, 0, 5, 100, 700))
