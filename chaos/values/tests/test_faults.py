"""Faults as the judges of histories know them."""

from __future__ import annotations

from chaos.values.fault_kinds import FAULTS
from chaos.values.faults import Heal
from linearizability.excuses.faults import LASTING, is_heal, lasts


def test_judges_know_that_each_fault_lasts_until_a_heal() -> None:
    assert set(FAULTS) - {Heal.__name__} == LASTING
    assert lasts('{"fault": "Kill", "node": 1}')
    assert lasts('{"fault": "dance", "until": "Heal"}')
    assert not any(map(lasts, ['{"fault": "dance"}', '{"fault": ["Kill"]}', "{}", "no JSON", None]))
    assert is_heal('{"fault": "Heal"}')
