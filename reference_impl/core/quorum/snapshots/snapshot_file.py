"""A snapshot: a file with all that the metadata log says below an offset (KIP-630).

Source: SnapshotPath.java, Snapshots.java (names), RecordsSnapshotWriter.java (content),
FileRawSnapshotWriter.java (another name until it is whole). The name has the offset after the last
record that counts, and that record's epoch. The file begins with a SnapshotHeader, goes on with
batches of metadata records, and ends with a SnapshotFooter: without that it was cut short.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from reference_impl.core.log.replaying import replaying
from reference_impl.core.quorum.batches.metadata_records import records_in
from reference_impl.core.quorum.voters.voter_set import CONFIGURED, Composition, composition_with
from reference_impl.core.storage import Buffer, Storage, StorageError
from reference_impl.wire import (
    CONTROL_BIT,
    ControlRecordType,
    CorruptRecord,
    Record,
    RecordBatch,
    Struct,
    batches,
    check_crc,
    control_record,
    control_type,
    definition,
    encode_metadata_record,
    read_header,
)
from reference_impl.wire.batches.batch_header import HEADER_BYTES

SUFFIX, UNFINISHED = ".checkpoint", ".part"
BATCH_RECORDS_MAX = 512
"""The records of one slice, which takes about 30 ms. Apache's writer takes 1,024 at once
(RaftSnapshotWriter)."""
HEADER, FOOTER = ControlRecordType.SNAPSHOT_HEADER, ControlRecordType.SNAPSHOT_FOOTER
OF_VOTERS = ControlRecordType.KRAFT_VERSION, ControlRecordType.KRAFT_VOTERS
_HEADER_RECORD, _FOOTER_RECORD = (
    definition(f"Snapshot{end}Record") for end in ("Header", "Footer")
)
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class DamagedSnapshot(StorageError):
    """A snapshot was cut short or altered."""


@dataclass(frozen=True, order=True, slots=True)
class SnapshotId:
    """The end of what a snapshot holds: the offset after its last record, and the epoch of that
    record."""

    offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        """Return the name of the snapshot's file."""
        return f"{self.offset:020d}-{self.epoch:010d}{SUFFIX}"

    @classmethod
    def of_file(cls, name: str) -> SnapshotId | None:
        """Return the id of the snapshot in a file, or None if the file's name is not a
        snapshot's."""
        found = _NAME.fullmatch(name)
        return None if found is None else cls(int(found[1]), int(found[2]))


BOOTSTRAP = SnapshotId(0, 0)
"""The snapshot that `kafka-storage format` writes: the first records of a cluster, which its first
controller writes to the log (Snapshots.BOOTSTRAP_SNAPSHOT_ID)."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The content of a finished snapshot's file."""

    id: SnapshotId
    last_timestamp_ms: int
    """The timestamp of the last batch whose records the snapshot includes."""
    records: Sequence[Struct]
    composition: Composition | None = None
    """The voters, if the snapshot names them (KIP-853)."""


