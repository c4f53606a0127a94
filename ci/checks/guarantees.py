"""Generate the pictures, claims and tables of docs/guarantees.md; its prose is written by hand.

Each picture draws a hand-written history in which the checker finds its anomaly, so it shows a real
anomaly that every generation finds again. `python -m ci.checks --draw` generates all of it.
"""

from collections.abc import Iterator
from pathlib import Path

from linearizability.checkers import CHECKERS
from linearizability.explain.around import WITH_ARROWS, arrows_of
from linearizability.explain.drawing import ATTRIBUTES, Around, picture
from linearizability.explain.words import operations_of
from linearizability.hand_written import INVALID
from linearizability.hand_written.rows import judged
from linearizability.history import frame
from linearizability.self_test.clauses import empty_rows, markdown_table

PAGE = "docs/guarantees.md"
FOLDER = "docs/guarantees"
BEGIN, END = "<!-- guarantee: {} (python -m ci.checks --draw) -->", "<!-- end of guarantee -->"
TABLE = "table of checkers"
CLAUSES_TABLE = "table of clauses"

CLAIMS = {
    "LOG-1": "A partition is append-only: offsets are dense, grow, and are not used again. "
    "(Compaction leaves gaps, control records take offsets; records that were never below the high "
    "watermark may be truncated and their offsets used again.)",
    "REC-1": "A record batch is protected by a CRC-32C over all but its first fields.",
    "REC-3": "A bit of each batch tells whether its timestamps are the sender's or the broker's.",
    "RET-1": "Retention removes whole segments of the log's beginning. (An active segment that has "
    "expired is rolled, and goes too.)",
    "RET-2": "retention.ms=-1 keeps records for ever; whichever limit, time or size, is reached "
    "first applies.",
    "CMP-1": "Compaction keeps the last value of each key, the order, and the offsets.",
    "CMP-3": "A tombstone removes its key, and goes itself after delete.retention.ms.",
    "REP-1": "Consumers see only records below the high watermark.",
    "REP-3": "Followers copy the leader's log by fetching it.",
    "REP-4": "acks=all is answered only when all in-sync replicas have the record.",
    "EPO-1": "Leader epochs show where two logs diverge; a follower truncates to that point.",
    "IDM-1": "A retry of one of the producer's last five batches is acknowledged, not appended.",
    "IDM-2": "A batch that skips a sequence number is refused. (Always with "
    "OUT_OF_ORDER_SEQUENCE_NUMBER.)",
    "IDM-3": "With at most five requests in flight, retries keep the order. (With idempotence.)",
    "GRP-2": "The generation of a group grows with each rebalance.",
    "OFF-1": "A group's positions are kept in a compacted topic, the last one for each partition.",
    "FET-1": "A fetch is answered once fetch.min.bytes are there, or after fetch.max.wait.ms.",
    "FET-2": "A read_committed reader gets nothing at or above the last stable offset, and no "
    "aborted record.",
    "TXN-1": "A new epoch of a transactional id fences the producer that had it before.",
    "TXN-2": "A transaction ends by a marker in each of its partitions.",
    "TXN-5": "The last stable offset is the first offset of the oldest open transaction.",
    "EOS-1": "Consume, transform, produce in transactions: each input takes effect once.",
    "DUR-2": "With acks=all a record survives the loss of min.insync.replicas - 1 brokers.",
    "ORD-1": "A partition has one order, the same for every reader; partitions have no "
    "common order.",
    "ORD-3": "A transaction is all or nothing across partitions. (Not at one instant.)",
    "SEM-1": "At most once: without retries a record may be lost, never duplicated.",
    "SEM-2": "At least once: with acks=all and retries a record may be duplicated, never lost.",
    "SEM-3": "Exactly once: idempotence, transactions, read_committed.",
}
"""What the documents of Kafka claim; in brackets what Apache Kafka 4.3.1 does instead."""

