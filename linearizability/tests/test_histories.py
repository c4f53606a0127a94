"""The histories in `histories/`, in Jepsen's format, and what must be said of each.

Those that Jepsen's own checker throws on, allows or misses are marked so (guarantees: each was run
on it). A file is judged by all checkers: what is not expected must not be reported.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from linearizability.judging import check
from linearizability.verdict import Validity

HISTORIES = Path(__file__).parent / "histories"

Expected = dict[str, tuple[str, tuple[int, ...]]]
INVALID: dict[str, Expected] = {
    # Anomalies on which Jepsen's checker throws, or which it allows or misses.
    "phantom-record.jsonl": {"phantom_records": ("phantom-record", (3,))},
    "wrong-partition.jsonl": {"phantom_records": ("wrong-partition", (1, 3))},
    "aborted-record-in-a-failed-transaction.jsonl": {"aborted_reads": ("aborted-read", (1, 5))},
    "later-send-at-lower-offset.jsonl": {"append_order": ("append-order", (1, 3))},
    "aborted-offset-is-used-again.jsonl": {
        "inconsistent_offsets": ("inconsistent-offset", (1, 3)),
        "append_order": ("same-offset", (1, 3)),
    },
    "torn-transaction-of-unknown-outcome.jsonl": {
        "torn_transactions": ("torn-transaction", (1, 5))
    },
    "read-before-commit.jsonl": {"dirty_reads": ("dirty-read", (2, 5))},
    "a-group-skips-a-record.jsonl": {"group_delivery": ("group-skip", (7, 11, 13))},
    "two-members-commit-one-input.jsonl": {"exactly_once": ("consumed-twice", (7, 9))},
    "nothing-returned-for-an-hour.jsonl": {"stale_reads": ("stale-read", (1, 3, 5))},
    # Anomalies that it finds.
    "unseen-write.jsonl": {"unseen_writes": ("unseen-write", (3,))},
    "unseen-write-without-offset.jsonl": {"unseen_writes": ("unseen-write", (3,))},
    "reads-its-own-uncommitted-send.jsonl": {
        "own_uncommitted_reads": ("own-uncommitted-read", (1,))
    },
    "sends-out-of-order.jsonl": {"producer_order": ("sends-reordered", (1,))},
    "failed-send-is-read.jsonl": {"aborted_reads": ("aborted-read", (1, 3))},
    "lost-write.jsonl": {
        "lost_writes": ("lost-write", (1, 5)),
        "unseen_writes": ("unseen-write", (1,)),
    },
    "duplicate.edn": {"duplicates": ("duplicate", (1, 3))},
    "inconsistent-offset.jsonl": {"inconsistent_offsets": ("inconsistent-offset", (1, 7))},
    "poll-skip.edn": {"poll_skips": ("poll-skip", (5, 9, 11))},
    "transactions-read-each-other.jsonl": {"write_cycles": ("read-cycle", (2, 3))},
    "poll-goes-back.jsonl": {"poll_order": ("poll-goes-back", (7, 9))},
}
VALID = (
    "valid-sends-and-polls.jsonl",
    "valid-transactions.edn",
    "valid-positions-begin-anew.jsonl",
    "valid-a-failed-transaction-rewinds.jsonl",
    "valid-a-slow-reader.jsonl",
    "valid-unknown-record-is-read-last.jsonl",  # Jepsen: a false alarm
)


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_history_is_invalid_for_its_reason_alone(name: str) -> None:
    verdict = check(HISTORIES / name)
    found = {checker: (a.kind, a.operations) for checker, a in verdict.anomalies}
    assert found == INVALID[name]
    assert len(verdict.anomalies) == len(found)
    assert verdict.validity is Validity.INVALID


@pytest.mark.parametrize("name", VALID)
def test_a_valid_history_is_valid(name: str) -> None:
    verdict = check(HISTORIES / name)
    assert verdict.anomalies == []
    assert verdict.validity is Validity.VALID, verdict.reason


def test_every_file_is_expected_to_be_something() -> None:
    assert {file.name for file in HISTORIES.iterdir()} == {*INVALID, *VALID}
