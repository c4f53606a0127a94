"""Test that a probe fails if its fault has no effect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaos.listing import proofs_json, proofs_markdown, targets
from chaos.probes import PROBES, networks, processes
from chaos.probes import run as probes
from chaos.probes.frame import Backend, Ground, Outcome, Probe, Proof
from chaos.probes.grounds import REFERENCE, THREE_NODES
from chaos.targets.clusters.cluster import LocalCluster
from chaos.values.fault_kinds import FAULTS
from chaos.values.faults import Fault, Heal, Isolate, Kill
from chaos.values.protocols import Performed, TargetError

DOCKER = Backend.DOCKER


def told(proof: Proof) -> str:
    return probes.line(proof)


@pytest.mark.needs("toxiproxy")
def test_every_fault_takes_effect_and_heals() -> None:
    proofs = probes.perform(probes.chosen())
    failed = [told(proof) for proof in proofs if proof.outcome is Outcome.FAILED]
    assert failed == []
    assert any(proof.outcome is Outcome.PROVED for proof in proofs)


@pytest.mark.nightly
@pytest.mark.needs("toxiproxy", "java", "kafka-jars")
def test_they_do_on_apache_kafka() -> None:
    expect_proved([p for p in PROBES if p.ground.nightly and p.ground.backend is not DOCKER])


@pytest.mark.nightly
@pytest.mark.needs("docker", "loop", "shim")
def test_they_do_on_nodes_in_containers() -> None:
    expect_proved([probe for probe in PROBES if probe.ground.backend is DOCKER])


def expect_proved(wanted: list[Probe]) -> None:
    proofs = probes.perform(wanted)
    assert [told(proof) for proof in proofs if proof.outcome is not Outcome.PROVED] == []


def test_every_fault_that_some_target_performs_has_a_probe() -> None:
    able = {fault for target in targets().values() for fault in target.faults} - {Heal}
    assert sorted(f.__name__ for f in able - {p.fault for p in PROBES}) == []
    assert {probe.fault for probe in PROBES} <= set(FAULTS.values())


class Harmless:
    """A cluster on which faults do nothing, although it reports that they struck."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster

    def __getattr__(self, name: str) -> object:
        return getattr(self._cluster, name)

    def perform(self, fault: Fault) -> Performed:
        return Performed(fault, (1,))


@pytest.mark.needs("toxiproxy")
def test_a_fault_without_effect_fails_its_probe_and_the_next_one_is_performed() -> None:
    def harmless(directory: Path) -> LocalCluster:
        return Harmless(THREE_NODES.start(directory))  # type: ignore[return-value]

    ground = Ground("harmless", REFERENCE.backend, harmless, lambda: None)
    proofs = probes.perform(
        [
            Probe(Kill, ground, processes.a_killed_node_answers_nobody),
            Probe(Isolate, ground, networks.an_isolated_node_is_alone),
        ]
    )
    assert [proof.outcome for proof in proofs] == [Outcome.FAILED, Outcome.FAILED]
    assert proofs[0].detail == "the killed node still runs"
    assert proofs[1].detail == "1 dialled 2 and was answered, not silent"
    assert probes.exit_status(proofs) == 1
    assert "failed on harmless" in proofs_markdown(proofs)
    rows = json.loads(proofs_json(proofs))
    assert [row["outcome"] for row in rows] == [proof.outcome.value for proof in proofs]
    assert {row["ground"] for row in rows} == {"harmless"}


def test_what_a_machine_does_not_have_is_said_and_is_no_failure() -> None:
    ground = Ground("moon", REFERENCE.backend, REFERENCE.start, lambda: "it is far away")
    proofs = probes.perform([Probe(Kill, ground, processes.a_killed_node_answers_nobody)])
    assert [proof.outcome for proof in proofs] == [Outcome.NOT_HERE]
    assert "it is far away" in told(proofs[0])
    assert probes.exit_status(proofs) == 2


def test_an_unknown_fault_is_named_with_those_there_are() -> None:
    with pytest.raises(TargetError, match=r"there is no fault 'Kil'; use one of Kill, "):
        probes.chosen("Kil")
