"""Test the simulated network: the order within a connection, cuts, and the effect of a heal."""

from __future__ import annotations

from chaos.sim.network import CLIENTS, Line, Network, State
from chaos.sim.world import VirtualWorld

ADDRESS = ("somewhere", 1)
WAY = CLIENTS, ADDRESS


class Echo:
    """A server that answers each frame by itself."""

    def __init__(self) -> None:
        self.listens = True
        self.came: list[bytes] = []
        self.gone = 0

    def is_listening(self) -> bool:
        return self.listens

    def opened(self, line: Line) -> None: ...

    def received(self, line: Line, frame: bytes) -> None:
        self.came.append(frame)
        line.answer(frame)

    def closed(self, line: Line) -> None:
        self.gone += 1


class Caller:
    """A client that remembers what it receives."""

    def __init__(self, network: Network, source: int = CLIENTS) -> None:
        self.lines: list[Line] = []
        self.heard: list[bytes] = []
        self.reasons: list[str] = []
        heard = self.lines.append, self.heard.append, self.reasons.append
        network.dial(ADDRESS, *heard, source)


def started(seed: int = 1) -> tuple[VirtualWorld, Echo, Caller]:
    """Return a server and a client that are connected."""
    world, server = VirtualWorld(seed), Echo()
    world.network.join(ADDRESS, server)
    caller = Caller(world.network)
    settle(world)
    assert len(caller.lines) == 1
    return world, server, caller


def settle(world: VirtualWorld) -> None:
    """Perform all scheduled actions until none is left."""
    while world.agenda.step():
        pass


def test_frames_of_one_connection_keep_their_order() -> None:
    for seed in range(20):
        world, _, caller = started(seed)
        frames = [b"%d" % number for number in range(200)]
        for frame in frames:
            caller.lines[0].send(frame)
        settle(world)
        assert caller.heard == frames


def test_nobody_listens_is_a_refusal() -> None:
    world, server, _ = started()
    server.listens = False
    caller = Caller(world.network)
    settle(world)
    assert caller.reasons == ["connection refused"]


def test_a_cut_connection_ends_for_both() -> None:
    world, server, caller = started()
    caller.lines[0].send(b"lost")
    world.network.cut(caller.lines[0], "cut")
    settle(world)
    assert (server.came, server.gone, caller.heard, caller.reasons) == ([], 1, [], ["cut"])


def test_a_reset_lets_the_deed_happen_and_its_answer_vanish() -> None:
    world, server, caller = started()
    world.network.conditions[WAY].reset_after_s = 0.0
    caller.lines[0].send(b"deed")
    settle(world)
    assert (server.came, caller.heard, caller.reasons) == ([b"deed"], [], ["reset by peer"])


def test_what_a_blackhole_held_arrives_after_the_heal_or_its_connection_ends() -> None:
    outcomes = set()
    for seed in range(20):
        world, server, caller = started(seed)
        world.network.conditions[WAY].state = State.BLACKHOLE
        caller.lines[0].send(b"held")
        dialling = Caller(world.network)
        settle(world)
        assert (server.came, caller.reasons, dialling.lines) == ([], [], [])
        world.network.heal()
        settle(world)
        assert len(dialling.lines) == 1
        outcomes.add((tuple(caller.heard), tuple(caller.reasons)))
    assert outcomes == {((b"held",), ()), ((), ("timed out",))}


def test_a_stalled_connection_passes_nothing_and_ends() -> None:
    world, server, caller = started()
    world.network.stall(WAY, 1.0, 3.0)
    caller.lines[0].send(b"held")
    settle(world)
    assert (server.came, caller.reasons) == ([], ["timed out"])
    assert world.monotonic() >= 3.0


def test_a_stalled_connection_that_is_healed_in_time_lives_on() -> None:
    world, server, caller = started()
    world.network.stall(WAY, 1.0, 3.0)
    world.network.stall(WAY, 1.0, 5.0)  # the first stall goes on
    world.agenda.after(2.0, world.network.heal)
    settle(world)
    caller.lines[0].send(b"later")
    settle(world)
    assert (caller.heard, caller.reasons, server.gone) == ([b"later"], [], 0)
    world.network.stall(WAY, 1.0, 0.5)
    settle(world)
    assert (caller.reasons, server.gone) == (["timed out"], 1)


def test_a_share_of_the_connections_that_are_opened_during_a_stall_stalls() -> None:
    world, server, _ = started()
    world.network.stall(WAY, 0.5, 3.0)
    callers = [Caller(world.network) for _ in range(40)]

    def send() -> None:
        for each in callers:
            each.lines[0].send(b"x")

    world.agenda.after(0.1, send)
    settle(world)
    stalled = [each for each in callers if each.reasons == ["timed out"]]
    assert 5 < len(stalled) < 35 and not any(each.heard for each in stalled)
    assert len(server.came) == len(callers) - len(stalled)
    world.network.heal()
    later = [Caller(world.network) for _ in range(40)]
    settle(world)
    assert not any(each.reasons for each in later)


def test_packets_that_vanish_in_one_direction_let_those_of_the_other_pass() -> None:
    world, server, caller = started()
    world.network.conditions[WAY].drops.add(False)
    caller.lines[0].send(b"deed")
    dialling = Caller(world.network)
    settle(world)
    assert (server.came, caller.heard, dialling.lines) == ([b"deed"], [], [])


def test_a_cut_of_one_way_leaves_the_others() -> None:
    world, server, caller = started()
    node = Caller(world.network, source=2)
    settle(world)
    world.network.cut_off((2, ADDRESS), State.REFUSE)
    caller.lines[0].send(b"from a client")
    refused = Caller(world.network, source=2)
    settle(world)
    assert (server.came, caller.reasons) == ([b"from a client"], [])
    assert (node.reasons, refused.reasons) == (["connection reset"], ["connection refused"])


def test_lost_packets_are_late_and_arrive_in_order() -> None:
    world, server, caller = started()
    world.network.conditions[WAY].loss = 0.5
    frames = [b"%d" % number for number in range(50)]
    began = world.monotonic()
    for frame in frames:
        caller.lines[0].send(frame)
    settle(world)
    assert server.came == frames and world.monotonic() - began > 0.2


def test_a_client_learns_only_by_sending_that_a_machine_has_lost_power() -> None:
    world, server, caller = started()
    line, server.listens = caller.lines[0], False
    line.strand(is_client=False)
    settle(world)
    assert caller.reasons == []
    line.send(b"lost")
    settle(world)
    assert (server.came, caller.reasons) == ([], [])
    server.listens = True
    world.network.came_back(ADDRESS)
    settle(world)
    assert (server.came, caller.reasons) == ([], ["connection reset"])


def test_a_node_learns_only_by_answering_that_the_machine_of_its_client_has_lost_power() -> None:
    world, server, caller = started()
    caller.lines[0].send(b"deed")
    caller.lines[0].strand(is_client=True)
    assert server.gone == 0
    settle(world)
    assert (server.came, server.gone, caller.heard) == ([b"deed"], 1, [])
