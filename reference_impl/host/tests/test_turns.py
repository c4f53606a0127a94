"""Turns: piles take them round robin, and the loop does other things in between."""

from __future__ import annotations

import asyncio
import time

from reference_impl.host.tcp.turns import TURN_S, Turns


class Pile:
    """A pile of `requests` requests, each of which takes a whole turn."""

    def __init__(self, name: str, turns: Turns, done: list[str], requests: int) -> None:
        self.name = name
        self._turns = turns
        self._done = done
        self._requests = requests

    def take_turn(self) -> None:
        while self._requests:
            self._requests -= 1
            time.sleep(TURN_S)
            self._done.append(self.name)
            if self._requests and self._turns.is_over():
                self._turns.wait(self)
                return


def run(seen: list[str], *requests: int, forgotten: str = "") -> None:
    """Let piles of so many requests, named a, b, c ..., take turns until all are done."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        turns = Turns(loop)
        piles = [Pile("abc"[n], turns, seen, count) for n, count in enumerate(requests)]
        for pile in piles:
            turns.wait(pile)
            turns.wait(pile)  # twice counts once
        for pile in piles:
            if pile.name in forgotten:
                turns.forget(pile)
        for _ in range(sum(requests) + 2):
            await asyncio.sleep(0)
            seen.append("-")

    asyncio.run(main())


def test_piles_take_turns_round_robin_and_the_loop_goes_on_in_between() -> None:
    seen: list[str] = []
    run(seen, 3, 1, 2)
    assert "".join(seen).strip("-") == "a-b-c-a-c-a"


def test_who_is_gone_has_no_turn() -> None:
    seen: list[str] = []
    run(seen, 2, 2, forgotten="a")
    assert [name for name in seen if name != "-"] == ["b", "b"]
