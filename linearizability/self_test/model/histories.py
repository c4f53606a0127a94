"""Make valid histories, which clients of a correct Kafka might record, one per seed.

A few producers (plain and transactional), consumers and a watcher take turns at random over one to
three replicated partitions whose leaders change; then a final phase reads everything, or some of
it, or nothing. Every such history must be judged valid, since the model breaks no guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import polars as pl

from linearizability.history import SCHEMA, SCHEMA_VERSION, Type
from linearizability.self_test.model import processing
from linearizability.self_test.model.committers import Coordinator, ask_finally, committer
from linearizability.self_test.model.consumers import (
    COMMITTED,
    UNCOMMITTED,
    consumer,
    read_everything,
    watcher,
)
from linearizability.self_test.model.deletions import delete_beginnings, tell_settings
from linearizability.self_test.model.processing import Inputs
from linearizability.self_test.model.producers import plain_producer, transactional_producer
from linearizability.self_test.model.trying import try_partitions
from linearizability.self_test.model.watching import watch
from linearizability.self_test.model.world import Row, World
from linearizability.self_test.truth import stripped, with_outcomes, with_truth

TURNS = 1500
NUMBERS_APART = 1_000_000
"""The distance between the numbers (operations, values, transactions, processes) of two joined
histories."""
DEFAULTS = {
    "schema_version": SCHEMA_VERSION,
    "record_index": 0,
    "process": 0,
    "session": 0,
    "final": False,
    "type": Type.OK.value,
}
"""The values of the columns that a row of the model leaves out; any other column is then null."""


def valid_rows(seed: int, turns: int = TURNS) -> list[Row]:
    """Return the history of this seed as a recorder would have written it."""
    return stripped(rows_with_truth(seed, turns))


def rows_with_truth(seed: int, turns: int = TURNS) -> list[Row]:
    """Return the rows of the history of this seed, sorted by operation, with the model's truth
    about them (`truth`). turns: the most turns that its actors take before the quiet time and the
    final phase."""
    world = World(seed)
    rng = world.rng
    world.actors += [plain_producer(world) for _ in range(rng.randint(0, 2))]
    inputs = Inputs()
    world.actors += [transactional_producer(world, inputs) for _ in range(rng.randint(0, 2))]
    world.actors += [processing.asker(world, inputs)]
    world.actors += [consumer(world) for _ in range(rng.randint(1, 3))]
    world.actors += [watcher(world)]
    coordinator = Coordinator()
    world.actors += [committer(world, coordinator) for _ in range(2)]
    world.actors += [world.replication() for _ in range(2)]
    world.actors += [world.cleaner.clean(world.partitions)]
    tell_settings(world)
    players = list(world.actors)
    world.run(rng.randint(turns // 3, turns))
    if rng.random() < 0.5:
        watch(world, players)
    if rng.random() < 0.7:
        _final_phase(world)
        ask_finally(world, coordinator)
        processing.ask_finally(world, inputs)
        tries = Random(f"{seed}:tries")
        if tries.random() < 0.7:
            try_partitions(world, tries)
    world.end()
    rows = sorted(world.rows, key=lambda row: (row["op_id"], row["record_index"]))
    return with_outcomes(with_truth(rows, world.ends))


def _final_phase(world: World) -> None:
    rng = world.rng
    world.settle()
    if rng.random() < 0.8:  # only a read of everything shows that records were deleted
        if rng.random() < 0.5:
            delete_beginnings(world)
        read_everything(world, raw=True, isolation=UNCOMMITTED)
    if rng.random() < 0.5:
        read_everything(world, raw=False, isolation=rng.choice([COMMITTED, UNCOMMITTED]))


def joined(histories: Iterable[list[Row]]) -> pl.DataFrame:
    """Return one large history made of many small ones, each with its own topic, groups, processes
    and numbers. The facts about a row that only the model knows are left out. Columns that a row
    leaves out get DEFAULTS, or null."""
    rows: list[Row] = []
    numbers: list[int] = []
    for number, history in enumerate(histories):
        rows += history
        numbers += [number] * len(history)
    of_row = pl.Series(numbers, dtype=pl.Int64)
    shift = of_row * NUMBERS_APART
    # Mutants of a history share most of its rows: turn each of them into columns once.
    distinct = {id(row): row for row in rows}
    places = {key: place for place, key in enumerate(distinct)}
    columns = pl.from_dicts(list(distinct.values()), schema=SCHEMA)
    events = columns[[places[id(row)] for row in rows]].with_columns(
        pl.col(name).fill_null(value) for name, value in DEFAULTS.items()
    )
    return events.with_columns(
        *(_moved(name, shift) for name in ("op_id", "value", "txn", "producer_id")),
        (pl.col("process") + of_row * 1000).cast(SCHEMA["process"]),
        *(
            pl.format("{}-{}", name, of_row).alias(name)
            for name in ("topic", "group", "transactional_id")
        ),
    )


def _moved(name: str, shift: pl.Series) -> pl.Expr:
    """Return the column of numbers, moved by `shift` where it has one; negative ones mean none."""
    number = pl.col(name)
    return pl.when(number >= 0).then(number + shift).otherwise(number).alias(name)
