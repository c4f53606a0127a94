"""The host of one simulated node, which runs the core of the reference broker in virtual time.

A step takes a random time and that of its syncs. Its effects are performed when that has passed,
and events that arrive meanwhile wait, as in the real host, which has one thread. After a kill there
are no more steps; a restart makes a new Node over the same medium. A kill may come in the middle of
a step, between any two changes of the disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from chaos.sim.agenda import Entry
from chaos.sim.clocks import WallClock
from chaos.sim.disks.file_system import Ended, FileSystem, Trap, Trouble
from chaos.sim.disks.medium import Medium
from chaos.sim.invariants.observer import Observer
from chaos.sim.network import Line, Network
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
)
from reference_impl.core.events import (
    ConnectionClosed,
    Event,
    Request,
    RequestArrived,
    Started,
    Stopping,
    TimerFired,
    TimerKey,
)
from reference_impl.core.node import Node
from reference_impl.core.storage import Storage, StorageError
from reference_impl.wire import Malformed, decode_request, encode_response

QUICKEST_S, SLOWEST_S = 0.000_05, 0.000_4
BOOT_S = 0.2, 1.5
TRAP_S = 0.05
"""The seconds after which a process ends that should have ended in the middle of a step."""
ENDS_IN_START, START_CHANGES_MAX = 0.1, 40
"""The share of starts that end like the process before, and by which change of the disk."""
DIRECTORY = "data"
CLIENT_HOST = "/10.0.0.1"
Make = Callable[[int, int, bytes], Event]
"""A function that makes an event from the wall clock in ms, the monotonic clock in ms, and random
bytes."""
Aftermath = Callable[[Medium], object]
"""What happens to the medium when the process on it has ended."""


def keep_all(medium: Medium) -> None:
    """Do nothing: the operating system keeps what it was given."""


@dataclass(frozen=True)
class Alarms:
    """The functions to call when a node does what no correct node does."""

    failed: Callable[[str], None]
    """Called with the description of an error in a step that no fault explains."""
    broken: Callable[[str, str], None]
    """Called with the name of an invariant that a step has broken, and a sentence."""


class Served:
    """One connection from the view of its node, which handles one request of it at a time."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.frames: deque[bytes] = deque()
        self.is_busy = False
        self.muted: Entry | None = None


