"""The client's decisions on which the client's safety depends: each has a name, a source (a KIP or
a class of Kafka's) and a chapter in this folder.

A planted bug of a client (`reference_impl/bugs/clients`) is a subclass of ClientRules that
overrides one decision; the broker that it talks to is correct.
"""

from __future__ import annotations

from reference_impl.client.rules.committing import Committing
from reference_impl.client.rules.ending import Ending
from reference_impl.client.rules.numbering import Numbering
from reference_impl.client.rules.reading import Reading
from reference_impl.client.rules.sending import Sending

__all__ = ["CORRECT", "ClientRules"]


class ClientRules(Numbering, Sending, Ending, Reading, Committing):
    """The decisions of a correct client."""


CORRECT = ClientRules()
