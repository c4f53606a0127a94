"""Invariants of administrative APIs: topics, configurations and log directories."""

from __future__ import annotations

import math

from conformance.case import expect_that
from conformance.echoes import named
from conformance.invariants.shared import NONE, once_each, rows
from reference_impl.wire import Struct

TOPIC_SOURCE = 1
"""The ConfigSource of a value that was set for the topic."""
SOURCES, TYPES = range(9), range(10)
"""The defined codes of ConfigSource and of ConfigType."""


def created_topics(version: int, asked: Struct, answer: Struct) -> None:
    """Require, from version 5 on, that each topic without an error has the requested partitions,
    replicas and configuration, and each configuration once, with a known source (KIP-525)."""
    if version < 5:
        return
    wanted = {topic.name: topic for topic in asked.topics}
    for found in answer.topics:
        if found.error_code != NONE or found.topic_config_error_code != NONE:
            continue
        topic = wanted[found.name]
        placed = [len(replica.broker_ids) for replica in topic.assignments]
        for told, number, what in (
            (found.num_partitions, len(placed) or topic.num_partitions, "num_partitions"),
            (
                found.replication_factor,
                min(placed, default=topic.replication_factor),
                "replication_factor",
            ),
        ):
            expect_that(
                told == number if number >= 0 else told > 0,
                f"{what} of {found.name}",
                number if number >= 0 else "> 0",
                told,
            )
        once_each((config.name for config in found.configs or ()), f"configs of {found.name}")
        told = {config.name: config for config in found.configs or ()}
        for config in topic.configs if found.configs else ():
            if config.value is not None:
                entry = told.get(config.name)
                seen = entry and (entry.config_source, entry.is_sensitive)
                expect_that(
                    seen == (TOPIC_SOURCE, False),
                    f"(source, sensitive) of {config.name}",
                    (TOPIC_SOURCE, False),
                    seen,
                )
        for entry in found.configs or ():
            expect_that(
                bool(entry.name) and entry.config_source in SOURCES,
                "config",
                "a name and a source",
                (entry.name, entry.config_source),
            )


def configs(version: int, asked: Struct, answer: Struct) -> None:
    """Require only the requested keys, each once, with known sources and types, no secrets, and
    synonyms and documentation only if the request asked for them."""
    wanted = {(r.resource_type, r.resource_name): r for r in asked.resources}
    for found in answer.results:
        if found.error_code != NONE:
            expect_that(not found.configs, "configs beside an error", "none", len(found.configs))
            continue
        names = [entry.name for entry in found.configs]
        once_each(names, "configs")
        resource = wanted[found.resource_type, found.resource_name]
        if keys := resource.configuration_keys:
            expect_that(set(names) <= set(keys), "configs", f"some of {keys}", names)
        for entry in found.configs:
            _entry(version, asked, entry)


def _entry(version: int, asked: Struct, entry: Struct) -> None:
    expect_that(
        not entry.is_sensitive or entry.value is None,
        f"value of {entry.name}",
        "null, since it is sensitive",
        "a value",
    )
    if version < 1:
        return
    source = entry.config_source
    expect_that(source in SOURCES, f"source of {entry.name}", "one that is defined", source)
    for synonym in entry.synonyms:
        told = (synonym.name, synonym.source)
        expect_that(
            bool(synonym.name) and synonym.source in SOURCES,
            f"synonym of {entry.name}",
            "a name and a source",
            told,
        )
        expect_that(
            not entry.is_sensitive or synonym.value is None,
            f"value of a synonym of {entry.name}",
            "null",
            "a value",
        )
    if not asked.include_synonyms:
        names = [synonym.name for synonym in entry.synonyms]
        expect_that(not names, f"synonyms of {entry.name}, not asked for", "none", names)
    elif entry.synonyms:
        first = entry.synonyms[0]
        expect_that(
            (first.value, first.source) == (entry.value, source),
            f"(value, source) of the first synonym of {entry.name}",
            (entry.value, source),
            (first.value, first.source),
        )
    if version >= 3:
        expect_that(
            entry.config_type in TYPES,
            f"type of {entry.name}",
            "one that is defined",
            entry.config_type,
        )
        text = entry.documentation
        expect_that(
            bool(asked.include_documentation) or not text,
            f"documentation of {entry.name}, not asked for",
            "null",
            text,
        )


def log_dirs(version: int, asked: Struct, answer: Struct) -> None:
    """Require of each log directory without an error a path, sizes and lags that are not negative,
    and usable bytes that do not exceed the total."""
    for found in answer.results:
        if found.error_code != NONE:
            continue
        expect_that(bool(found.log_dir), "log_dir", "a path", repr(found.log_dir))
        for partition in rows(found, "topics partitions"):
            told = (partition.partition_size, partition.offset_lag)
            expect_that(min(told) >= 0, "(partition size, offset lag)", ">= 0", told)
        if version >= 4:
            total, usable = found.total_bytes, found.usable_bytes
            expect_that(-1 <= usable <= total, "usable bytes", f"-1 to {total}", usable)


def reassignments(version: int, asked: Struct, answer: Struct) -> None:
    """Require that at least one replica is being added or removed, and that these are among the
    replicas."""
    for found in rows(answer, "topics partitions"):
        moved = [*found.adding_replicas, *found.removing_replicas]
        once_each(found.replicas, "replicas")
        once_each(moved, "adding and removing replicas")
        expect_that(
            bool(moved) and set(moved) <= set(found.replicas),
            "adding and removing replicas",
            f"some of {found.replicas}",
            moved,
        )


def altered_reassignments(version: int, asked: Struct, answer: Struct) -> None:
    """Require the response to repeat whether the replication factor may change (KIP-860)."""
    if version >= 1 and answer.error_code == NONE:
        expected = asked.allow_replication_factor_change
        told = answer.allow_replication_factor_change
        expect_that(told == expected, "allow_replication_factor_change", expected, told)


def quotas(version: int, asked: Struct, answer: Struct) -> None:
    """Require each entity once, with numeric quotas, and only requested entities."""
    entities = [
        tuple(sorted((part.entity_type, named(part.entity_name)) for part in entry.entity))
        for entry in answer.entries or ()
    ]
    once_each(entities, "entities")
    wanted = {component.entity_type: component for component in asked.components}
    for entity, entry in zip(entities, answer.entries or (), strict=True):
        types = [entity_type for entity_type, _ in entity]
        once_each(types, "types of an entity")
        expect_that(
            bool(types) and set(wanted) <= set(types),
            "types of an entity",
            f"{sorted(wanted)} among them",
            types,
        )
        expect_that(
            not asked.strict or set(types) == set(wanted),
            "types of an entity, strictly",
            sorted(wanted),
            types,
        )
        for kind, name in entity:
            asked_name = repr(wanted[kind].match) if kind in wanted else None
            if kind in wanted and wanted[kind].match_type == 0:
                expect_that(name == asked_name, f"name of the {kind}", asked_name, name)
            elif kind in wanted and wanted[kind].match_type == 1:
                expect_that(name == "<default>", f"name of the {kind}", "the default's", name)
        once_each((value.key for value in entry.values), "keys of quotas")
        for value in entry.values:
            expect_that(
                bool(value.key) and math.isfinite(value.value) and value.value >= 0,
                "quota",
                "a key and a number",
                (value.key, value.value),
            )
