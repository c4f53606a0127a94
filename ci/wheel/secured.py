"""Examine and attack a cluster with SASL_SSL with nothing but Python and the wheel."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from ci.wheel.owner import PASSWORD, Owner
from ci.wheel.stranger import Stranger, WalkFailed
from ci.wheel.walk import Step, Walk

ATTACKS = 10
GONE_S = 150.0
"""The longest wait until what expires is gone."""
ATTACK = (
    "touchstone chaos run --cluster touchstone.toml --workload appends --nemesis kill-leader"
    " --seconds 5 --seed {} --engine local"
)


class SecuredWalk(Walk):
    """The steps of a user who has nothing but Python and the wheel, with the cluster of somebody
    else, which must be as before in the end."""

    def __init__(self, stranger: Stranger, dist: Path, owner: Owner, priority: str) -> None:
        super().__init__(stranger, dist)
        self.owner = owner
        self.before = owner.has()
        self.examining = f"touchstone conform --cluster touchstone.toml --priority {priority}"

    def steps(self) -> Iterator[Step]:
        yield "build the wheel and the source distribution", self._build
        yield "an environment with pip alone", self._begin
        yield (
            "install the wheel with [chaos] (s)",
            lambda: self._types(f"pip install -q '{self.wheel}[chaos]'"),
        )
        yield "it takes (MB)", self.stranger.megabytes
        yield "examine the cluster (s)", self._examine
        for seed in range(1, ATTACKS + 1):
            yield f"attack {seed} (s)", lambda seed=seed: self._types(ATTACK.format(seed))  # type: ignore[misc]
        yield "judge every run again, draw and open its report (s)", self._judge
        yield "no file tells the password", self._search
        yield "what is left on the cluster", self._left

    def _examine(self) -> str:
        told, seconds = self.stranger.types(f"{self.examining} --out runs/mine.json")
        return f"{seconds:.1f}, {told.splitlines()[-1].strip('= ')}"

    def _judge(self) -> float:
        runs = sorted((self.stranger.folder / "runs").glob("2*"))
        if len(runs) != ATTACKS:
            raise WalkFailed(f"{len(runs)} runs are kept, not {ATTACKS}")
        seconds = sum(
            self._types(f"touchstone check {run} --engine local")
            + self._types(f"touchstone report {run}")
            for run in runs
        )
        for run in runs:
            if "<title>valid: " not in (run / "report.html").read_text():
                raise WalkFailed(f"{run / 'report.html'} shows no verdict")
        return seconds

    def _search(self) -> str:
        kept = [file for file in (self.stranger.folder / "runs").rglob("*") if file.is_file()]
        telling = [file for file in kept if PASSWORD.encode() in file.read_bytes()]
        if telling:
            raise WalkFailed(f"the password is in {', '.join(map(str, telling))}")
        return f"{len(kept)} files searched"

    def _left(self) -> str:
        """Wait until the cluster has again exactly what it had before, since transactional ids
        expire only after a while. Return a sentence about that. Raise WalkFailed if it takes too
        long."""
        deadline = time.monotonic() + GONE_S
        while (now := self.owner.has()) != self.before:
            if time.monotonic() > deadline:
                raise WalkFailed(f"left on the cluster: {', '.join(sorted(now ^ self.before))}")
            time.sleep(1.0)
        return f"nothing; as before: {', '.join(sorted(self.before))}"