SHOWN: dict[str, tuple[str, tuple[str, ...]]] = {
    "lost_writes": ("passed over", ("REP-4", "DUR-2")),
    "unseen_writes": ("the tail", ("REP-1", "SEM-2")),
    "duplicates": ("read twice", ("IDM-1",)),
    "inconsistent_offsets": ("two readers", ("LOG-1", "ORD-1")),
    "phantom_records": ("wrong partition", ("REC-1",)),
    "append_order": ("later stands lower", ("LOG-1", "ORD-1")),
    "producer_order": ("by sequence", ("IDM-3",)),
    "poll_order": ("back", ("ORD-1",)),
    "poll_skips": ("an acknowledged record", ("ORD-1", "FET-2")),
    "aborted_reads": ("by its marker", ("FET-2",)),
    "dirty_reads": ("before a commit", ("FET-2", "TXN-5")),
    "own_uncommitted_reads": ("then committed", ("FET-2",)),
    "group_delivery": ("hidden by a final read", ("OFF-1", "SEM-2")),
    "exactly_once": ("two transactions", ("EOS-1",)),
    "leader_epochs": ("within a read", ("EPO-1",)),
    "torn_transactions": ("of unknown outcome", ("ORD-3",)),
    "ends_honoured": ("committed, but its marker aborts", ("TXN-2", "ORD-3")),
    "write_cycles": ("they read each other", ("ORD-3", "FET-2")),
    "offset_gaps": ("in a raw read", ("LOG-1",)),
    "fencing": ("a fenced producer writes", ("TXN-1",)),
    "idempotence": ("one is missing", ("IDM-2",)),
    "late_markers": ("in the middle", ("TXN-2",)),
    "high_watermark": ("it goes back", ("REP-1",)),
    "hanging_transactions": ("ended", ("TXN-2", "TXN-5")),
    "committed_offsets": ("replaced", ("OFF-1", "GRP-2")),
    "replica_agreement": ("another record", ("REP-3", "EPO-1")),
    "compaction": ("the last value", ("CMP-1", "CMP-3")),
    "retention": ("too early", ("RET-1", "RET-2")),
    "timestamp_types": ("not stamped by the broker", ("REC-3",)),
    "stale_reads": ("nothing returned for an hour", ("FET-1", "REP-1")),
    "group_liveness": ("no member takes over from one that crashed", ("GRP-2",)),
    "delivery_semantics": ("exactly once, twice", ("SEM-1", "SEM-2", "SEM-3")),
}
"""Checker -> the title of the hand-written history that its picture shows, its claims."""


def drawn(name: str) -> tuple[str, str]:
    """Return the picture of a broken guarantee as SVG, and the Markdown that shows it."""
    title, claims = SHOWN[name]
    rows, _ = INVALID[name][title]
    anomaly = judged(name, rows).anomalies[0]
    operations = operations_of(frame(rows))
    around = Around(arrows=tuple(arrows_of(operations)) if name in WITH_ARROWS else ())
    heading = f"{anomaly.kind}: {title}"
    proof, attributes = anomaly.operations, ATTRIBUTES.get(name, ())
    image = picture(operations, heading, proof, attributes, around)
    lines = [
        f"![{anomaly.kind}, {title}](guarantees/{name}.svg)",
        "",
        f"`{anomaly.kind}`: {anomaly.message}.",
        "",
        *(f"- **{claim}** {CLAIMS[claim]}" for claim in claims),
    ]
    return image, "\n".join(lines)


def table() -> str:
    """Return a Markdown table of all guarantees, each with a link to its section."""
    lines = ["| guarantee | must hold | looked at by | claims |", "|---|---|---|---|"]
    for name, checker in CHECKERS.items():
        link = f"[`{name}`](#{name})"
        scope = checker.scope.name.lower()
        lines.append(f"| {link} | {checker.title} | {scope} | {', '.join(SHOWN[name][1])} |")
    return "\n".join(lines)


def made() -> Iterator[tuple[str, str, str]]:
    """Yield (name of the block, its text, its picture) for everything that is generated."""
    yield TABLE, table(), ""
    yield CLAUSES_TABLE, markdown_table(), ""
    for name in CHECKERS:
        image, lines = drawn(name)
        yield name, lines, image


def with_block(text: str, name: str, block: str) -> str:
    """Return the page with this block between its marks. Raise ValueError if the marks are
    missing."""
    before, begin, rest = text.partition(BEGIN.format(name))
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"it has no lines {BEGIN.format(name)!r} and {END!r}; add them")
    return f"{before}{begin}\n{block}\n{end}{after}"


def guarantee_violations(root: Path) -> list[str]:
    """Return a sentence for everything on the page or in its pictures that differs from the
    checkers and histories."""
    page = root / PAGE
    if not page.is_file():
        return []
    text, old, empty = page.read_text(encoding="utf-8"), set(), empty_rows(list(CHECKERS))
    for name, block, image in made():
        try:
            if with_block(text, name, block) != text:
                old.add(PAGE)
        except ValueError as error:
            return [f"{PAGE}: {error}"]
        file = root / FOLDER / f"{name}.svg"
        if image and not (file.is_file() and file.read_text(encoding="utf-8") == image):
            old.add(f"{FOLDER}/{name}.svg")
    stale = [f"{name} is old or absent; run `python -m ci.checks --draw`" for name in sorted(old)]
    return empty + stale


def draw_guarantees(root: Path) -> None:
    """Generate all generated parts of the page."""
    page = root / PAGE
    text = page.read_text(encoding="utf-8")
    (root / FOLDER).mkdir(exist_ok=True)
    for name, block, image in made():
        text = with_block(text, name, block)
        if image:
            (root / FOLDER / f"{name}.svg").write_text(image, encoding="utf-8")
    page.write_text(text, encoding="utf-8")
