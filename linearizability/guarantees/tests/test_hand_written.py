"""Each checker on histories written by hand: valid ones, invalid ones, and none at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from linearizability import guarantees
from linearizability.checkers.table import CHECKERS
from linearizability.guarantees import GUARANTEES
from linearizability.hand_written.histories import INVALID, VALID
from linearizability.hand_written.rows import RAW, WHOLE, P, Row, S, judged
from linearizability.verdict import Validity


def _cases(table: dict[str, dict[str, object]]) -> Sequence[object]:
    return [
        pytest.param(name, case, id=f"{name}: {title}")
        for name, cases in table.items()
        for title, case in cases.items()
    ]


@pytest.mark.parametrize(("name", "rows"), _cases(VALID))  # type: ignore[arg-type]
def test_a_valid_history_is_valid(name: str, rows: list[Row]) -> None:
    opinion = judged(name, rows)
    assert opinion.anomalies == ()
    # Some show what a checker must leave alone and nothing else: then it does not apply.
    assert opinion.validity in (Validity.VALID, Validity.NOT_APPLICABLE), opinion.reason


@pytest.mark.parametrize(("name", "case"), _cases(INVALID))  # type: ignore[arg-type]
def test_an_invalid_history_names_the_operations(
    name: str, case: tuple[list[Row], list[tuple[str, tuple[int, ...]]]]
) -> None:
    rows, anomalies = case
    opinion = judged(name, rows)
    assert [(each.kind, each.operations) for each in opinion.anomalies] == anomalies
    assert opinion.validity is Validity.INVALID
    assert opinion.anomaly_count == len(anomalies)
    assert opinion.checked > 0


@pytest.mark.parametrize("name", CHECKERS)
def test_an_empty_history_is_not_applicable(name: str) -> None:
    opinion = judged(name, [])
    assert opinion.validity is Validity.NOT_APPLICABLE
    assert opinion.checked == 0


def test_every_folder_is_registered() -> None:
    folders = {file.parent.name for file in Path(guarantees.__file__).parent.glob("*/rule.py")}
    assert folders == set(GUARANTEES) == set(CHECKERS)


@pytest.mark.parametrize(
    ("second", "blame"),
    [({"sequence": 0}, "broker"), ({"sequence": 5, "producer_epoch": 1}, "client")],
    ids=["same sequence: broker", "new epoch: client"],
)
def test_duplicates_blame_who_wrote_twice(second: Row, blame: str) -> None:
    rows = [S(1, 0), RAW(1, 0), RAW(1, 5) | second]
    assert [a.blame for a in judged("duplicates", rows).anomalies] == [blame]


def test_duplicates_blame_nobody_without_producer_ids() -> None:
    (anomaly,) = judged("duplicates", [S(1, 0), P(1, 0), P(1, 5)]).anomalies
    assert anomaly.blame is None


def test_an_anomaly_says_where_in_words_and_columns() -> None:
    (anomaly,) = judged("lost_writes", [S(11, 0), S(2, 1), P(2, 1)]).anomalies
    assert dict(anomaly.scope) == {"topic": "t", "partition": 0}
    assert anomaly.message == (
        "t-0: record 11 was acknowledged at offset 0, but no read up to offset 1 contains it"
    )


def test_a_loss_from_an_empty_log_names_no_offset_below_zero() -> None:
    (anomaly,) = judged("lost_writes", [S(11, 0), WHOLE(0, final=True)]).anomalies
    assert anomaly.message == (
        "t-0: record 11 was acknowledged at offset 0, but a read of the whole log shows no record"
    )
