"""DescribeDelegationToken (API key 41). Spec: KIP-48; KIP-373 (requesters, version 3);
KafkaApis.scala, DelegationTokenManager.filterToken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.delegation_tokens import DelegationToken
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import (
    DESCRIBE_DELEGATION_TOKEN,
    DESCRIBE_TOKENS_OF_USER,
)
from reference_impl.wire import Struct, definition

RESPONSE = definition("DescribeDelegationTokenResponse")


def handle_describe_delegation_token(broker: Broker, request: Request) -> Iterator[Effect]:
    """Describe the tokens, of the named owners or of all, that the client may see, with their
    HMACs. Refuse a client that may not manage tokens, and every request while tokens are
    disabled."""
    answer = RESPONSE.new()
    # VALIDATE
    try:
        broker.authentication.check_may_manage_tokens(request)
        broker.tokens.check_enabled()
    except Refused as refused:
        answer.error_code = refused.code
        yield Respond(request, answer)
        return
    # DEDUPLICATE, APPLY: reading changes nothing.
    owners = None
    if request.body.owners is not None:
        owners = {f"{row.principal_type}:{row.principal_name}" for row in request.body.owners}
    for token in list(broker.image.delegation_tokens):
        yield GiveWay(request)
        if concerns(token, owners) and may_see(broker, request, token):
            answer.tokens.append(described(broker, token))
    # RESPOND
    yield Respond(request, answer)


def concerns(token: DelegationToken, owners: set[str] | None) -> bool:
    """Return whether the request asks for this token: one of `owners` is its owner, its requester
    or a renewer, or `owners` is None, which asks for all."""
    return owners is None or not owners.isdisjoint(token.principals)


def may_see(broker: Broker, request: Request, token: DelegationToken) -> bool:
    """Return whether the client may see this token: it is its owner, its requester or a renewer, or
    may describe this token or those of its owner."""
    return (
        broker.access.principal_of(request) in token.principals
        or broker.access.may(request, DESCRIBE_DELEGATION_TOKEN, token.token_id)
        or broker.access.may(request, DESCRIBE_TOKENS_OF_USER, token.owner)
    )


def described(broker: Broker, token: DelegationToken) -> Struct:
    """Return the answer's row of a token."""
    row = RESPONSE.struct(
        "DescribedDelegationToken",
        issue_timestamp=token.issue_ms,
        expiry_timestamp=token.expiry_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=broker.tokens.hmac_of(token.token_id),
    )
    row.principal_type, _, row.principal_name = token.owner.partition(":")
    kind, _, name = token.requester.partition(":")
    row.token_requester_principal_type, row.token_requester_principal_name = kind, name
    row.renewers = Renewers(token.renewers)
    return row


@dataclass(frozen=True)
class Renewers(Sequence[Struct]):
    """The rows of a token's renewers. They are made while the answer is encoded, one after the
    other: tokens may have millions of renewers together."""

    principals: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.principals)

    @overload
    def __getitem__(self, index: int) -> Struct: ...
    @overload
    def __getitem__(self, index: slice) -> Renewers: ...
    def __getitem__(self, index: int | slice) -> Struct | Renewers:
        """Return the row of one renewer, or the rows of several."""
        if isinstance(index, slice):
            return Renewers(self.principals[index])
        kind, _, name = self.principals[index].partition(":")
        return RESPONSE.struct(
            "DescribedDelegationTokenRenewer", principal_type=kind, principal_name=name
        )
