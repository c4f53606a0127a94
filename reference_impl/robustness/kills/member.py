"""Run a member of a classic group that commits higher and higher offsets.

Source: KIP-211 and GroupMetadataManager.java: an acknowledged offset is found after a restart;
members and their generation are restored with it.
"""

from __future__ import annotations

from reference_impl.robustness.kills.station import Broken, Gone, Link
from reference_impl.robustness.kills.worker import Worker
from reference_impl.wire import ApiKey, ErrorCode, request_definition

TOPIC = "committed"
SESSION_MS = 30_000
MUST_JOIN = (
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.UNKNOWN_MEMBER_ID,
)


class Member(Worker):
    """The only member of its own group, which commits an offset one higher each time."""

    def work(self) -> None:
        self.member_id, self.generation = "", -1
        self.attempted = self.acknowledged = -1
        self.joins = 0
        self.persist(self._join)
        while not self.is_ending or self.attempted != self.acknowledged:
            if self.attempted == self.acknowledged:
                self.attempted += 1
            try:
                self._commit()
            except Gone:
                self.link.reconnect()
                self.persist(self._check)
            self.pause()

    def _join(self) -> None:
        of = request_definition(ApiKey.JOIN_GROUP)
        protocol = of.struct("JoinGroupRequestProtocol", name="range", metadata=b"")
        while True:
            answer = self.link.call(
                ApiKey.JOIN_GROUP,
                5,
                group_id=self.name,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=SESSION_MS,
                member_id=self.member_id,
                protocol_type="consumer",
                protocols=[protocol],
            )
            code = ErrorCode(answer.error_code)
            if code is ErrorCode.NONE:
                break
            if code is ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = answer.member_id
            elif code is ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""  # a restart forgets a member id that was only offered
            else:
                raise Broken(f"JoinGroup was refused with {code.name}")
        self.member_id, self.generation = answer.member_id, answer.generation_id
        self.joins += 1
        row = request_definition(ApiKey.SYNC_GROUP).struct(
            "SyncGroupRequestAssignment", member_id=self.member_id, assignment=b"all"
        )
        synced = self.link.call(
            ApiKey.SYNC_GROUP,
            3,
            group_id=self.name,
            generation_id=self.generation,
            member_id=self.member_id,
            assignments=[row],
        )
        if synced.error_code not in (ErrorCode.NONE, *MUST_JOIN):
            raise Broken(f"SyncGroup was refused with {ErrorCode(synced.error_code).name}")

    def _commit(self) -> None:
        of = request_definition(ApiKey.OFFSET_COMMIT)
        row = of.struct(
            "OffsetCommitRequestPartition", committed_offset=self.attempted, committed_metadata=""
        )
        answer = self.link.call(
            ApiKey.OFFSET_COMMIT,
            7,
            group_id=self.name,
            member_id=self.member_id,
            generation_id_or_member_epoch=self.generation,
            topics=[of.struct("OffsetCommitRequestTopic", name=TOPIC, partitions=[row])],
        )
        code = ErrorCode(answer.topics[0].partitions[0].error_code)
        if code is ErrorCode.NONE:
            self.acknowledged = self.attempted
        elif code in MUST_JOIN:
            self._join()
        else:
            raise Broken(f"the commit of {self.attempted} was refused with {code.name}")

    def _committed(self, link: Link) -> int:
        of = request_definition(ApiKey.OFFSET_FETCH)
        topic = of.struct("OffsetFetchRequestTopic", name=TOPIC, partition_indexes=[0])
        answer = link.call(ApiKey.OFFSET_FETCH, 5, group_id=self.name, topics=[topic])
        offset: int = answer.topics[0].partitions[0].committed_offset
        return offset

    def _check(self) -> None:
        """Raise Broken unless, right after a restart, the committed offset is at least the last
        acknowledged one and at most the last requested one."""
        found = self._committed(self.link)
        if not self.acknowledged <= found <= self.attempted:
            raise Broken(
                f"after a restart the group is at {found}; {self.acknowledged} was acknowledged,"
                f" {self.attempted} was asked for"
            )

    @property
    def done(self) -> int:
        return self.acknowledged + 1

    def verify(self, link: Link) -> int:
        """Return the number of commits. Raise Broken unless the group's committed offset is the
        last acknowledged one."""
        found = self._committed(link)
        if found != self.acknowledged:
            raise Broken(
                f"{self.name}: the group's committed offset is {found}, but the last acknowledged"
                f" one was {self.acknowledged}"
            )
        return self.done
