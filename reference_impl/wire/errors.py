"""Error codes: the name of each, whether to retry, and whether a write may have happened.

Source: Kafka protocol guide, Error Codes; Java class org.apache.kafka.common.protocol.Errors of
4.3.1 (`retriable` is "the exception is a RetriableException"; a test compares). The messages are
this project's own words.

`definite` answers for one Produce request: *the records of this request are certainly not in the
log*. When in doubt a code is indefinite, which is always safe. The reasons:

- Checked before the append (ReplicaManager.appendRecords, LogValidator, ProducerStateManager): 2 10
  17 18 19 21 32 43 45 47 59 76 87, and for transactions 48 49 51 90 120.
- Refused before any handler looks at records (KafkaApis): 29 30 31 35 42 53 55.
- 0 is success, and 46 says that the records are in the log already.
- 3, 6 and 56 are *indefinite*: DelayedProduce also answers them if the leader lost the partition,
  or the disk, after the append, while it waited for followers (acks=all). 100 and 103 are the same
  answers for topic ids.
- 7, 13, 20 and -1 say nothing about the log, or say that the append happened.
- 5 8 9 14 15 16 41 74 75 and the rest are no answers to a Produce, or may follow an append.

A client that retries by itself reports the last answer only: an earlier attempt may have written.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class ErrorCode(IntEnum):
    """Kafka's error codes, by Kafka's names."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """The properties of one error code. `retriable`: whether Kafka's clients may repeat the
    request. `definite`: whether the records of a Produce request that got it are certainly not in
    the log."""

    code: ErrorCode
    retriable: bool
    definite: bool
    message: str

    @property
    def name(self) -> str:
        """Kafka's name of the error, e.g. NOT_LEADER_OR_FOLLOWER."""
        return self.code.name


