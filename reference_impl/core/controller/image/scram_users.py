"""Users of SCRAM and what is kept of their passwords, as the metadata log has them.

Source: KIP-554, KIP-900; UserScramCredentialRecord, RemoveUserScramCredentialRecord;
ScramControlManager.java, ScramImage.java.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.core.security.sasl.scram import Credential
from reference_impl.wire import Struct, definition


class ScramUsers:
    """The credentials of the users of SCRAM: user name -> number of the mechanism -> credential."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[int, Credential]] = {}

    def names(self) -> list[str]:
        """Return every user that has a credential, sorted."""
        return sorted(self._by_name)

    def credentials(self, user: str) -> Mapping[int, Credential]:
        """Return the credentials of one user, by mechanism; an empty mapping if it has none."""
        return self._by_name.get(user, {})

    def credential(self, user: str, mechanism: int) -> Credential | None:
        """Return the user's credential for this mechanism, or None."""
        return self.credentials(user).get(mechanism)

    def set(self, record: Struct) -> None:
        """Apply a UserScramCredentialRecord: a new credential, or one that replaces the user's
        credential for the same mechanism."""
        self._by_name.setdefault(record.name, {})[record.mechanism] = Credential(
            bytes(record.salt),
            record.iterations,
            bytes(record.stored_key),
            bytes(record.server_key),
        )

    def remove(self, record: Struct) -> None:
        """Apply a RemoveUserScramCredentialRecord. Raise KeyError for a credential that is not
        there: the controller removes only those that it has."""
        credentials = self._by_name[record.name]
        del credentials[record.mechanism]
        if not credentials:
            del self._by_name[record.name]


def set_record(user: str, mechanism: int, credential: Credential) -> Struct:
    """Return the record that sets a user's credential."""
    return definition("UserScramCredentialRecord").new(
        name=user,
        mechanism=mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )


def removal_record(user: str, mechanism: int) -> Struct:
    """Return the record that removes a user's credential for this mechanism."""
    return definition("RemoveUserScramCredentialRecord").new(name=user, mechanism=mechanism)