class UnfinishedSnapshot:
    """A snapshot that is being written or fetched, in a file of another name until it is whole. The
    next start deletes such a file."""

    def __init__(self, storage: Storage, directory: str, id: SnapshotId, number: int) -> None:
        """Create the file. number: distinguishes several attempts of one process. Raise
        StorageError if the disk fails."""
        self.id = id
        self._storage, self._directory = storage, directory
        self._whole = f"{directory}/{id.file_name}"
        self._path = f"{self._whole.removesuffix(SUFFIX)}-{number}{SUFFIX}{UNFINISHED}"
        self._file = storage.open(self._path, create=True)
        self._records_count = 0

    @property
    def size(self) -> int:
        """Return the bytes written so far."""
        return self._file.size()

    def append(self, data: Buffer) -> None:
        """Add bytes of the file that were fetched. Raise StorageError if the disk fails."""
        self._file.append(data)

    def begin(self, last_timestamp_ms: int, now_ms: int, composition: Composition) -> None:
        """Write the header and, from `kraft.version` 1 on, the voters. last_timestamp_ms: that of
        the last batch whose records the snapshot includes. Raise StorageError if the disk fails."""
        header = _HEADER_RECORD.new(last_contained_log_timestamp=last_timestamp_ms)
        records = [control_record(HEADER, _HEADER_RECORD.encode(header, 0))]
        if composition.kraft_version > 0:
            records += composition.control_records()
        self._batch(records, CONTROL_BIT, now_ms)

    def add(self, records: Sequence[Struct], now_ms: int) -> None:
        """Write one batch of records. Raise StorageError if the disk fails."""
        self._batch([Record(encode_metadata_record(record)) for record in records], 0, now_ms)

    def end(self, now_ms: int) -> None:
        """Write the footer, and finish the file (`freeze`). Raise StorageError if the disk
        fails."""
        footer = control_record(FOOTER, _FOOTER_RECORD.encode(_FOOTER_RECORD.new(), 0))
        self._batch([footer], CONTROL_BIT, now_ms)
        self.freeze()

    def freeze(self) -> None:
        """Sync and close the file, and give it the name of a whole snapshot. Raise StorageError if
        the disk fails."""
        self._file.sync()
        self._file.close()
        self._storage.rename(self._path, self._whole)
        self._storage.sync_directory(self._directory)

    def drop(self) -> None:
        """Delete the unfinished file. Raise StorageError if the disk fails."""
        self._file.close()
        self._storage.delete(self._path)

    def _batch(self, records: list[Record], attributes: int, now_ms: int) -> None:
        batch = RecordBatch(
            records,
            base_offset=self._records_count,
            partition_leader_epoch=self.id.epoch,
            attributes=attributes,
            base_timestamp=now_ms,
        )
        self._file.append(batch.encode())
        self._records_count += len(records)


def read_snapshot(storage: Storage, path: str, id: SnapshotId) -> Generator[None, None, Snapshot]:
    """Read the file of a snapshot in slices: yield after each batch, and return the whole at the
    end. Raise DamagedSnapshot if it was altered or cut short, CorruptLog for a record whose meaning
    this version does not know, another StorageError if the disk fails."""
    data = storage.read_file(path)
    records: list[Struct] = []
    kinds: list[ControlRecordType | None] = []
    timestamp_ms = -1
    composition = nobody = Composition(CONFIGURED, 0, {})
    try:
        for header, start, end in batches(data):
            check_crc(data, start, end)
            batch = RecordBatch.decode(data[start:end])[0]
            with replaying(path, header.base_offset):
                records += records_in(batch, (HEADER, FOOTER, *OF_VOTERS))
                for record in batch.records if batch.is_control else ():
                    composition = composition_with(composition, id.offset - 1, record)
            kinds.append(control_type(batch.records[0]) if batch.is_control else None)
            if kinds == [HEADER]:
                timestamp_ms = _timestamp_in(batch)
            yield
    except CorruptRecord as error:
        raise DamagedSnapshot(path, f"the snapshot is damaged: {error}") from error
    if kinds[:1] != [HEADER] or kinds[-1:] != [FOOTER]:
        raise DamagedSnapshot(path, "the snapshot was cut short: it lacks its header or footer")
    return Snapshot(id, timestamp_ms, records, None if composition is nobody else composition)


def whole(slices: Generator[None, None, Snapshot]) -> Snapshot:
    """Read all slices of a snapshot without a pause, and return it. Raise as `read_snapshot`
    does."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            snapshot: Snapshot = end.value
            return snapshot


def read_timestamp(storage: Storage, path: str) -> int:
    """Return the timestamp, from the header of a snapshot's file, of the last batch whose records
    the snapshot includes, in milliseconds. Raise DamagedSnapshot if the header was altered,
    StorageError if the disk fails."""
    file = storage.open(path)
    try:
        size = read_header(file.read(0, HEADER_BYTES)).size
        return _timestamp_in(RecordBatch.decode(file.read(0, size))[0])
    except CorruptRecord as error:
        raise DamagedSnapshot(path, f"the snapshot is damaged: {error}") from error
    finally:
        file.close()


def _timestamp_in(header: RecordBatch) -> int:
    record = _HEADER_RECORD.decode(header.records[0].value or b"", 0)
    timestamp_ms: int = record.last_contained_log_timestamp
    return timestamp_ms
