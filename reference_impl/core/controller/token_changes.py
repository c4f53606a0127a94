"""Write the records that create, renew and expire delegation tokens.

Source: DelegationTokenControlManager.java; KIP-48, KIP-373, KIP-900.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.delegation_tokens import DelegationToken, removal_record
from reference_impl.core.log.directories.data_directory import uuid_text

LONG_MAX = 2**63 - 1
REMOVED_AT_ONCE = 1000
"""The largest number of expired tokens that one batch of records removes."""


def create_token(
    controller: Controller,
    owner: str,
    requester: str,
    renewers: Sequence[str],
    max_lifetime_ms: int,
) -> DelegationToken:
    """Create a token and return it. max_lifetime_ms: how long renewals may prolong it; larger
    numbers, 0 and negative ones are replaced by the controller's maximum."""
    now_ms = controller.now_ms
    max_ms = now_ms + _within(controller, "delegation.token.max.lifetime.ms", max_lifetime_ms)
    expiry_ms = now_ms + controller.config.number("delegation.token.expiry.time.ms")
    token = DelegationToken(
        _new_id(controller),
        owner,
        requester,
        tuple(renewers),
        now_ms,
        min(max_ms, LONG_MAX),
        min(expiry_ms, max_ms, LONG_MAX),
    )
    controller.write([token.to_record()])
    return token


def renew_token(controller: Controller, token: DelegationToken, period_ms: int) -> int:
    """Move the expiry to this period from now, at most delegation.token.expiry.time.ms and never
    beyond the token's lifetime, and return it. 0 and negative periods stand for that maximum."""
    within_ms = _within(controller, "delegation.token.expiry.time.ms", period_ms)
    return move_expiry(controller, token, within_ms)


def move_expiry(controller: Controller, token: DelegationToken, period_ms: int) -> int:
    """Move the expiry to this period from now, but not beyond the token's lifetime (`max_ms`), and
    return the new expiry. Unlike `renew_token`, apply no other maximum."""
    expiry_ms = min(token.max_ms, controller.now_ms + period_ms)
    controller.write([replace(token, expiry_ms=expiry_ms).to_record()])
    return expiry_ms


def remove_tokens(controller: Controller, tokens: Sequence[DelegationToken]) -> None:
    """Remove these tokens now. Sessions that began with one last until their own end."""
    controller.write([removal_record(token.token_id) for token in tokens])


def sweep_tokens(controller: Controller) -> bool:
    """Remove expired tokens, REMOVED_AT_ONCE at most; return whether expired ones are left."""
    now_ms = controller.now_ms
    over = [token for token in controller.image.delegation_tokens if token.is_expired(now_ms)]
    if over:
        remove_tokens(controller, over[:REMOVED_AT_ONCE])
    return len(over) > REMOVED_AT_ONCE


def _within(controller: Controller, bound: str, wanted_ms: int) -> int:
    bound_ms = controller.config.number(bound)
    return min(bound_ms, wanted_ms) if wanted_ms > 0 else bound_ms


def _new_id(controller: Controller) -> str:
    """Return a new id in Kafka's form, never one that begins with '-', which a command line would
    take for an option (Uuid.randomUuid)."""
    while (token_id := uuid_text(controller.random_uuid())).startswith("-"):
        continue
    return token_id
