"""The host of one simulated node, which runs the core of the reference broker in virtual time.

A step takes a random time and that of its syncs. Its effects are performed when that has passed,
and events that arrive meanwhile wait, as in the real host, which has one thread. After a kill there
are no more steps; a restart makes a new Node over the same medium. A kill may come in the middle of
a step, between any two changes of the disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from chaos.sim.agenda import Entry
from chaos.sim.cluster.clocks import WallClock
from chaos.sim.cluster.serving import Make, Serving
from chaos.sim.connections import Connections
from chaos.sim.disks.file_system import Ended, FileSystem, Trap, Trouble
from chaos.sim.disks.medium import Medium
from chaos.sim.invariants.observer import Observer
from chaos.sim.network import Network
from chaos.world import Address
from reference_impl.core.effects import (
    Admit,
    CancelTimer,
    CloseConnection,
    Effect,
    Failed,
    GiveWay,
    ReadTokens,
    Release,
    Report,
    Respond,
    SendToken,
    SetTimer,
    Stop,
)
from reference_impl.core.events import (
    Answered,
    ConnectionLost,
    Started,
    StopAsked,
    Stopping,
    TimerFired,
    TimerKey,
)
from reference_impl.core.node import Node
from reference_impl.core.storage import Storage, StorageError
from reference_impl.links.effects import Ask, Destination, HangUp
from reference_impl.wire import Struct

QUICKEST_S, SLOWEST_S = 0.000_05, 0.000_4
BOOT_S = 0.2, 1.5
TRAP_S = 0.05
"""The seconds after which a process is killed anyway if it was to be killed in the middle of a
step, but still lives."""
ENDS_IN_START, START_CHANGES_MAX = 0.1, 40
"""The share of starts in which the process is killed while it starts, and the limit of the changes
to its disk that it makes before: a random number below the second one."""
LEAVE_S = 20.0
"""The seconds that a node which was asked to stop waits at most for other nodes to take over its
partitions."""
DIRECTORY = "data"
Aftermath = Callable[[Medium], object]
"""A function that is called with the medium after the process on it has ended, and may drop data
from it."""


def keep_all(medium: Medium) -> None:
    """Change nothing on the medium: the operating system keeps what the process has written."""


@dataclass(frozen=True)
class Alarms:
    """The functions to call when a node does what no correct node may do."""

    failed: Callable[[str], None]
    """Called with the description of an error in a step that no fault explains."""
    observer: Observer
    """Called after each step, to check the invariants."""


@dataclass(frozen=True)
class Place:
    """A node's number in the cluster, and the names of its listeners by their addresses."""

    number: int
    listeners: Mapping[Address, str]


