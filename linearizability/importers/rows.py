"""Convert the collected columns of an import to rows of our history, piece by piece, in the order
of operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from linearizability.history import SCHEMA, SCHEMA_VERSION, F, Type
from linearizability.importers.columns import FAIL, INFO, NONE, OK, Collected, series
from linearizability.importers.decided import RECORD, Decided, decided
from linearizability.importers.micro import Place
from linearizability.ingest import DECIDED_BY, READ_COMMITTED
from linearizability.plans import collect

PIECE_ROWS = 256 * 1024
_TYPES = {OK: Type.OK.value, FAIL: Type.FAIL.value, INFO: Type.INFO.value}
_READS = (F.POLL.value, F.READ_ALL.value)
_OF_OPERATION = (
    "op_id",
    "process",
    "final",
    "member",
    "type",
    "txn",
    "t_invoke_ns",
    "t_complete_ns",
)
_OK, _INFO = pl.lit(OK, pl.Int64), pl.lit(INFO, pl.Int64)
_NUMBER = pl.int_range(pl.len())


def _null(name: str) -> pl.Expr:
    """Return the column with NONE as null."""
    return pl.when(pl.col(name) != NONE).then(name).alias(name)


class Rows:
    """The rows of one history by kind, each in the order of operations.

    named: the places by number. members: the processes that ever subscribed; they form the group.
    last_ns: when the last event was.
    """

    def __init__(
        self, collected: Collected, named: Sequence[Place], members: Iterable[int], last_ns: int
    ) -> None:
        self.last_ns = last_ns
        self.places = pl.DataFrame(
            [*named, (None, None)],
            schema={"topic": pl.String, "partition": SCHEMA["partition"]},
            orient="row",
        )
        self.members = sorted(members)
        self.details = collected.details
        self.pairs = series(collected.pairs)
        operations = collected.operations.frame()
        self.order = operations["op_id"].arg_sort().to_numpy()
        self.operations = operations.with_columns(_null("t_complete_ns"), _null("txn"))
        self.sends = collected.sends.frame().with_columns(send=pl.int_range(pl.len()))
        self.ends = collected.transactions.frame().with_columns(transaction=_NUMBER)
        self.txns = self.ends["txn"]
        counts = pl.col("count")
        self.batches = collected.batches.frame().with_columns(start=counts.cum_sum() - counts)
        self.others = collected.others.frame()
        self._decide(self._decided())

    def pieces(self, client: str) -> Iterator[pl.DataFrame]:
        """Yield the rows in the order of operations, about PIECE_ROWS at a time, with the columns
        that an import fills. client: the name for the columns `client` and `group`. Can be called
        once."""
        self._put_in_order()
        counted = (self.sends, self.ends, self.others)
        rows = sum(part.height for part in counted) + len(self.pairs) // 2
        step = max(1, self.operations.height * PIECE_ROWS // max(1, rows))
        for low in range(0, self.operations.height, step):
            kinds = [
                self._sent(low, low + step),
                self._ended(low, low + step),
                self._polled(low, low + step),
                self._others(low, low + step),
            ]
            rows_of_all = pl.concat(kinds, how="diagonal")
            yield self._whole(
                rows_of_all.sort("operation", "record_index", maintain_order=True), client
            )

    def _put_in_order(self) -> None:
        """Sort the operations by their op_id, and renumber them in all other rows."""
        rank = np.empty(len(self.order), dtype=np.int64)
        rank[self.order] = np.arange(len(self.order))
        self.details = {int(rank[number]): told for number, told in self.details.items()}
        self.operations = self.operations[pl.Series(self.order)]
        for name in ("sends", "ends", "batches", "others"):
            part: pl.DataFrame = getattr(self, name)
            numbered = part.with_columns(operation=pl.Series(rank)[part["operation"]])
            if not numbered["operation"].is_sorted():
                numbered = numbered.sort("operation", maintain_order=True)
            setattr(self, name, numbered)

    def _of_operations(self, rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
        """Return the rows with these columns of their operations."""
        return rows.hstack(self.operations.select(columns)[rows["operation"]])

    def _records(self, batches: pl.DataFrame) -> pl.DataFrame:
        """Return one row per record that was polled: columns of its batch but `start` and `count`,
        `number` within it, and `offset` and `value`."""
        rows = batches.with_columns(number=pl.int_ranges("count")).explode(
            "number", empty_as_null=False
        )
        pair = (rows["start"] + rows["number"]) * 2
        return rows.drop("start", "count").with_columns(
            offset=self.pairs.gather(pair), value=self.pairs.gather(pair + 1)
        )

    def _decided(self) -> Decided:
        sent = self._of_operations(self.sends, "type", "t_invoke_ns", "t_complete_ns")
        unknown = sent.filter(type=INFO)["place"].unique()
        batches = self.batches.select("operation", "place", "start", "count")
        wanted = batches.filter(pl.col("place").is_in(unknown.implode()))
        ok = self._of_operations(wanted, "op_id", "type", "t_complete_ns").filter(type=OK)
        return decided(sent, self._records(ok.drop("operation", "type")))

    def _decide(self, found: Decided) -> None:
        """Mark the operations whose commit was never answered but took effect: `committed` and
        `owed` of sends, `done_ns` of ends. An operation of unknown outcome that has committed
        counts as ended at its time-out, or at the end of the history."""
        self.sends = self.sends.with_columns(
            committed=pl.col("transaction").is_in(found.commits["transaction"].implode()),
            owed=pl.col("send").is_in(found.owed["send"].implode()),
        )
        shown_by = found.commits.select("transaction", "shown_by")
        self.sends = self.sends.join(shown_by, on="transaction", how="left", maintain_order="left")
        self.ends = self.ends.join(
            found.commits.drop("asked_ns"), on="transaction", how="left", maintain_order="left"
        )
        own = self._of_operations(self.ends.rename({"txn": "own"}), "txn").filter(
            pl.col("done_ns").is_not_null() & (pl.col("own") == pl.col("txn"))
        )
        committed = _NUMBER.is_in(own["operation"].implode())
        self.operations = self.operations.with_columns(
            type=pl.when(committed).then(_OK).otherwise("type"),
            t_complete_ns=pl.when(committed)
            .then(pl.col("t_complete_ns").fill_null(self.last_ns))
            .otherwise("t_complete_ns"),
        )
        self.ends = self.ends.join(self._asked(), on="operation", how="left", maintain_order="left")

    def _asked(self) -> pl.DataFrame:
        """Return `operation` and `asked_ns` (the latest such send's time) of the transactions that
        polled a record sent after they had begun: they cannot have requested their commit before
        that send."""
        batches = self.batches.select("operation", "place", "start", "count")
        read = self._of_operations(batches, "txn", "t_invoke_ns").filter(
            pl.col("txn").is_not_null()
        )
        sent = self._of_operations(self.sends, "t_invoke_ns")
        sent_ns = sent.select(*RECORD, sent_ns="t_invoke_ns")
        polled = self._records(read.drop("txn")).lazy()
        return collect(
            polled.join(sent_ns.lazy(), on=RECORD)
            .filter(pl.col("sent_ns") > pl.col("t_invoke_ns"))
            .group_by("operation")
            .agg(asked_ns=pl.col("sent_ns").max())
        )

    # The rows of the operations from `low` up to `beyond`, by kind.

    def _of(self, part: pl.DataFrame, low: int, beyond: int) -> pl.DataFrame:
        start = part["operation"].search_sorted(low)
        rows = part[start : part["operation"].search_sorted(beyond)]
        named = [column for column in _OF_OPERATION if column not in part.columns]
        return self._of_operations(rows, *named)

    def _sent(self, low: int, beyond: int) -> pl.DataFrame:
        sends = self._of(self.sends, low, beyond)
        is_known = (pl.col("offset") != NONE) | (pl.col("type") == OK) | pl.col("committed")
        end_ns = pl.col("t_complete_ns").fill_null(self.last_ns)
        return sends.with_columns(
            _null("offset"),
            f=pl.lit(F.SEND.value),
            acks=pl.lit(-1),
            idempotent=pl.lit(True),
            type=pl.when(is_known).then(_OK).otherwise(_INFO),
            t_complete_ns=pl.when(~pl.col("committed"))
            .then("t_complete_ns")
            .when("owed")
            .then(end_ns),
            txn=self.txns[sends["transaction"]],
            detail=pl.format(DECIDED_BY, "shown_by"),
        ).drop("send", "transaction", "committed", "owed", "shown_by")

    def _ended(self, low: int, beyond: int) -> pl.DataFrame:
        """Return the rows of the ends of transactions of the operations from `low` up to, not
        including, `beyond`: an acknowledged abort if the operation failed, else a commit. It was
        invoked after all polls, and so after the sends of the polled records. An unanswered commit
        whose effect was seen counts as acknowledged, and was complete then."""
        asked_ns = pl.max_horizontal("t_invoke_ns", "asked_ns")
        asked_ns = pl.min_horizontal(asked_ns, "t_complete_ns")
        is_decided = pl.col("done_ns").is_not_null()
        failed = pl.col("type") == FAIL
        return self._of(self.ends, low, beyond).select(
            *(set(_OF_OPERATION) - {"type", "t_invoke_ns", "t_complete_ns"}),
            "operation",
            record_index="records",
            f=pl.when(failed).then(pl.lit(F.ABORT.value)).otherwise(pl.lit(F.COMMIT.value)),
            type=pl.when(failed | is_decided).then(_OK).otherwise("type"),
            t_invoke_ns=asked_ns,
            t_complete_ns=pl.when(is_decided)
            .then(pl.max_horizontal(asked_ns, "done_ns"))
            .otherwise("t_complete_ns"),
            detail=pl.format(DECIDED_BY, "shown_by"),
        )

    def _polled(self, low: int, beyond: int) -> pl.DataFrame:
        records = self._records(self._of(self.batches, low, beyond))
        return records.with_columns(
            f=pl.lit(F.POLL.value), record_index=pl.col("first") + pl.col("number")
        ).drop("first", "number")

    def _others(self, low: int, beyond: int) -> pl.DataFrame:
        rows = self._of(self.others, low, beyond)
        told = [self.details.get(number) for number in rows["operation"]] if self.details else None
        is_position = pl.col("f") == Collected.FS.index(F.POSITION.value)
        return rows.with_columns(
            asked=pl.when(is_position).then(pl.lit("earliest")),
            offset=pl.when(is_position).then(pl.lit(0, pl.Int64)),
            f=pl.col("f").replace_strict(dict(enumerate(Collected.FS)), return_dtype=pl.String),
            detail=pl.Series(told, dtype=pl.String) if told else pl.lit(None, pl.String),
        )

    def _whole(self, rows: pl.DataFrame, client: str) -> pl.DataFrame:
        """Return the rows with every column of a history that an import fills."""
        place = pl.when(pl.col("place") != NONE).then("place").otherwise(self.places.height - 1)
        number = rows.select(place.fill_null(self.places.height - 1)).to_series()
        is_read = pl.col("f").is_in(_READS)
        is_members = pl.col("f").is_in([F.POLL.value, F.ASSIGN.value]) & (pl.col("member") == 1)
        constants: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "client": client}
        whole = rows.hstack(self.places[number]).with_columns(
            type=pl.col("type").replace_strict(_TYPES, return_dtype=pl.String),
            final=pl.col("final") == 1,
            isolation=pl.when(is_read).then(pl.lit(READ_COMMITTED)),
            member_id=pl.when(is_members).then(pl.col("process").cast(pl.String)),
            group=pl.when(pl.col("process").is_in(self.members)).then(pl.lit(client)),
            session=pl.col("session").fill_null(0),
            **{name: pl.lit(value) for name, value in constants.items()},
        )
        return whole.select(
            pl.col(name).cast(dtype) for name, dtype in SCHEMA.items() if name in whole.columns
        )
