"""Open a partition's directory: keep whole batches, cut off those that a crash has torn, rebuild
the rest.

Source: LogLoader.java, LogSegment.recover; design#log (recovery).

After a clean shutdown the files are trusted; only an index that is missing or cannot be right is
rebuilt. Otherwise every segment that may hold unsynced bytes (those that end after the recovery
point) is read through, batch by batch with CRC and offsets, and its indexes are rebuilt. Bytes
after the last whole batch of the last segment were never acknowledged, or never synced: they are
cut off. A bad batch anywhere else is damage, not a torn tail, and so is one of which a single bit
is wrong or that stands at the wrong offset (`damage.py`): Kafka cuts there as well and drops all
that follows; here the partition is not opened, so that nothing is lost by starting. Offsets that
are in no segment are reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from reference_impl.core.log.batch_scan import CorruptLog, scan_batches, scan_headers
from reference_impl.core.log.directories.checkpoints import LOG_START_FILE, BadCheckpoint
from reference_impl.core.log.flush_state import FlushState
from reference_impl.core.log.leader_epochs import LeaderEpochs
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.producers.recovery import ProducerRecovery
from reference_impl.core.log.recovery.damage import Misplaced, is_damage
from reference_impl.core.log.segments import segment_swap
from reference_impl.core.log.segments.segment import (
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    RELATIVE_OFFSET_MAX,
    Segment,
    segment_path,
)
from reference_impl.core.storage import Storage, StorageError
from reference_impl.wire.batches.records import BatchHeader, CorruptRecord

_LEFTOVER_SUFFIXES = (".tmp", ".deleted")
_BASE_OFFSET_MAX = 2**63 - 1 - RELATIVE_OFFSET_MAX
"""The largest base offset of a segment: every offset that the segment can hold has 64 bits."""


class RecoverySteps(Protocol):
    """The steps of recovery that the broker's rules decide: `core/rules/recovering.py` implements
    them and names their sources."""

    def check_batch(self, batch: memoryview) -> None:
        """Raise CorruptRecord unless a batch that was found after a crash is whole."""

    def recover_unsynced(
        self, opening: Opening, loaded: Loaded, segment: Segment, following: int | None
    ) -> int:
        """Check and repair a segment that may hold unsynced bytes. Return the offset after its last
        batch. `following` is the base offset of the next segment, if there is one."""

    def restore_producers(self, recovery: ProducerRecovery) -> None:
        """Restore the state of the producers from the files of a log."""

    def sync_at_shutdown(self, flush: Callable[[], None]) -> None:
        """Sync a log that a clean shutdown closes."""

    def may_skip_recovery(self, *, was_clean: bool, unopened: int, distrusted: int) -> bool:
        """Return whether the next start may use all logs as a clean stop leaves them. was_clean:
        whether the stop before this start was clean. unopened, distrusted: the number of logs on
        the disk that were never opened, or whose files failed."""

    def note_failed_sync(self, state: FlushState, error: StorageError) -> None:
        """Record that a sync has failed: from now on, it is unknown which bytes of the log's files
        are on the disk."""


@dataclass(frozen=True)
class Opening:
    """The parameters for opening a partition."""

    storage: Storage
    directory: str
    config: LogConfig
    now_ms: int
    clean_shutdown: bool
    recovery_point: int
    log_start_offset: int
    steps: RecoverySteps


@dataclass
class Loaded:
    """The content of a partition's directory as recovery found and left it: the segments, the log
    end offset, the leader epochs, and notes about repairs. It has no state of producers."""

    segments: list[Segment]
    log_end_offset: int
    leader_epochs: LeaderEpochs
    notes: list[str] = field(default_factory=list)


def load(opening: Opening) -> Loaded:
    """Open all segments in a partition's directory, recovering those which need it. If every record
    is below the log start, delete them and begin an empty segment there. Raise CorruptLog if the
    files are damaged."""
    epochs = LeaderEpochs(opening.storage, opening.directory)
    notes: list[str] = []
    try:
        epochs.load()
        epochs_known = True
    except BadCheckpoint as error:
        notes.append(f"{error}; rebuilt from the log")
        epochs_known = False
    segments = _open_segments(opening)
    loaded = Loaded(segments, opening.log_start_offset, epochs, notes)
    for index, segment in enumerate(segments):
        following = segments[index + 1].base_offset if index + 1 < len(segments) else None
        _load_segment(opening, loaded, segment, following)
        if not epochs_known:
            for header, _ in scan_headers(segment.log, 0, segment.size):
                _note_epoch(epochs, header)
    if not segments or loaded.log_end_offset < opening.log_start_offset:
        # All records left are below the log start that DeleteRecords has set: begin there.
        if segments:
            notes.append(
                f"{opening.directory}: the log ends at offset {loaded.log_end_offset}, before the"
                f" log start {opening.log_start_offset} of {LOG_START_FILE}: its segments were"
                " deleted, as Apache Kafka does, and the log goes on at the log start"
            )
        for segment in segments:
            segment.delete()
        loaded.segments = [_new_segment(opening, opening.log_start_offset)]
        loaded.log_end_offset = opening.log_start_offset
    # Do not save this: the next load would compute the same.
    first_offset = max(opening.log_start_offset, loaded.segments[0].base_offset)
    epochs.truncate_from_end(loaded.log_end_offset, save=False)
    epochs.truncate_from_start(first_offset, save=False)
    if not epochs_known:
        epochs.save(sync=False)
    return loaded


def _new_segment(opening: Opening, base_offset: int) -> Segment:
    return Segment(opening.storage, opening.directory, base_offset, opening.config, opening.now_ms)


def _open_segments(opening: Opening) -> list[Segment]:
    """Open the segments in order, after completing the replacements that a crash interrupted, and
    removing files that it left behind. Raise CorruptLog for an impossible base offset."""
    segment_swap.recover(opening.storage, opening.directory)
    names = opening.storage.list(opening.directory)
    bases = [
        int(name.removesuffix(LOG_SUFFIX))
        for name in names
        if name.endswith(LOG_SUFFIX) and name.removesuffix(LOG_SUFFIX).isdecimal()
    ]
    _check_offsets(opening, bases)
    for name in names:
        stem, dot, suffix = name.partition(".")
        is_orphan = dot + suffix in INDEX_SUFFIXES and (stem.isdecimal() and int(stem) not in bases)
        if is_orphan or name.endswith(_LEFTOVER_SUFFIXES):
            opening.storage.delete(f"{opening.directory}/{name}")
    return [_new_segment(opening, base) for base in sorted(bases)]


def _check_offsets(opening: Opening, bases: list[int]) -> None:
    """Raise CorruptLog if a segment, or the log, would begin at an offset that leaves no room for
    records."""
    for base in bases:
        if base > _BASE_OFFSET_MAX:
            raise CorruptLog(
                segment_path(opening.directory, base, LOG_SUFFIX),
                f"no segment may begin after offset {_BASE_OFFSET_MAX}; move the file away",
            )
    if not 0 <= opening.log_start_offset <= _BASE_OFFSET_MAX:
        raise CorruptLog(
            opening.directory,
            f"the log start {opening.log_start_offset} of {LOG_START_FILE} is not between 0 and"
            f" {_BASE_OFFSET_MAX}; remove its line from that file",
        )


def _load_segment(
    opening: Opening, loaded: Loaded, segment: Segment, following: int | None
) -> None:
    """Open one segment, recovering it if necessary, and move the log end past it. Note a gap before
    the next segment, unless the log is compacted. Raise CorruptLog if the two overlap."""
    may_be_unsynced = not opening.clean_shutdown and (
        following is None or following > opening.recovery_point
    )
    problem = segment.index_problem()
    if may_be_unsynced:
        problem = problem if segment.size and problem else None
        next_offset = opening.steps.recover_unsynced(opening, loaded, segment, following)
    elif problem is not None:
        next_offset = recover_segment(opening, loaded, segment, is_last=False)
    else:
        next_offset = segment.read_next_offset()
    if problem is not None:
        loaded.notes.append(f"{segment.log.path}: {problem}; both indexes were rebuilt")
    if following is not None and next_offset > following:
        raise CorruptLog(
            segment.log.path,
            f"it runs to offset {next_offset - 1}, but the next segment starts at {following}; "
            "move one of the two away",
        )
    if following is not None and next_offset < following and not opening.config.is_compacted:
        loaded.notes.append(
            f"{segment.log.path}: offsets {next_offset} to {following - 1} are in no segment: a"
            " file is missing, or was cut"
        )
    loaded.log_end_offset = max(next_offset, segment.base_offset)


def recover_segment(opening: Opening, loaded: Loaded, segment: Segment, *, is_last: bool) -> int:
    """Check every batch, rebuild the indexes, cut a torn tail off, and return the offset after the
    last batch. Raise CorruptLog if bytes are damaged that cannot be a torn tail, as all in another
    segment than the last (is_last)."""
    segment.reset_indexes()
    next_offset, valid_bytes, size = segment.base_offset, 0, segment.size
    batches = scan_batches(segment.log, 0, size, opening.steps.check_batch)
    try:
        for header, position, _ in batches:
            _check_place(opening, segment, header, next_offset, is_last=is_last)
            segment.reindex(header, position)
            _note_epoch(loaded.leader_epochs, header)
            next_offset, valid_bytes = header.last_offset + 1, position + header.size
    except CorruptRecord as error:
        if why := _why_no_torn_tail(opening, segment, next_offset, valid_bytes, error, is_last):
            raise CorruptLog(
                segment.log.path,
                f"corrupt at byte {valid_bytes}, offset {next_offset}, {why}: {error}; restore the"
                " file, or move it and all later ones away",
            ) from error
        loaded.notes.append(
            f"{segment.log.path}: {size - valid_bytes} bytes from offset {next_offset} on were not "
            f"a whole batch ({error}) and were cut off"
        )
        segment.log.truncate(valid_bytes)
    segment.time_index.maybe_append(*segment.newest)
    return next_offset


def _check_place(
    opening: Opening, segment: Segment, header: BatchHeader, next_offset: int, *, is_last: bool
) -> None:
    """Raise Misplaced unless the batch may follow what comes before it.

    Offsets may have gaps where records were cleaned, but not in the active segment.
    """
    is_dense = is_last and not opening.config.is_compacted
    is_behind = header.base_offset < next_offset or header.last_offset_delta < 0
    is_too_far = header.last_offset - segment.base_offset > RELATIVE_OFFSET_MAX
    if is_behind or is_too_far or (is_dense and header.base_offset > next_offset):
        raise Misplaced(f"offset {header.base_offset} follows {next_offset - 1}")


def _why_no_torn_tail(
    opening: Opening,
    segment: Segment,
    next_offset: int,
    valid_bytes: int,
    error: CorruptRecord,
    is_last: bool,
) -> str | None:
    """Return why a crash cannot have left these bytes, as the end of a sentence about them, or None
    if it can."""
    if not is_last or next_offset < opening.recovery_point:
        return "which was synced before the crash"
    if isinstance(error, Misplaced):
        return "where there is a whole batch that belongs to another offset"
    if is_damage(segment.log, valid_bytes, next_offset):
        return "where one bit is wrong and whole batches follow"
    return None


def _note_epoch(epochs: LeaderEpochs, header: BatchHeader) -> None:
    if epochs.latest is None or header.partition_leader_epoch > epochs.latest:
        epochs.assign(header.partition_leader_epoch, header.base_offset)
