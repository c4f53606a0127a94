"""Each invariant of a log is broken by offsets made up, and by no correct node."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.scenarios.exploration import promised_config
from chaos.sim.invariants import INVARIANTS
from chaos.sim.invariants.known_log import KnownLog, Offsets
from chaos.sim.target import Sim
from chaos.sim.tests.simulated import simulate

HELD = Offsets(2, 5, 8, 8, 6)


def log_at(offsets: Offsets) -> Any:
    """Return a log that has these offsets, and no batches."""
    return SimpleNamespace(
        log_start_offset=offsets.log_start,
        last_stable_offset=offsets.last_stable,
        high_watermark=offsets.high_watermark,
        log_end_offset=offsets.log_end,
        recovery_point=offsets.recovery_point,
        config=SimpleNamespace(is_compacted=False),
    )


def broken(name: str, known: KnownLog, now: Offsets) -> list[str]:
    return [*INVARIANTS[name](known, log_at(now))]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"high_watermark": 9}, "out of order"),
        ({"last_stable": 9}, "out of order"),
        ({"log_start": 9}, "out of order"),
        ({"recovery_point": 9}, "the recovery point is above the log end"),
    ],
)
def test_offsets_that_are_out_of_order_are_seen(change: dict[str, int], sentence: str) -> None:
    (told,) = broken("offsets-in-order", KnownLog(HELD), HELD._replace(**change))
    assert sentence in told
    assert not broken("offsets-in-order", KnownLog(HELD), HELD)


@pytest.mark.parametrize("name", Offsets._fields)
def test_an_offset_that_goes_back_is_seen(name: str) -> None:
    known, now = KnownLog(HELD), HELD._replace(**{name: 1})
    (told,) = broken("offsets-never-go-back", known, now)
    assert told.startswith(f"{name} goes back from")
    known.end(keeps_all=True)
    assert not broken("offsets-never-go-back", known, now)


def test_the_offsets_of_a_follower_may_go_back() -> None:
    known = KnownLog(HELD)
    known.note_leadership(None)
    assert not broken("offsets-never-go-back", known, HELD._replace(log_end=1))
    known.note_leadership(3)
    known.note_leadership(4)
    assert not broken("offsets-never-go-back", known, HELD._replace(log_end=1))
    known.note_leadership(4)
    assert broken("offsets-never-go-back", known, HELD._replace(log_end=1))


@pytest.mark.parametrize("rows", [[(5, 4)], [(5, 6), (6, 6)]], ids=["no records", "one twice"])
def test_a_batch_without_an_offset_of_its_own_is_seen(rows: list[tuple[int, int]]) -> None:
    def adding(rows: list[tuple[int, int]]) -> KnownLog:
        headers = [SimpleNamespace(base_offset=a, last_offset=b, records_count=1) for a, b in rows]
        added: list[Any] = [SimpleNamespace(header=header) for header in headers]
        return KnownLog(added=added)

    assert len(broken("batches-take-offsets", adding(rows), HELD)) == 1
    assert not broken("batches-take-offsets", adding([(5, 5), (6, 9), (12, 12)]), HELD)


def test_a_last_stable_offset_beside_an_undecided_transaction_is_seen() -> None:
    known = KnownLog(HELD, open_since={7: 5})
    assert not broken("last-stable-offset", known, HELD)
    (told,) = broken("last-stable-offset", known, HELD._replace(last_stable=8))
    assert told == "the last stable offset is 8; the log says 5"
    (told,) = broken("last-stable-offset", KnownLog(HELD), HELD)
    assert told == "the last stable offset is 5; the log says 8"


def test_a_kill_must_keep_what_a_loss_of_power_may_take() -> None:
    known = KnownLog(HELD)
    known.end(keeps_all=True)
    assert known.kept_to == HELD.log_end
    known.end(keeps_all=False)
    assert known.kept_to == HELD.recovery_point


@pytest.mark.parametrize(
    ("workload", "nemesis"),
    [
        ("transactions", "kill"),
        ("transactions", "power-loss-all"),
        ("zombies", "torn-writes"),
        ("delete-records", "kill"),
        ("retention-size", "lost-names"),
        ("sequences", "failed-syncs"),
        ("compaction-transactions", "kill"),
    ],
)
def test_a_correct_node_breaks_none(workload: str, nemesis: str, tmp_path: Path) -> None:
    target = Sim()
    config = promised_config(nemesis)
    simulate(target, workload, nemesis, 3, tmp_path, config)
    assert target.broken == []
