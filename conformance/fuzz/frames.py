"""Send mutants to a target, several at once, and report each one that the target may not answer in
the way that it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from random import Random

from chaos.targets.clusters.cluster import LocalCluster
from conformance.case import Deviation
from conformance.cases.framing.minimal_requests import REQUESTS, minimal_request
from conformance.connection import Connection, ConnectionClosed, api_key
from conformance.fuzz.batches import batches
from conformance.fuzz.findings import Finding, Findings
from conformance.fuzz.judge import patience_s, why_wrong
from conformance.fuzz.mutants import CORRELATION_ID, Mutant, filled, mutants
from conformance.fuzz.volley import Outcome, Volley
from conformance.fuzz.world import WITNESS, World
from conformance.target.examination import CAMEL, Examined
from reference_impl.robustness.fuzz.broker import Door
from reference_impl.robustness.fuzz.frames import Frames
from reference_impl.robustness.fuzz.values import Values
from reference_impl.wire import (
    ApiKey,
    ErrorCode,
    Malformed,
    RecordBatch,
    Struct,
    decode_response,
    encode_request,
    request_definition,
)

VOLLEY = 500
"""Frames after which the target's life, its memory and the witness's record are checked."""
GROWTH_BYTES_MAX = 512 << 20
"""The bytes by which the memory of a broker may grow during a volley. The targets
started here have much smaller heaps; one that has not allocates what a frame only claims."""
A_BATCH, RANDOM = "a batch", "random fields"
UNMAKING = ("AddRaftVoter", "RemoveRaftVoter", "UnregisterBroker", "UpdateFeatures")
"""The APIs that get no random fields: one that names the broker itself may lawfully end it."""
SENT_AGAIN = 2
IMPATIENT_S = 1.0
"""The seconds to wait for an answer of an API that has left an earlier frame without one."""
OUTLASTING = frozenset(
    {"AddRaftVoter", "AlterClientQuotas", "AlterConfigs", "AlterPartitionReassignments"}
    | {"AlterUserScramCredentials", "CreateAcls", "CreatePartitions", "CreateTopics", "DeleteAcls"}
    | {"DeleteGroups", "DeleteRecords", "DeleteTopics", "ElectLeaders", "IncrementalAlterConfigs"}
    | {"RemoveRaftVoter", "UnregisterBroker", "UpdateFeatures", "WriteTxnMarkers"}
)
"""The APIs that are left out on a cluster that was not started here: a mutant of them may change
what belongs to others."""


class FrameFuzz:
    """The frames that a target gets in one run, and what was found by them."""

    def __init__(self, examined: Examined, world: World, findings: Findings, options: str) -> None:
        self.examined, self.world, self.findings = examined, world, findings
        self.options = options
        self.counts: Counter[str] = Counter()
        self._alike: Counter[str] = Counter()
        self._silent: set[bytes] = set()
        """The keys of the APIs that have left a frame without an answer."""
        self.accepted: dict[int, Mutant] = {}
        """Base offset -> the batch that was appended there."""
        self.is_ours = examined.can_restart and isinstance(examined.cluster, LocalCluster)

    # --- what is sent -----------------------------------------------------------------------------

    def systematic(self) -> Iterator[Mutant]:
        """Yield the wrong batches, then every mutant of every API that the target and this suite
        know (on a cluster that was not started here, without OUTLASTING), in the first and the last
        version: of a small request, and of one with an element in each array."""
        yield from self.of_batches()
        for api, version, body in self._requests():
            yield from mutants(api, version, body)
            full = filled(api, body, self.world.name)
            try:
                yield from mutants(api, version, full)
            except Malformed:  # this version lacks a field of the request
                continue

    def _requests(self) -> Iterator[tuple[str, int, Struct]]:
        for api, (first, last) in sorted(self.examined.advertised.items()):
            if api not in REQUESTS or (not self.is_ours and api in OUTLASTING):
                continue
            body = minimal_request(api, self.world)
            if "timeout_ms" in body._names:
                body.timeout_ms = 5_000
            known = request_definition(api_key(api)).valid_versions
            for version in sorted({max(first, known[0]), min(last, known[-1])}):
                yield api, version, body

    def of_batches(self) -> Iterator[Mutant]:
        """Yield a Produce request for each wrong batch."""
        version = self.world.wire.version("Produce", 0, 12)  # later ones do not name the topic
        for change, data in batches():
            body = self.world.wire.produce_request(self.world.of_batches, data)
            frame = encode_request(api_key("Produce"), version, CORRELATION_ID, "touchstone", body)
            yield Mutant("Produce", version, A_BATCH, change, frame[4:])

    def at_random(self, seed: str) -> Iterator[Mutant]:
        """Yield, for ever, requests of the target's APIs (without UNMAKING) with random but
        plausible fields, half of them with one piece broken."""
        served = {
            api_key(api): range(first, last + 1)
            for api, (first, last) in self.examined.advertised.items()
        }
        served = {
            key: range(max(found[0], known[0]), min(found[-1], known[-1]) + 1)
            for key, found in served.items()
            if (known := request_definition(key).valid_versions)
            and CAMEL[ApiKey(key)] not in UNMAKING
        }
        random, door = Random(seed), Door("examined", "", 0, served)
        while True:
            values = Values(random, {}, frozenset({self.world.witness.id}))
            frames = Frames(random, values, door)
            for draw in (frames.whole, frames.broken):
                drawn = draw(frames.any_api())
                api = next(a for a in self.examined.advertised if api_key(a) == drawn.api_key)
                yield Mutant(api, drawn.version, "", RANDOM, drawn.data)

    # --- how it is judged -------------------------------------------------------------------------

    def attack(self, drawn: Iterable[Mutant], is_over: Callable[[], bool]) -> bool:
        """Send mutants, VOLLEY at a time, until they end or `is_over` says so before a volley.
        Return whether all were sent. Add the violations to `findings`."""
        rest = iter(drawn)
        while not is_over():
            chunk = [
                Mutant(m.api, m.version, m.path, m.change, self.world.renamed(m.data))
                for m in islice(rest, VOLLEY)
            ]
            if not chunk:
                return True
            self._volley(chunk)
        return False

    def _volley(self, chunk: Sequence[Mutant]) -> None:
        before = self._resident_bytes(reset=True)
        with Volley(self._connect) as volley:
            outcomes = volley.outcomes([m.data for m in chunk], self._patience_s)
            suspects = [
                (mutant, why)
                for mutant, outcome in zip(chunk, outcomes, strict=True)
                if (why := self._judged(mutant, outcome)) is not None
            ]
        if self.examined.restart_if_dead():
            self._find_killer(chunk)
            return
        for mutant, why in suspects:
            self._confirm(mutant, why)
        if self._resident_bytes() - before > GROWTH_BYTES_MAX:
            self._find_glutton(chunk)
        self._check_witness(chunk)

    def _judged(self, mutant: Mutant, outcome: Outcome) -> str | None:
        self.counts["frames"] += 1
        self.counts[outcome.kind] += 1
        if mutant.path == A_BATCH and outcome.kind == "answered":
            with suppress(Malformed):
                _, answer = decode_response(outcome.answer, api_key("Produce"), mutant.version)
                row = answer.responses[0].partition_responses[0]
                if row.error_code == ErrorCode.NONE:
                    self.accepted[row.base_offset] = mutant
        return self._why_wrong(mutant, outcome)

    def _why_wrong(self, mutant: Mutant, outcome: Outcome) -> str | None:
        # Random requests name things twice, which answers may repeat, merge or leave out.
        compares = mutant.change != RANDOM
        return why_wrong(mutant.data, outcome, self.examined.advertised, compares=compares)

    def _confirm(self, mutant: Mutant, first: str) -> None:
        """Send a suspect again, alone, and note it as found if the result is still wrong. Of
        suspects that are alike only the first SENT_AGAIN are sent again; later ones are noted if
        one of these was."""
        group = Finding(mutant.name, first, "").group
        self._alike[group] += 1
        if self._alike[group] > SENT_AGAIN:
            if group in self.findings.first:
                self.note(mutant, first)
            return
        with Volley(self._connect) as volley:
            outcome = volley.alone(self.world.renamed(mutant.data), self._patience_s(mutant.data))
        why = self._why_wrong(mutant, outcome)
        if self.examined.restart_if_dead():
            why = "the target died after this frame"
        if why is None:
            self.counts["wrong only among other frames"] += 1
            return
        self.note(mutant, why)
        if outcome.kind == "silent":
            self._silent.add(mutant.data[:2])

    def note(self, mutant: Mutant, why: str) -> None:
        """Add a finding, with the command that sends its frame again."""
        frame = self.world.portable(mutant.data).hex()
        self.findings.add(
            Finding(mutant.name, why, f"touchstone conform {self.options} --frame {frame}")
        )

    def _find_killer(self, chunk: Sequence[Mutant]) -> None:
        """Send the frames of a volley under which the target died one by one, and note the one
        after which it dies again, or the whole volley if none does."""
        for mutant in chunk:
            with Volley(self._connect) as volley:
                volley.alone(mutant.data, self._patience_s(mutant.data))
            if self.examined.restart_if_dead():
                self.note(mutant, "the target died after this frame")
                return
        self.note(chunk[-1], f"the target died under the {len(chunk)} frames up to this one")

    def _find_glutton(self, chunk: Sequence[Mutant]) -> None:
        """Send the frames of a volley one by one, and note those that take more than half of
        GROWTH_BYTES_MAX of memory."""
        for mutant in chunk:
            before = self._resident_bytes(reset=True)
            with Volley(self._connect) as volley:
                volley.alone(mutant.data, self._patience_s(mutant.data))
            taken = self._resident_bytes() - before
            if taken > GROWTH_BYTES_MAX // 2:
                text = f"took {taken >> 20} MiB of memory for {len(mutant.data):,} bytes"
                self.note(mutant, text)

    def _resident_bytes(self, reset: bool = False) -> int:
        """Return the most memory that the processes of the target had since the last reset, or 0
        where they are not ours. reset: begin to measure again. Source: proc(5), VmHWM and
        clear_refs."""
        if not self.is_ours or not isinstance(self.examined.cluster, LocalCluster):
            return 0
        total = 0
        for member in self.examined.cluster.members():
            if member.child is not None and member.child.running:
                process = Path(f"/proc/{member.child.pid}")
                with suppress(OSError):
                    if reset:
                        (process / "clear_refs").write_text("5")
                    lines = (process / "status").read_text().splitlines()
                    peaks = [line.split()[1] for line in lines if line.startswith("VmHWM")]
                    total += sum(int(peak) << 10 for peak in peaks)
        return total

    def _check_witness(self, chunk: Sequence[Mutant]) -> None:
        """Note a finding if the record in the topic that no frame names (`witness`) cannot be read
        any more."""
        wire, topic = self.world.wire, self.world.witness
        wire.forget_connections()
        try:
            values = wire.values(topic)
            why = "" if values == [WITNESS] else f"another topic now holds {values!r}"
        except (Deviation, Malformed, ConnectionClosed, OSError) as error:
            why = f"another topic can no longer be read: {error}"
        if why:
            self.note(chunk[-1], f"{why}; after the {len(chunk)} frames up to this one")

    def check_log(self) -> None:
        """Note a finding for each batch that was accepted, and that a reader cannot read."""
        wire, topic = self.world.wire, self.world.of_batches
        for base_offset, mutant in sorted(self.accepted.items()):
            try:
                answer = wire.fetch(topic, base_offset, partition_max_bytes=1)
                found, _ = RecordBatch.decode(bytes(answer.records or b""), 0)
                why = (
                    ""
                    if found.base_offset == base_offset
                    else f"reads begin at {found.base_offset}"
                )
            except (Malformed, Deviation) as error:
                why = str(error)
            if why:
                self.note(
                    mutant, f"accepted at offset {base_offset}, where it cannot be read: {why}"
                )

    def _connect(self, timeout_s: float) -> Connection:
        wire = self.world.wire
        return Connection(*wire.addresses[0], timeout_s, access=wire.access)

    def _patience_s(self, frame: bytes) -> float:
        found = patience_s(frame, self.examined.advertised)
        return min(found, IMPATIENT_S) if frame[:2] in self._silent else found
