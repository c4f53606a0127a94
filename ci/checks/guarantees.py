"""Generate the pictures and pages of the guarantees from their folders.

Each picture draws a hand-written history in which the checker finds its anomaly, so it shows a real
anomaly that every generation finds again. `python -m ci.checks --draw` generates all of it.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from inspect import getdoc
from pathlib import Path

from linearizability import guarantees
from linearizability.checkers.table import CHECKERS
from linearizability.checkers.table import markdown_table as table_of_checkers
from linearizability.explain.around import arrows_of
from linearizability.explain.drawing import Around, picture
from linearizability.explain.words import operations_of
from linearizability.guarantees import abouts
from linearizability.hand_written.histories import INVALID
from linearizability.hand_written.rows import judged
from linearizability.history import frame
from linearizability.self_test.clauses import empty_rows, markdown_table

PAGE = "docs/guarantees.md"
FOLDER = "docs/guarantees"
BEGIN, END = "<!-- guarantee: {} (python -m ci.checks --draw) -->", "<!-- end of guarantee -->"
TABLE = "table of checkers"
CLAUSES_TABLE = "table of clauses"
SECTIONS = "sections"
README = "linearizability/README.md"

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
"""Claim's id -> the claim of Kafka's documents; in brackets, what Apache Kafka 4.3.1 does instead
if it differs."""


def section(name: str) -> tuple[str, str]:
    """Return the picture of a broken guarantee as SVG, and its section: the text of its folder, the
    picture, the claims."""
    about = abouts()[name]
    title = about.picture
    rows, _ = INVALID[name][title]
    anomaly = judged(name, rows).anomalies[0]
    operations = operations_of(frame(rows))
    around = Around(arrows=tuple(arrows_of(operations)) if about.arrows else ())
    heading = f"{anomaly.kind}: {title}"
    image = picture(operations, heading, anomaly.operations, about.columns, around)
    summary, _, prose = about_text(name).partition("\n\n")
    lines = [
        f"## {name}",
        "",
        f"**{summary}**",
        prose,
        "",
        f"![{anomaly.kind}, {title}](guarantees/{name}.svg)",
        "",
        f"`{anomaly.kind}`: {anomaly.message}.",
        "",
        *(f"- **{claim}** {CLAIMS[claim]}" for claim in about.claims),
    ]
    return image, "\n".join(lines)


def about_text(name: str) -> str:
    """Return the docstring of the guarantee's folder, the text of its section. Return "" if it has
    none."""
    return getdoc(import_module(f"{guarantees.__name__}.{name}")) or ""


def table() -> str:
    """Return a Markdown table of all guarantees, each with a link to its section."""
    lines = ["| guarantee | must hold | looked at by | claims |", "|---|---|---|---|"]
    for name, checker in CHECKERS.items():
        link = f"[`{name}`](#{name})"
        scope = checker.scope.name.lower()
        lines.append(f"| {link} | {checker.title} | {scope} | {', '.join(abouts()[name].claims)} |")
    return "\n".join(lines)


def made(root: Path) -> Iterator[tuple[str, str]]:
    """Yield (file, its text) for everything that is generated from the guarantees' folders: the
    pictures, and the two pages with their blocks renewed. Raise ValueError if a page lacks the
    marks of a block."""
    sections = []
    for name in CHECKERS:
        image, lines = section(name)
        sections.append(lines)
        yield f"{FOLDER}/{name}.svg", image
    blocks = {TABLE: table(), CLAUSES_TABLE: markdown_table(), SECTIONS: "\n\n".join(sections)}
    yield PAGE, with_blocks(root, PAGE, blocks)
    yield README, with_blocks(root, README, {TABLE: table_of_checkers()})


def with_blocks(root: Path, page: str, blocks: Mapping[str, str]) -> str:
    """Return the text of the page with these blocks between their marks. Raise ValueError if marks
    are missing."""
    text = (root / page).read_text(encoding="utf-8")
    for name, block in blocks.items():
        before, begin, rest = text.partition(BEGIN.format(name))
        _, end, after = rest.partition(END)
        if not (begin and end):
            marks = f"{BEGIN.format(name)!r} and {END!r}"
            raise ValueError(f"{page}: it has no lines {marks}; add them")
        text = f"{before}{begin}\n{block}\n{end}{after}"
    return text


def guarantee_violations(root: Path) -> list[str]:
    """Return a sentence for every generated file that differs from the guarantees' folders, and for
    every checker without a clause and clause without a mutator. Return none if the page is
    missing."""
    if not (root / PAGE).is_file():
        return []
    try:
        old = {name for name, text in made(root) if not is_current(root / name, text)}
    except ValueError as error:
        return [str(error)]
    stale = [f"{name} is old or absent; run `python -m ci.checks --draw`" for name in sorted(old)]
    return empty_rows(list(CHECKERS)) + stale


def is_current(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text(encoding="utf-8") == text


def draw_guarantees(root: Path) -> None:
    """Write the generated pictures and pages of the guarantees. Raise ValueError if a page lacks
    the marks of a block."""
    (root / FOLDER).mkdir(exist_ok=True)
    for name, text in made(root):
        (root / name).write_text(text, encoding="utf-8")
