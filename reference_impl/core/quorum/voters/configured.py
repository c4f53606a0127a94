"""The voters that a node's configuration names."""

from __future__ import annotations

from reference_impl.core.configs.cluster import Membership
from reference_impl.core.quorum.voters.voter_set import Voter, Voters, voters_of


def configured_voters(membership: Membership) -> Voters:
    """Return the voters that the configuration names. If it names none and the node is alone,
    return the node itself, without an endpoint."""
    if membership.is_alone and not membership.voters:
        return voters_of(Voter(membership.node_id))
    listener = membership.controller_listener or ""
    return voters_of(*(Voter(n, endpoints={listener: at}) for n, at in membership.voters.items()))
