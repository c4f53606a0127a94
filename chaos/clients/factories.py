"""The clients which can perform a workload, by the name that `--client` takes."""

from __future__ import annotations

import difflib

from chaos.clients.confluent.client import ConfluentFactory
from chaos.clients.java.client import JavaFactory
from chaos.clients.reference.client import ReferenceFactory
from chaos.clients.wire.operator import MakeClients, with_operator
from chaos.values.protocols import TargetError, Workload

CONFLUENT = "confluent"
REFERENCE = "reference"

CLIENTS: dict[str, MakeClients] = {
    CONFLUENT: with_operator(ConfluentFactory),
    REFERENCE: with_operator(ReferenceFactory),
    "java": with_operator(JavaFactory),
}


def clients_named(name: str) -> MakeClients:
    """Return the maker of the clients of that name. Raise TargetError, which lists the known names,
    for another name."""
    if name in CLIENTS:
        return CLIENTS[name]
    nearest = difflib.get_close_matches(name, CLIENTS, n=1, cutoff=0.4)
    hint = f" (did you mean {nearest[0]!r}?)" if nearest else ""
    raise TargetError(f"unknown client {name!r}{hint}; use one of {', '.join(CLIENTS)}")


def check_groups(client: str, workload: Workload) -> None:
    """Raise TargetError if the workload has group members that this client cannot perform."""
    if reason := why_no_groups(client, workload):
        raise TargetError(
            f"--client {client} {reason}, which workload {workload.name} needs;"
            f" use --client {CONFLUENT}"
        )


def why_no_groups(client: str, workload: Workload) -> str | None:
    """Return why a client cannot perform the group operations of a workload, as words that follow
    the client's name in a sentence. Return None if it can, or if the workload has no groups."""
    settings = map(workload.settings, range(workload.processes))
    if client != CONFLUENT and any(one.group and one.transactional for one in settings):
        return "cannot commit a group's positions in transactions here"
    return None