RETRIABLE = frozenset(
    {
        2,
        3,
        5,
        6,
        7,
        9,
        13,
        14,
        15,
        16,
        19,
        20,
        41,
        51,
        56,
        70,
        71,
        72,
        74,
        75,
        78,
        80,
        83,
        84,
        88,
        89,
        100,
        103,
        106,
        122,
        123,
        133,
    }
)
DEFINITE = frozenset(
    {
        2,
        10,
        17,
        18,
        19,
        21,
        29,
        30,
        31,
        32,
        35,
        42,
        43,
        45,
        47,
        48,
        49,
        51,
        53,
        55,
        59,
        76,
        87,
        90,
        120,
    }
)
MESSAGES = {
    -1: "The broker met an error which it did not expect.",
    0: "No error.",
    1: "The offset is outside the range which the broker keeps.",
    2: "The batch fails its checksum, has a wrong size, or lacks a key on a compacted topic.",
    3: "The broker does not host this partition.",
    4: "The fetch size is invalid.",
    5: "The partition has no leader; an election is under way.",
    6: "The broker is not the leader (or not a replica) of the partition.",
    7: "The request timed out.",
    8: "The broker is not available.",
    9: "The broker is not a replica of the partition.",
    10: "The batch is larger than the broker accepts.",
    11: "The controller has moved to another node.",
    12: "The metadata of the committed offset is too large.",
    13: "The connection ended before the response came.",
    14: "The coordinator is still loading.",
    15: "The coordinator is not available.",
    16: "The broker is not the coordinator.",
    17: "The topic's name is not allowed, or clients may not write to it.",
    18: "The batch is larger than a segment.",
    19: "Fewer replicas are in sync than the topic requires; nothing was written.",
    20: "The records were written, but to fewer in-sync replicas than required.",
    21: "acks must be -1, 0 or 1.",
    22: "The generation is not the group's.",
    23: "The member's protocols are not those of the group.",
    24: "The group id is invalid.",
    25: "The group does not know this member.",
    26: "The session timeout is outside the range which the broker allows.",
    27: "The group is rebalancing; join again.",
    28: "The commit is too large.",
    29: "Not authorized for the topic.",
    30: "Not authorized for the group.",
    31: "Not authorized for the cluster.",
    32: "The timestamp is outside the range which the topic allows.",
    33: "The SASL mechanism is not supported.",
    34: "The request does not fit the state of the SASL exchange.",
    35: "This version of the API is not supported.",
    36: "The topic exists already.",
    37: "The number of partitions is invalid.",
    38: "The replication factor is invalid.",
    39: "The replica assignment is invalid.",
    40: "The configuration is invalid.",
    41: "The node is not the active controller.",
    42: "The request is invalid.",
    43: "The log's message format does not support the request.",
    44: "The request violates a policy of the cluster.",
    45: "The sequence number is not the next one of this producer.",
    46: "The sequence number was used before.",
    47: "The producer's epoch is old.",
    48: "The transaction's state does not allow the operation.",
    49: "The producer id does not belong to the transactional id.",
    50: "The transaction timeout is larger than the broker allows.",
    51: "Another operation on the same transaction is under way.",
    52: "The transaction coordinator has been replaced.",
    53: "Not authorized for the transactional id.",
    54: "Security features are switched off.",
    55: "The operation was not attempted.",
    56: "The log's disk failed.",
    57: "The log directory does not exist.",
    58: "SASL authentication failed.",
    59: "The broker does not know this producer id.",
    60: "A reassignment of the partition is under way.",
    61: "Delegation tokens are switched off.",
    62: "The delegation token does not exist.",
    63: "The principal does not own the delegation token.",
    64: "Delegation tokens are not allowed on this connection.",
    65: "Not authorized for the delegation token.",
    66: "The delegation token has expired.",
    67: "The principal type is not supported.",
    68: "The group is not empty.",
    69: "The group does not exist.",
    70: "The fetch session does not exist.",
    71: "The epoch of the fetch session is not the next one.",
    72: "The leader has no listener of the name on which the request came.",
    73: "Deleting topics is switched off.",
    74: "The request's leader epoch is older than the broker's.",
    75: "The request's leader epoch is newer than the broker's.",
    76: "The client's version does not support the compression type.",
    77: "The broker epoch is old.",
    78: "The leader does not know its high watermark yet; try again.",
    79: "Join again with the member id of this response.",
    80: "The preferred leader is not available.",
    81: "The group is full.",
    82: "Another member with this group.instance.id has taken its place.",
    83: "No eligible leader is available.",
    84: "The election is not needed.",
    85: "No reassignment of the partition is under way.",
    86: "The group is subscribed to the topic.",
    87: "The broker refused a record.",
    88: "A transaction may still change the offset.",
    89: "The quota is exceeded; try again later.",
    90: "A newer producer with this transactional id exists.",
    91: "The resource does not exist.",
    92: "The request names a resource twice.",
    93: "The credential is not acceptable.",
    94: "The sender or the receiver is not a voter.",
    95: "The update version is invalid.",
    96: "The feature could not be updated.",
    97: "The forwarded principal could not be read.",
    98: "The snapshot does not exist.",
    99: "The position is outside the snapshot.",
    100: "The broker does not know this topic id.",
    101: "The broker id is in use.",
    102: "The broker id is not registered.",
    103: "The topic id is not that of the log.",
    104: "The cluster id is not that of the server.",
    105: "The transactional id does not exist.",
    106: "The fetch session mixes topic ids and names.",
    107: "The new ISR holds a replica which may not join it.",
    108: "The partition changed, and has a new leader.",
    109: "The offset is in tiered storage.",
    110: "The group has moved on from this member's epoch; rejoin without partitions.",
    111: "The instance id is in use by a member which must leave first.",
    112: "The group does not support the assignor.",
    113: "The member's epoch is old; heartbeat first.",
    114: "The endpoint is of the wrong type (broker or controller).",
    115: "The endpoint type is not supported.",
    116: "The controller id is not known.",
    117: "The telemetry subscription is not known, or old.",
    118: "The telemetry is too large.",
    119: "The registration is invalid.",
    120: "The transaction failed; abort it and go on with the same transactional id.",
    121: "The state of the record does not allow the acknowledgement.",
    122: "The share session does not exist.",
    123: "The epoch of the share session is not the next one.",
    124: "The state epoch of the share group is old.",
    125: "The voter's key is not the one that the replica has.",
    126: "The voter exists already.",
    127: "The voter does not exist.",
    128: "The regular expression is invalid.",
    129: "The client's metadata is old; it should bootstrap again.",
    130: "The topology is invalid.",
    131: "The topology's epoch is invalid.",
    132: "The topology's epoch is old.",
    133: "The broker holds as many share sessions as it may.",
}
ERRORS = {
    int(code): ErrorInfo(code, code in RETRIABLE, code in DEFINITE, MESSAGES[code])
    for code in ErrorCode
}


def error_name(code: int) -> str:
    """Return NAME(code), or UNKNOWN_CODE(code) for a code that this Kafka does not have."""
    return f"{ERRORS[code].name}({code})" if code in ERRORS else f"UNKNOWN_CODE({code})"