class SimNode:
    """A simulated node: running, paused or dead."""

    def __init__(
        self,
        network: Network,
        address: Address,
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
        """The disk as the process that runs uses it."""
        self.clock = WallClock(wall_us)
        self.address = address
        self._agenda = network.agenda
        self._network = network
        self._make = make
        self._rng = rng
        self._failed = alarms.failed
        self.observer = Observer(alarms.broken)
        self._node: Node | None = None
        self._life = 0
        self._is_listening = False
        self._is_at_work = False
        self.is_paused = False
        self._held: tuple[Effect, ...] | None = None
        """The effects of a step that cannot end, because the process is paused or its disk is
        stalled."""
        self._aftermath: Aftermath = keep_all
        self._inbox: deque[Make] = deque()
        self._served: dict[int, Served] = {}
        self._timers: dict[TimerKey, Entry] = {}
        self.reports: list[str] = []
        network.join(address, self)

    @property
    def is_running(self) -> bool:
        """Whether the node's process exists."""
        return self._node is not None

    # --- life -----------------------------------------------------------------------------------

    def start(self, at_once: bool = False) -> None:
        """Start a new process on the node's medium. It listens once it has opened its data
        directory. It may end on the way like the one before, and is started again. Raise the core's
        error if that fails."""
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
        """Take the first step of a process. Return its effects, or None if it has ended in it."""
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
        self._is_listening = True
        if self._node is not None:
            self._look(self._node)
        self._leave(effects)

    def crash(self, aftermath: Aftermath = keep_all, trap: Trap | None = None) -> None:
        """End the process: at once or, with a trap, in the middle of one of the next steps. Then
        let the aftermath come over the medium."""
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
        """Let the aftermath come over the medium."""
        self.observer.note_end(keeps_all=self._aftermath is keep_all)
        self._aftermath(self.medium)

    def _look(self, node: Node) -> None:
        if self.disk.take_changed():
            self.observer.look(node)

    def shut_down(self) -> None:
        """End the process in good order."""
        self.end_if_trapped()
        if self._node is not None:
            self._node.step(Stopping(*self._moment()))
            self._look(self._node)
            self.crash()

    def _die(self) -> None:
        self._life += 1
        self._node = self._held = None
        self.disk.unmount()
        self._is_listening = self._is_at_work = self.is_paused = False
        self._inbox.clear()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for served in list(self._served.values()):
            served.line.hang_up("the node is gone")
        self._served.clear()

    def resume(self) -> None:
        """Go on after a pause, or after a stall of the disk."""
        self.is_paused = self.disk.waits_for_disk = False
        self.disk.trouble = Trouble()
        held, self._held = self._held, None
        if held is None:
            self._work()
        else:
            self._leave(held)

    # --- network --------------------------------------------------------------------------------

    def is_listening(self) -> bool:
        """Return whether connections are accepted. A paused node's kernel accepts them, too."""
        return self._is_listening

    def opened(self, line: Line) -> None:
        """Serve a new connection."""
        self._served[line.number] = Served(line)

    def received(self, line: Line, frame: bytes) -> None:
        """Queue a request behind the unanswered ones of its connection."""
        served = self._served.get(line.number)
        if served is not None:
            served.frames.append(frame)
            self._hand_over(served)

    def closed(self, line: Line) -> None:
        """Forget a connection."""
        if self._served.pop(line.number, None) is not None:
            self._put(lambda now, ran, chance: ConnectionClosed(now, ran, chance, line.number))

    def _hand_over(self, served: Served) -> None:
        if served.is_busy or served.muted is not None or not served.frames:
            return
        frame = served.frames.popleft()
        try:
            header, body = decode_request(bytearray(frame[4:]))
        except Malformed as error:
            served.line.hang_up(str(error))
            return
        served.is_busy = True
        request = Request(
            served.line.number,
            header.api_key,
            header.api_version,
            header.correlation_id,
            header.client_id,
            CLIENT_HOST,
            body,
            len(frame) - 4,
        )
        self._put(lambda now, ran, chance: RequestArrived(now, ran, chance, request))

    # --- steps ----------------------------------------------------------------------------------

    def _moment(self) -> tuple[int, int, bytes]:
        """Return (wall clock in ms, monotonic clock in ms, random bytes), which each event
        carries."""
        return self.clock.now_us() // 1000, self._agenda.now_us // 1000, self._rng.randbytes(16)

    def _put(self, make: Make) -> None:
        self._inbox.append(make)
        self._work()

    def _work(self) -> None:
        """Handle the next queued event, unless a step is in progress."""
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
        """Perform the effects of a step whose time is over, and take the next step."""
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
                self._respond(effect)
            case Release(request=request, throttle_ms=throttle_ms):
                self._done(request, throttle_ms)
            case CloseConnection(connection=connection, reason=reason):
                if (served := self._served.get(connection)) is not None:
                    served.line.hang_up(reason)
            case SetTimer(key=key, delay_ms=delay_ms):
                self._cancel(key)
                self._timers[key] = self._agenda.after(delay_ms / 1000, lambda: self._fire(key))
            case CancelTimer(key=key):
                self._cancel(key)
            case Failed(error=StorageError() as error):
                self.reports.append(f"the broker cannot go on without its disk: {error}")
                self._die()
            case Failed(error=error):
                told = f"{type(error).__name__}: {error}"
                self._failed(f"the node at {self.address[0]} failed in a step: {told}")
            case Report(sentence=sentence):
                self.reports.append(sentence)
            case GiveWay() | ReadTokens() | SendToken() | Admit():
                self._failed(f"{effect} is of a listener with SASL, or of a host that gives way")
            case _:
                self._failed(f"the simulated host does not know the effect {effect}")

    def _respond(self, effect: Respond) -> None:
        request = effect.request
        served = self._served.get(request.connection)
        if served is None:
            return
        version = request.api_version if effect.version is None else effect.version
        frame = encode_response(request.api_key, version, request.correlation_id, effect.body)
        served.line.answer(frame)
        self._done(request, effect.throttle_ms)

    def _done(self, request: Request, throttle_ms: int) -> None:
        served = self._served.get(request.connection)
        if served is None:
            return
        served.is_busy = False
        if throttle_ms:
            served.muted = self._agenda.after(throttle_ms / 1000, lambda: self._unmute(served))
        self._hand_over(served)

    def _unmute(self, served: Served) -> None:
        served.muted = None
        self._hand_over(served)

    def _cancel(self, key: TimerKey) -> None:
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()

    def _fire(self, key: TimerKey) -> None:
        """Deliver the event of a timer that has run out."""
        del self._timers[key]
        self._put(lambda now, ran, chance: TimerFired(now, ran, chance, key))
