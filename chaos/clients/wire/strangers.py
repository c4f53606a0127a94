"""Send InitProducerId for one transactional id with the producer id of another (KIP-360).

A producer that continues after an error names its producer id and epoch. The coordinator must check
both: an epoch alone proves nothing, since every producer id begins with epoch 0.
"""

from __future__ import annotations

from typing import Any

from chaos.clients.transaction_rows import init_producer_row
from chaos.clients.wire.wire_link import WireCluster, check, kafka_name
from chaos.means.connection import WireError
from chaos.values.operations import JoinAsStranger
from chaos.values.protocols import ClientSettings, Completion, Outcome
from reference_impl.wire import ApiKey, Struct

TRANSACTION = 1  # FindCoordinatorRequest.json, field KeyType
TIMEOUT_MS = 10_000


async def join_as_stranger(cluster: WireCluster, ask: JoinAsStranger) -> Completion:
    """Get producer ids for two transactional ids, then send InitProducerId for the first with the
    producer id of the second and an old epoch of it. Return OK if the coordinator accepts that,
    which it must not, FAIL if it refuses, or INFO if a request got no answer or could not be
    prepared."""
    own, other = (f"{ask.transactional_id}-{name}" for name in ("own", "other"))
    told = []
    now_ns = cluster.world.monotonic_ns
    try:
        for name in (own, other, other):
            answer = await _ask(cluster, name)
            check(answer.error_code, f"InitProducerId {name}")
            told.append(_row(now_ns(), name, answer.producer_id, answer.producer_epoch))
        (mine, _, theirs), asked_ns = told, now_ns()
        named = theirs["producer_id"], mine["producer_epoch"]
        answer = await _ask(cluster, own, producer_id=named[0], producer_epoch=named[1])
    except WireError as error:
        return Completion(Outcome.INFO, (), type(error).__name__, str(error), more_rows=told)
    if answer.error_code:
        return Completion(Outcome.FAIL, (), kafka_name(answer.error_code), more_rows=told)
    row = _row(now_ns(), own, named[0], answer.producer_epoch)
    accepted = {**row, "asked": "epoch", "asked_offset": named[1], "t_invoke_ns": asked_ns}
    return Completion(Outcome.OK, more_rows=(*told, accepted))


async def _ask(cluster: WireCluster, transactional_id: str, **named: int) -> Struct:
    found = await cluster.ask_any(
        ApiKey.FIND_COORDINATOR, key=transactional_id, key_type=TRANSACTION
    )
    check(found.error_code, f"FindCoordinator {transactional_id}")
    return await cluster.ask(
        (found.host, found.port),
        ApiKey.INIT_PRODUCER_ID,
        transactional_id=transactional_id,
        transaction_timeout_ms=TIMEOUT_MS,
        **named,
    )


def _row(now_ns: int, transactional_id: str, producer_id: int, epoch: int) -> dict[str, Any]:
    settings = ClientSettings(transactional=True, transactional_id=transactional_id)
    return {**init_producer_row(now_ns, settings, producer_id, epoch)}
