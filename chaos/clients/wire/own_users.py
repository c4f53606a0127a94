"""Remove the SCRAM users and the quotas that a run has made on somebody else's cluster.

Sources: DescribeUserScramCredentialsRequest.json, AlterUserScramCredentialsRequest.json (KIP-554);
DescribeClientQuotasRequest.json, AlterClientQuotasRequest.json (KIP-546).
"""

from __future__ import annotations

from collections import defaultdict

from chaos.clients.wire.wire_link import WireCluster, check
from reference_impl.wire import ApiKey, Struct, request_definition

NOT_ALLOWED = frozenset({29, 31, 35, 42})
"""TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION, INVALID_REQUEST:
on a cluster that answers with one of these, no run can have made users or quotas, so there is
nothing to remove."""


async def remove_users(cluster: WireCluster, prefix: str) -> None:
    """Delete the SCRAM credentials of users, and the quotas of users and clients, whose names begin
    with this prefix. Skip those that the cluster cannot list (no such API) or does not let us list.
    Raise WireError if the cluster returns another error, or no answer."""
    await _remove_credentials(cluster, prefix)
    await _remove_quotas(cluster, prefix)


async def _remove_credentials(cluster: WireCluster, prefix: str) -> None:
    if not await cluster.serves(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS):
        return
    told = await cluster.ask_any(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, users=None)
    if told.error_code in NOT_ALLOWED:
        return
    check(told.error_code, "DescribeUserScramCredentials")
    struct = request_definition(ApiKey.ALTER_USER_SCRAM_CREDENTIALS).struct
    deletions: dict[int, list[Struct]] = defaultdict(list)
    for row in told.results:
        if row.user.startswith(prefix):
            for each in row.credential_infos:
                deletion = struct(
                    "ScramCredentialDeletion", name=row.user, mechanism=each.mechanism
                )
                deletions[each.mechanism].append(deletion)
    # A request that names a user twice, even with two mechanisms, is refused (DUPLICATE_RESOURCE).
    for of_one_mechanism in deletions.values():
        answer = await cluster.ask_any(
            ApiKey.ALTER_USER_SCRAM_CREDENTIALS, deletions=of_one_mechanism
        )
        for row in answer.results:
            check(row.error_code, f"AlterUserScramCredentials of {row.user}")


async def _remove_quotas(cluster: WireCluster, prefix: str) -> None:
    if not await cluster.serves(ApiKey.DESCRIBE_CLIENT_QUOTAS):
        return
    told = await cluster.ask_any(ApiKey.DESCRIBE_CLIENT_QUOTAS, components=[], strict=False)
    if told.error_code in NOT_ALLOWED:
        return
    check(told.error_code, "DescribeClientQuotas")
    struct = request_definition(ApiKey.ALTER_CLIENT_QUOTAS).struct
    entries = [
        struct(
            "EntryData",
            entity=[
                struct("EntityData", entity_type=part.entity_type, entity_name=part.entity_name)
                for part in entry.entity
            ],
            ops=[struct("OpData", key=each.key, remove=True) for each in entry.values],
        )
        for entry in told.entries or ()
        if any((part.entity_name or "").startswith(prefix) for part in entry.entity)
    ]
    if not entries:
        return
    answer = await cluster.ask_any(ApiKey.ALTER_CLIENT_QUOTAS, entries=entries, validate_only=False)
    for row in answer.entries:
        check(row.error_code, "AlterClientQuotas")