class SimNode:
    """The host of one simulated node, whose process is running, paused or dead."""

    def __init__(
        self,
        network: Network,
        place: Place,
        make: Callable[[Storage], Node],
        wall_us: Callable[[], int],
        rng: Random,
        alarms: Alarms,
    ) -> None:
        """Create the node without starting it."""
        self.medium = Medium()
        self.medium.add_directory(DIRECTORY)
        self.medium.settle()
        self.disk = FileSystem(self.medium, rng)
        """The disk as the current process uses it."""
        self.clock = WallClock(wall_us)
        self.number = place.number
        self._addresses = tuple(place.listeners)
        self._agenda = network.agenda
        self._network = network
        self._make = make
        self._rng = rng
        self._failed = alarms.failed
        self.observer = alarms.observer
        self._node: Node | None = None
        self._life = 0
        self._is_at_work = False
        self.is_paused = False
        self.is_leaving = False
        """Whether the node was asked to stop and has not ended yet."""
        self._starts_again = False
        """Whether the node is to be started again when it has ended."""
        self._held: tuple[Effect, ...] | None = None
        """The effects of a step that cannot end, because the process is paused or its disk is
        stalled."""
        self._aftermath: Aftermath = keep_all
        self._inbox: deque[Make] = deque()
        self._serving = Serving(network.agenda, place.listeners, self._put)
        self._outgoing = Connections(network, place.number, self._answered, self._lost)
        self._timers: dict[TimerKey, Entry] = {}
        self.reports: list[str] = []
        for address in self._addresses:
            network.join(address, self._serving)

    @property
    def is_running(self) -> bool:
        """Return whether a process of the node exists; it may be paused."""
        return self._node is not None

    @property
    def serves(self) -> bool:
        """Return whether the node accepts connections and will answer on them: it runs, is not
        paused, and is not shutting down."""
        is_able = self._serving.is_open and not self.is_leaving
        return self.is_running and not self.is_paused and is_able

    @property
    def core(self) -> Node | None:
        """The core of the current process, or None."""
        return self._node

    # --- life -----------------------------------------------------------------------------------

    def start(self, at_once: bool = False) -> None:
        """Start a new process on the node's medium. It listens once it has opened its data
        directory. At random, the process may be killed while it starts, like the one before; then
        another one is started. Raise the core's error if a start fails. at_once: start without
        delay, and without such a kill."""
        self._life += 1
        boot_s = 0.0 if at_once else self._rng.uniform(*BOOT_S)
        effects = self._started(may_end=not at_once)
        while effects is None:
            self._pass_over()
            effects = self._started(may_end=True)
        if at_once:
            self._begin(effects)
        else:
            life = self._life
            self._is_at_work = True
            self._agenda.after(boot_s, lambda: self._begin(effects) if life == self._life else None)

    def _started(self, may_end: bool) -> tuple[Effect, ...] | None:
        """Take the first step of a process. Return its effects, or None if the process has ended
        during that step."""
        self.disk = FileSystem(self.medium, self._rng)
        if may_end and self._rng.random() < ENDS_IN_START:
            self.disk.trap = Trap(self._rng.randrange(START_CHANGES_MAX))
        self._node = self._make(self.disk)
        try:
            return self._node.step(Started(*self._moment()))
        except Ended:
            return None
        finally:
            self.disk.trap = None

    def _begin(self, effects: tuple[Effect, ...]) -> None:
        self._aftermath = keep_all
        self._serving.is_open = True
        for address in self._addresses:
            self._network.came_back(address)
        if self._node is not None:
            self._look(self._node)
        self._leave(effects)

    def crash(self, aftermath: Aftermath = keep_all, trap: Trap | None = None) -> None:
        """End the process: at once or, with a trap, in the middle of one of the next steps. Then
        call `aftermath` with the medium, at once if no process runs."""
        self.end_if_trapped()
        self._aftermath = aftermath
        if not self.is_running:
            self._pass_over()
            return
        if trap is None:
            self._end()
        else:
            life, self.disk.trap = self._life, trap
            self._agenda.after(
                TRAP_S, lambda: self.end_if_trapped() if life == self._life else None
            )

    def end_if_trapped(self) -> None:
        """End the process now if it should end in one of the next steps."""
        if self.disk.trap is not None:
            self._end()

    def _end(self) -> None:
        self._die()
        self._pass_over()

    def _pass_over(self) -> None:
        """Let the killed process's disk lose what this kind of end destroys (`_aftermath`), after
        telling the observer whether everything is kept."""
        self.observer.note_end(keeps_all=self._aftermath is keep_all)
        self._aftermath(self.medium)

    def _look(self, node: Node) -> None:
        self.observer.look(node.broker)

    def pause(self) -> None:
        """Stop the process from executing steps until `resume`."""
        self.is_paused = True

    def ask_to_stop(self) -> None:
        """Let the process hand over its leaderships and end cleanly, after LEAVE_S at the latest.
        The only node of a cluster ends at once. A process that a trap is to end is killed now."""
        self.end_if_trapped()
        if self._node is None or self.is_leaving:
            return
        if self._node.config.membership().is_alone:
            self._stop()
        else:
            life, self.is_leaving = self._life, True
            self._put(StopAsked)
            self._agenda.after(LEAVE_S, lambda: self._stop() if life == self._life else None)

    def start_when_it_has_ended(self) -> None:
        """Start a new process when the one that was asked to stop has ended."""
        self._starts_again = True

    def _stop(self) -> None:
        """End the process cleanly, and start a new one if that was requested."""
        self.end_if_trapped()
        if self._node is None:
            return
        try:
            self._node.step(Stopping(*self._moment()))
        except StorageError as error:
            self.reports.append(f"the broker cannot shut down cleanly: {error}")
        self._look(self._node)
        starts_again = self._starts_again
        self.crash()
        if starts_again:
            self.start()

    def _die(self) -> None:
        self._life += 1
        self._node = self._held = None
        self.observer.note_end(keeps_all=True)
        self.disk.unmount()
        self._is_at_work = self.is_paused = self.is_leaving = self._starts_again = False
        self._inbox.clear()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        loses_power = self._aftermath is not keep_all
        self._serving.end(loses_power=loses_power)
        if loses_power:
            self._outgoing.strand()
        else:
            self._outgoing.close()

    def resume(self) -> None:
        """Continue the process after a pause, end all faults of its disk, and handle the events
        that have queued up."""
        self.is_paused = self.disk.waits_for_disk = False
        self.disk.trouble = Trouble()
        held, self._held = self._held, None
        if held is None:
            self._work()
        else:
            self._leave(held)

    # --- steps ----------------------------------------------------------------------------------

    def _moment(self) -> tuple[int, int, bytes]:
        """Return (wall clock in ms, monotonic clock in ms, random bytes), which each event
        carries."""
        return self.clock.now_us() // 1000, self._agenda.now_us // 1000, self._rng.randbytes(16)

    def _put(self, make: Make) -> None:
        self._inbox.append(make)
        self._work()

    def _work(self) -> None:
        """Let the node handle the next queued event, unless a step is in progress or the process is
        paused or dead. `_leave` follows when the step's time has passed."""
        if self._is_at_work or self.is_paused or self._node is None or not self._inbox:
            return
        event = self._inbox.popleft()(*self._moment())
        try:
            life, effects = self._life, self._node.step(event)
        except Ended:
            self._end()
            return
        self._look(self._node)
        self._is_at_work = True
        took_s = self._rng.uniform(QUICKEST_S, SLOWEST_S) + self.disk.take_time_s()
        self._agenda.after(took_s, lambda: self._leave(effects) if life == self._life else None)

    def _leave(self, effects: tuple[Effect, ...]) -> None:
        """Perform the effects of a step, whose time has passed, then take the next step. Hold the
        effects until `resume` if the process is paused or waits for its disk."""
        if self.is_paused or self.disk.waits_for_disk:
            self._held = effects
            return
        self._is_at_work = False
        life = self._life
        for effect in effects:
            if life == self._life:
                self._perform(effect)
        self._work()

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Respond():
                self._serving.respond(effect)
            case Release(request=request, throttle_ms=throttle_ms):
                self._serving.release(request, throttle_ms)
            case Ask():
                self._outgoing.ask(effect)
            case HangUp(destination=destination):
                self._outgoing.hang_up(destination)
            case CloseConnection(connection=connection, reason=reason):
                self._serving.hang_up(connection, reason)
            case SetTimer(key=key, delay_ms=delay_ms):
                self._cancel(key)
                self._timers[key] = self._agenda.after(delay_ms / 1000, lambda: self._fire(key))
            case CancelTimer(key=key):
                self._cancel(key)
            case Failed(error=StorageError() as error):
                self.reports.append(f"the broker cannot continue without its disk: {error}")
                self._die()
            case Failed(error=error):
                told = f"{type(error).__name__}: {error}"
                self._failed(f"node {self.number} failed in a step: {told}")
            case Stop(failure=None):
                self._stop()
            case Stop(failure=failure):
                self.reports.append(f"the node stops: {failure}")
                self._die()
            case Report(sentence=sentence):
                self.reports.append(sentence)
            case GiveWay() | ReadTokens() | SendToken() | Admit():
                self._failed(f"{effect} needs a listener with SASL, or a host that gives way")
            case _:
                self._failed(f"the simulated host cannot perform the effect {effect}")

    def _answered(self, request_id: int, body: Struct | None) -> None:
        self._put(lambda now, ran, chance: Answered(now, ran, chance, request_id, body))

    def _lost(self, destination: Destination, reason: str) -> None:
        self._put(lambda now, ran, chance: ConnectionLost(now, ran, chance, destination, reason))

    def _cancel(self, key: TimerKey) -> None:
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()

    def _fire(self, key: TimerKey) -> None:
        """Deliver the event of a timer that has expired to the core."""
        del self._timers[key]
        self._put(lambda now, ran, chance: TimerFired(now, ran, chance, key))
