"""The numeric codes of ACLs, on the wire and in AccessControlEntryRecord.

Source: Java enums ResourceType, PatternType, AclOperation, AclPermissionType; KIP-140, KIP-290
(PREFIXED, MATCH), KIP-373 (USER), KIP-939 (TWO_PHASE_COMMIT).
"""

from __future__ import annotations

from enum import IntEnum

CLUSTER_NAME = "kafka-cluster"
"""The name of the only resource of type CLUSTER (Resource.CLUSTER_NAME)."""
WILDCARD = "*"
"""The name of a LITERAL pattern that matches every resource of the type, and the host that matches
every host."""
WILDCARD_PRINCIPAL = "User:*"


class ResourceType(IntEnum):
    """The type of a resource; ANY occurs only in filters."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """The way in which a resource name is compared. ANY and MATCH occur only in filters: MATCH
    finds every pattern, of either type, that covers the given name."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    """An operation on a resource; ANY occurs only in filters."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermissionType(IntEnum):
    """Whether an ACL allows or denies; ANY occurs only in filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3
